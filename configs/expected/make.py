#!/usr/bin/env python3
"""Computes the rows that the example jobs must give, without the engine.

It shares nothing with the engine: no code, no library, not even the job files, whose
parameters stand below a second time. Two methods check each other:

1. A simulation, one record at a time, word for word after the rules of event time
   (S.. and T.. in the comments; see docs/semantics.md): watermark, lateness, firing.
2. SQL (SQLite): the complete result as one GROUP BY, and the late records of each
   variant as a window function over the records in order of arrival.

Run it with `python3 make.py` (3.9 or later, standard library only). It writes
cases.json and the row files beside itself, and stops where the methods disagree.
"""
import csv
import datetime
import gzip
import hashlib
import heapq
import io
import json
import math
import os
import sqlite3

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")
SPLITS = 3  # files of the split variants; record i is in file i mod 3
MIN, MAX = -(2**63), 2**63 - 1
SECOND, HOUR = 1000, 3_600_000


# ---------------------------------------------------------------- aggregates
# Each takes the column's values in the order in which records reached the window.
# Nulls are left out; a function of no values is null, a count of none is 0.

def fold_sum(values):
    total = None
    for v in values:  # one after the other from the left: float bits depend on it
        total = v if total is None else total + v
    return total


def fold_mean(values):
    return fold_sum(values) / len(values) if values else None


def fold_stats(values):  # the plug-in: its sum of no values is 0
    return {
        "count": len(values),
        "sum": fold_sum(values) if values else 0.0,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "mean": fold_mean(values),
    }


FOLDS = {
    "count": len,  # of records, see `value`
    "sum": fold_sum,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "mean": fold_mean,
    "distinct": lambda values: len(set(values)),
    "stats": fold_stats,
}

# ---------------------------------------------------------------- the jobs
# columns: field -> conversion; aggregates: name -> (function, field or None).

JOBS = [
    dict(job="quakes", config="quakes.yaml", file="quakes.jsonl.gz", source="quakes", step="by_network",
         time="time", key="net", size=6 * HOUR, bound=6 * HOUR, lateness=24 * HOUR,
         columns={"net": str, "mag": float, "felt": int},
         aggregates={"quakes": ("count", None), "mag": ("stats", "mag"), "reports": ("sum", "felt")}),
    dict(job="weblog", config="weblog.yaml", file="weblog.jsonl.gz", source="requests", step="by_status",
         time="ts", key="status", size=10 * SECOND, bound=20 * SECOND, lateness=10 * SECOND,
         columns={"status": int, "bytes": int, "client": str},
         aggregates={"requests": ("count", None), "bytes": ("sum", "bytes"), "largest": ("max", "bytes"),
                     "clients": ("distinct", "client")}),
    dict(job="weblog-uvpv", config="weblog_uvpv.yaml", file="weblog.jsonl.gz", source="visits", step="by_path",
         time="ts", key="path", size=30 * SECOND, bound=5 * SECOND, lateness=20 * SECOND,
         columns={"path": str, "client": str},
         aggregates={"pv": ("count", None), "uv": ("distinct", "client")}),
    dict(job="tweets", config="tweets.yaml", file="tweets.csv.gz", source="tweets", step="by_symbol",
         time="ts_ms", key="symbol", size=1 * HOUR, bound=0, lateness=0,
         columns={"symbol": str, "mentions": int},
         aggregates={"bins": ("count", None), "mentions": ("sum", "mentions"), "least": ("min", "mentions"),
                     "most": ("max", "mentions"), "mean": ("mean", "mentions")}),
    dict(job="weblog-visits", config="weblog_visits.yaml", file="weblog.jsonl.gz", source="requests", step="visits",
         time="ts", key="client", size=1 * HOUR, offset=325 * SECOND, bound=20 * SECOND, lateness=10 * SECOND,
         columns={"client": str, "path": str}, visits=dict(gap=HOUR // 2, ttl=12 * HOUR)),
]


# ---------------------------------------------------------------- input

class Record:
    __slots__ = ("number", "split", "line", "time", "fields", "raw")

    def __init__(self, number, split, line, time, fields, raw):
        self.number, self.split, self.line, self.time, self.fields, self.raw = number, split, line, time, fields, raw


def read(job, splits):
    """The records of each split, in order, and the splits' names."""
    with gzip.open(os.path.join(DATA, job["file"]), "rt", encoding="utf-8", newline="") as f:
        lines = f.read().removesuffix("\n").split("\n")
    header = None
    if ".csv" in job["file"]:
        header, lines = lines[0].split(","), lines[1:]
    base = job["file"].removesuffix(".gz")
    stem, ext = base.split(".")
    names = ["data/" + job["file"]] if splits == 1 else [f"data/{stem}-{i}.{ext}" for i in range(splits)]
    out = [[] for _ in names]
    for number, line in enumerate(lines):
        split = number % splits
        if header:
            row = dict(zip(header, next(csv.reader(io.StringIO(line)))))
        else:
            row = json.loads(line)
        fields = {name: None if row[name] is None else to(row[name]) for name, to in job["columns"].items()}
        at = len(out[split]) + 1 + (1 if header else 0)  # the header is line 1 of each file
        out[split].append(Record(number, split, at, int(row[job["time"]]), fields, line if header else row))
    return out, names


def arrivals(splits, bound):
    """Ordered replay (T6): pairs of a record and the watermark at which it is seen.

    The next record comes from the split with the lowest (watermark before the
    record, split id), so the minimum over the splits, which is what the operator
    sees (T3), is that split's own watermark. A split that has ended counts as MAX.
    """
    high = [None] * len(splits)
    position = [0] * len(splits)
    while True:
        # S3: highest time seen - bound - 1, MIN before the first record; after each record.
        open_splits = [(MIN if high[s] is None else high[s] - bound - 1, s)
                       for s in range(len(splits)) if position[s] < len(splits[s])]
        if not open_splits:
            return
        watermark, s = min(open_splits)
        record = splits[s][position[s]]
        position[s] += 1
        high[s] = record.time if high[s] is None else max(high[s], record.time)
        yield record, watermark, high[s]


# ---------------------------------------------------------------- method 1: record by record

def rfc3339(ms):
    t = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=ms)
    return t.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (ms % 1000)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def value(job, records):
    out = {}
    for name, (function, field) in job["aggregates"].items():
        values = records if field is None else [r.fields[field] for r in records if r.fields[field] is not None]
        out[name] = FOLDS[function](values)
    return out


class Window:
    def __init__(self):
        self.records = []
        self.revision = 0  # firings so far (S70)
        self.handed = None  # the plug-in sessionise: the visit that the first firing was handed


class Visit:
    """Records of a client without a gap between them."""

    def __init__(self, start, end, events, entry, exit):
        self.fields = (start, end, events, entry, exit)

    def value(self, is_open):
        start, end, events, entry, exit = self.fields
        return {"start": rfc3339(start), "end": rfc3339(end), "events": events, "entry": entry or None, "exit": exit or None, "open": is_open}


def visits(job, kept, key, w, start, watermark):
    """What the plug-in sessionise gives for a firing: values by output.

    kept has the visit that is handed on, of each key, with the watermark at which it was
    written: it is gone `ttl` later (S92).
    """
    gap = job["visits"]["gap"]
    handed, written = kept.get(key, (None, MIN))
    if handed and written + job["visits"]["ttl"] <= watermark:
        del kept[key]
        handed = None
    if w.revision == 0:
        w.handed = handed
    out = {"": [], "bounces": []}

    def close(visit):
        if visit.fields[2] == 1:
            out["bounces"].append({"at": rfc3339(visit.fields[0]), "page": visit.fields[3] or None})
        else:
            out[""].append(visit.value(False))

    current = w.handed if w.handed and w.handed.fields[1] < start else None
    for r in sorted(w.records, key=lambda r: r.time):  # a stable sort: equal times in order of arrival
        page = r.fields["path"]
        if current and r.time - current.fields[1] <= gap:
            first, _, events, entry, _ = current.fields
            current = Visit(first, r.time, events + 1, entry, page)
            continue
        if current:
            close(current)
        current = Visit(r.time, r.time, 1, page, page)
    if current and current.fields[1] + gap < start + job["size"]:
        close(current)
        current = None
    if current:
        out[""].append(current.value(True))
    if w.revision == 0 and (current and current.fields) != (handed and handed.fields):
        kept.pop(key, None)
        if current:
            kept[key] = current, watermark
    return out


def simulate(job, splits, names, complete):
    size, lateness = job["size"], job["lateness"]
    windows, timers = {}, []  # (key, start) -> Window; heap of (time, order, kind, key, start)
    rows, late, sides, firings = [], [], {}, 0
    kept = {}  # of keys, by the plug-in sessionise
    ledger = dict(read=0, bad=0, quarantined=0, passed=0, filtered=0, failed=0, late=0, no_window=0,
                  counted=0, open=0, fired=0, unfired=0, behind=0, late_accepted=0, rows=0, updates=0)
    now = MIN

    def fire(key, start, watermark):
        nonlocal firings
        w = windows[key, start]
        k = compact({job["key"]: key})
        values = visits(job, kept, key, w, start, watermark) if "visits" in job else {"": [value(job, w.records)]}
        for port, of_port in values.items():
            step = job["step"] + ("." + port if port else "")
            to = sides.setdefault(port, []) if port else rows
            for ordinal, v in enumerate(of_port):
                head = "".join(part + "\n" for part in [job["job"], step, str(start), str(start + size)])
                text = head + "\0" * (-len(head.encode()) % 64) + k + "\n" + str(ordinal)
                row = {
                    "id": hashlib.sha256(text.encode()).hexdigest()[:32],
                    "step": step,
                    "key": {job["key"]: key},
                    "window": {"start": rfc3339(start), "end": rfc3339(start + size)},
                    "kind": "on_time" if w.revision == 0 else "update",  # now >= M at every firing of this trigger
                    "revision": w.revision,
                }
                if ordinal > 0:
                    row["ordinal"] = ordinal
                if len(of_port) > 1:
                    row["rows"] = len(of_port)
                to.append(dict(row, value=v))
        ledger["rows"] += len(values[""])
        ledger["updates"] += len(values[""]) if w.revision > 0 else 0
        w.revision += 1
        firings += 1

    def advance(to):
        nonlocal now
        if to <= now:  # S6
            return
        now = to
        while timers and timers[0][0] <= now:  # S68: in order of time
            at, _, kind, key, start = heapq.heappop(timers)
            if kind == "end":
                fire(key, start, at)  # it sees its own time, however far time goes (T6)
            else:  # cleanup (S44)
                w = windows.pop((key, start))
                ledger["fired" if w.revision else "unfired"] += len(w.records)

    for record, watermark, high in arrivals(splits, job["bound"]):
        if not complete:  # T7 holds time at MIN to the end
            advance(watermark)
        ledger["read"] += 1
        ledger["passed"] += 1
        ts, key = record.time, record.fields[job["key"]]
        start = ts - (ts - job.get("offset", 0)) % size  # S30; Python's % is floored
        last = start + size - 1  # S38: M
        cleanup = min(last + lateness, MAX)  # S40
        ledger["behind"] += ts <= now
        if cleanup <= now:  # S41; the only window, so with S42 the record is late
            assert min(ts + lateness, MAX) <= now
            ledger["late"] += 1
            late.append({
                "step": job["step"], "source": job["source"], "split": names[record.split], "line": record.line,
                "time": rfc3339(ts), "key": {job["key"]: key},
                "window": {"start": rfc3339(start), "end": rfc3339(start + size)},
                "late_by_ms": now - last, "behind_ms": high - ts, "record": record.raw,
            })
            continue
        ledger["counted"] += 1
        if (key, start) not in windows:
            windows[key, start] = Window()
            heapq.heappush(timers, (cleanup, 1, "cleanup", key, start))
            if last > now:  # S54: a timer, or a firing at once
                heapq.heappush(timers, (last, 0, "end", key, start))
        windows[key, start].records.append(record)
        if last <= now:  # S43, S54
            ledger["late_accepted"] += 1
            fire(key, start, now)
    advance(MAX)  # S13, S125
    assert not windows
    return rows, late, ledger, sides, firings


# ---------------------------------------------------------------- method 2: SQL

def same(a, b):
    """Equal, but for the last bits of floats, since SQL adds in an order of its own."""
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    return a == b


def check_visits(db, rows, bounces):
    """Every visit, found without windows, is told of once when it is over, or was open last."""
    found = db.execute("""
      WITH begun AS (
        SELECT *, coalesce(ts - lag(ts) OVER byclient > :gap, 1) AS begins FROM r WINDOW byclient AS (PARTITION BY client ORDER BY ts, arrival)),
      numbered AS (SELECT *, sum(begins) OVER (PARTITION BY client ORDER BY ts, arrival) AS visit FROM begun)
      SELECT DISTINCT client, first_value(ts) OVER v, last_value(ts) OVER v, count(*) OVER v, first_value(path) OVER v, last_value(path) OVER v
        FROM numbered WINDOW v AS (PARTITION BY client, visit ORDER BY ts, arrival ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
      """, {"gap": HOUR // 2}).fetchall()
    over, last_open = set(), {}
    for row in sorted(rows, key=lambda row: row["window"]["start"]):
        v = row["value"]
        told = (row["key"]["client"], v["start"], v["end"], v["events"], v["entry"], v["exit"])
        if v["open"]:
            last_open[told[:2]] = told
        else:
            assert told not in over
            over.add(told)
    for row in bounces:
        v = row["value"]
        over.add((row["key"]["client"], v["at"], v["at"], 1, v["page"], v["page"]))
    carried = 0
    for client, start, end, events, entry, exit in found:
        visit = (client, rfc3339(start), rfc3339(end), events, entry or None, exit or None)
        if visit in over:
            over.remove(visit)
            carried += visit[:2] in last_open
        else:  # the client did not come back in time for it to be told of
            assert last_open[visit[:2]] == visit
    assert not over and carried > 100, (over, carried)


def check_with_sql(job, splits, names, complete, rows, late, ledger, firings):
    complete_rows, complete_sides = complete
    db = sqlite3.connect(":memory:")
    columns = list(job["columns"])
    db.execute(f"CREATE TABLE r (split INT, line INT, ts INT, arrival INT, {', '.join(columns)})")
    db.executemany(f"INSERT INTO r VALUES (?, ?, ?, ?{', ?' * len(columns)})",
                   [[r.split, r.line, r.time, n, *r.fields.values()] for n, (r, _, _) in enumerate(arrivals(splits, job["bound"]))])
    # All data lie after 1970, so truncation and floor are the same here.
    offset = job.get("offset", 0)
    grid = f"((ts - {offset}) / {job['size']} * {job['size']} + {offset})"
    if "visits" in job:
        check_visits(db, complete_rows, complete_sides["bounces"])
    else:
        check_aggregates(job, db, grid, complete_rows)
    check_decisions(job, names, db, grid, rows, late, ledger, firings)


def check_aggregates(job, db, grid, complete_rows):
    sql = {"count": "count(*)", "sum": "sum({0})", "min": "min({0})", "max": "max({0})", "mean": "avg({0})",
           "distinct": "count(DISTINCT {0})"}
    exprs = []
    for function, field in job["aggregates"].values():
        if function == "stats":
            exprs += [e.format(field) for e in ("count({0})", "total({0})", "min({0})", "max({0})", "avg({0})")]
        else:
            exprs.append(sql[function].format(field))
    got = {}
    for key, start, *values in db.execute(f"SELECT {job['key']}, {grid} AS start, {', '.join(exprs)} FROM r GROUP BY 1, 2"):
        got[str(key), rfc3339(start)] = values
    assert len(got) == len(complete_rows), (len(got), len(complete_rows))
    for row in complete_rows:
        flat = []
        for v in row["value"].values():
            flat += v.values() if isinstance(v, dict) else [v]
        want = got[str(row["key"][job["key"]]), row["window"]["start"]]
        assert row["kind"] == "on_time" and row["revision"] == 0
        assert all(map(same, flat, want)), (row, want)


def check_decisions(job, names, db, grid, rows, late, ledger, firings):
    # Late records by their own split's earlier maximum alone (T6). Half of MIN stands
    # for MIN, so that differences do not overflow.
    db.row_factory = sqlite3.Row
    decisions = db.execute(f"""
      WITH seen AS (
        SELECT split, line, ts, {job['key']} AS key, {grid} + {job['size']} - 1 AS last, coalesce(
          max(ts) OVER (PARTITION BY split ORDER BY line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) - {job['bound']} - 1,
          {MIN // 2}) AS wm
        FROM r)
      SELECT split, line, key, last, wm - last AS late_by, last + {job['lateness']} <= wm AS late, last <= wm AS closed,
        ts <= wm AS behind FROM seen""").fetchall()
    split_number = {name: i for i, name in enumerate(names)}
    assert sorted((d["split"], d["line"], d["late_by"]) for d in decisions if d["late"]) \
        == sorted((split_number[row["split"]], row["line"], row["late_by_ms"]) for row in late)
    assert ledger["late"] == len(late)
    assert ledger["late_accepted"] == sum(d["closed"] and not d["late"] for d in decisions)
    assert ledger["behind"] == sum(d["behind"] for d in decisions)

    # A window fires once at its end if a record came in time, and once for each
    # record that came after it.
    in_time = {(d["key"], d["last"]) for d in decisions if not d["late"] and not d["closed"]}
    assert firings == len(in_time) + ledger["late_accepted"]
    assert ledger["rows"] == len(rows)
    if "visits" in job:
        assert ledger["late_accepted"] > 100 and ledger["late"] > 100, ledger
        return
    assert firings == len(rows)

    # Nothing is lost: the newest revisions and the late records hold every record.
    newest = {}
    count = next(name for name, (function, _) in job["aggregates"].items() if function == "count")
    for row in rows:
        assert row["revision"] == (newest[row["id"]]["revision"] + 1 if row["id"] in newest else 0)
        newest[row["id"]] = row
    assert sum(row["value"][count] for row in newest.values()) + len(late) == len(decisions)


# ---------------------------------------------------------------- output

def write(name, rows):
    path = os.path.join(HERE, name)
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        for row in rows:
            z.write((compact(row) + "\n").encode())
    return os.path.getsize(path)


def check_ledger(l):
    assert l["read"] == l["bad"] + l["quarantined"] + l["passed"]
    assert l["passed"] == l["filtered"] + l["failed"] + l["late"] + l["no_window"] + l["counted"]
    assert l["counted"] == l["open"] + l["fired"] + l["unfired"]


def main():
    cases, total = [], 0
    for job in JOBS:
        files = {}  # content -> name: variants that agree share a file

        def store(variant, port, rows):
            nonlocal total
            content = tuple(sorted(map(compact, rows)))  # rows are compared as a multiset
            if content not in files:
                files[content] = f"{job['config'].removesuffix('.yaml')}.{variant}.{port}.jsonl.gz"
                total += write(files[content], rows)
            return files[content]

        for n in (1, SPLITS):
            splits, names = read(job, n)
            suffix = "" if n == 1 else f"_split{n}"
            full, none, full_ledger, full_sides, _ = simulate(job, splits, names, complete=True)
            rows, late, ledger, sides, firings = simulate(job, splits, names, complete=False)
            assert not none and full_ledger["late"] == full_ledger["behind"] == 0
            check_ledger(full_ledger)
            check_ledger(ledger)
            check_with_sql(job, splits, names, (full, full_sides), rows, late, ledger, firings)
            for variant, complete, r, l, side, counts in (("bounds", False, rows, late, sides, ledger), ("complete", True, full, none, full_sides, full_ledger)):
                case = dict(config=job["config"], data=job["file"], source=job["source"], step=job["step"],
                            complete=complete, splits=n, results=store(variant + suffix, "results", r))
                if l:
                    case["late"] = store(variant + suffix, "late", l)
                if side:
                    case["sides"] = {port: store(variant + suffix, port, of_port) for port, of_port in side.items()}
                cases.append(dict(case, ledger=counts))
                print(f"{job['config']:18}{variant:10}splits={n} "
                      + " ".join(f"{k}={counts[k]}" for k in ("read", "late", "late_accepted", "behind", "rows", "updates")))
    with open(os.path.join(HERE, "cases.json"), "w") as f:
        json.dump(cases, f, indent=1)
        f.write("\n")
    print(f"{len(cases)} cases, {total / 1e6:.1f} MB of rows")


if __name__ == "__main__":
    main()
