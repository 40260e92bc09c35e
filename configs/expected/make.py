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


def simulate(job, splits, names, complete):
    size, lateness = job["size"], job["lateness"]
    windows, timers = {}, []  # (key, start) -> Window; heap of (time, order, kind, key, start)
    rows, late = [], []
    ledger = dict(read=0, bad=0, quarantined=0, passed=0, filtered=0, failed=0, late=0, no_window=0,
                  counted=0, open=0, fired=0, unfired=0, behind=0, late_accepted=0, rows=0, updates=0)
    now = MIN

    def fire(key, start):
        w = windows[key, start]
        k = compact({job["key"]: key})
        text = "\n".join([job["job"], job["step"], k, str(start), str(start + size), "0"])
        rows.append({
            "id": hashlib.sha256(text.encode()).hexdigest()[:32],
            "step": job["step"],
            "key": {job["key"]: key},
            "window": {"start": rfc3339(start), "end": rfc3339(start + size)},
            "kind": "on_time" if w.revision == 0 else "update",  # now >= M at every firing of this trigger
            "revision": w.revision,
            "value": value(job, w.records),
        })
        ledger["rows"] += 1
        ledger["updates"] += w.revision > 0
        w.revision += 1

    def advance(to):
        nonlocal now
        if to <= now:  # S6
            return
        now = to
        while timers and timers[0][0] <= now:  # S68: in order of time
            _, _, kind, key, start = heapq.heappop(timers)
            if kind == "end":
                fire(key, start)
            else:  # cleanup (S44)
                w = windows.pop((key, start))
                ledger["fired" if w.revision else "unfired"] += len(w.records)

    for record, watermark, high in arrivals(splits, job["bound"]):
        if not complete:  # T7 holds time at MIN to the end
            advance(watermark)
        ledger["read"] += 1
        ledger["passed"] += 1
        ts, key = record.time, record.fields[job["key"]]
        start = ts - ts % size  # S30; Python's % is floored
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
            fire(key, start)
    advance(MAX)  # S13, S125
    assert not windows
    return rows, late, ledger


# ---------------------------------------------------------------- method 2: SQL

def same(a, b):
    """Equal, but for the last bits of floats, since SQL adds in an order of its own."""
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    return a == b


def check_with_sql(job, splits, names, complete_rows, rows, late, ledger):
    db = sqlite3.connect(":memory:")
    columns = list(job["columns"])
    db.execute(f"CREATE TABLE r (split INT, line INT, ts INT, {', '.join(columns)})")
    db.executemany(f"INSERT INTO r VALUES (?, ?, ?{', ?' * len(columns)})",
                   [[r.split, r.line, r.time, *r.fields.values()] for s in splits for r in s])
    # All data lie after 1970, so truncation and floor are the same here.
    grid = f"ts / {job['size']} * {job['size']}"
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
    assert ledger["rows"] == len(rows) == len(in_time) + ledger["late_accepted"]

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
            full, none, full_ledger = simulate(job, splits, names, complete=True)
            rows, late, ledger = simulate(job, splits, names, complete=False)
            assert not none and full_ledger["late"] == full_ledger["behind"] == 0
            check_ledger(full_ledger)
            check_ledger(ledger)
            check_with_sql(job, splits, names, full, rows, late, ledger)
            for variant, complete, r, l, counts in (("bounds", False, rows, late, ledger), ("complete", True, full, none, full_ledger)):
                case = dict(config=job["config"], data=job["file"], source=job["source"], step=job["step"],
                            complete=complete, splits=n, results=store(variant + suffix, "results", r))
                if l:
                    case["late"] = store(variant + suffix, "late", l)
                cases.append(dict(case, ledger=counts))
                print(f"{job['config']:18}{variant:10}splits={n} "
                      + " ".join(f"{k}={counts[k]}" for k in ("read", "late", "late_accepted", "behind", "rows", "updates")))
    with open(os.path.join(HERE, "cases.json"), "w") as f:
        json.dump(cases, f, indent=1)
        f.write("\n")
    print(f"{len(cases)} cases, {total / 1e6:.1f} MB of rows")


if __name__ == "__main__":
    main()
