#!/usr/bin/env python3
"""Writes the vectors that are too large to compute by hand: NAME/generated.txt.

Each answer comes from a definition of the plug-in that is written here anew, and from no
module: run it in this folder, and the files must not change (python3 generate.py).
"""

import json
import random

MIN, MAX = -(1 << 63), (1 << 63) - 1


def text(s):
    return json.dumps(s, ensure_ascii=False)


def null(v, show=str):
    return "-" if v is None else show(v)


def number(x):
    """A float64 so that it is read back as the same one."""
    return repr(float(x))


def write(name, about, lines):
    with open(name + "/generated.txt", "w", encoding="utf-8", newline="\n") as f:
        f.write("# " + about + " Written by generate.py.\n\n" + "\n".join(lines) + "\n")


WORDS = ["", "a", "b", "ab", "B", "é", "ä€😀", "\"", "\\", "\x01", "\n", "x" * 40, "x" * 41, "zz", "user-7"]


def probe(r):
    """Nulls in every pattern, over more than two words of a bitmap."""
    out = ["case nulls in any pattern, beyond a word of a bitmap", "tm_configure prefix=\">\" scale=0.5", "tm_map", "  records  time  what  i  f  b  s  t"]
    rows = []
    for n in range(150):
        i = r.choice([None, r.randrange(MIN, MAX)])
        f = r.choice([None, r.randrange(-(1 << 50), 1 << 50) / 1024])
        b = r.choice([None, True, False])
        s = r.choice([None, r.choice(WORDS)])
        t = r.choice([None, r.randrange(MIN, MAX)])
        what = r.choice([None, "", "none"])
        flag = lambda v: "true" if v else "false"
        at = null(r.choice([None, n]))
        out.append("    %s  %s  %s  %s  %s  %s  %s" % (at, null(what, text), null(i), null(f, number), null(b, flag), null(s, text), null(t)))
        if what == "none":
            continue
        row = "  row %d " % n
        for name, v, show in (("i", i, str), ("f", None if f is None else f * 0.5, number), ("b", b, flag), ("s", None if s is None else ">" + s, text), ("t", t, str)):
            if v is not None:
                row += " %s=%s" % (name, show(v))
        rows.append(row + " row=0")
    write("probe", "Records with nulls anywhere.", out + ["OK"] + rows)


def acc(a):
    return "i64:%d f64:%s f64:%s f64:%s" % (a[0], number(a[1]), number(a[2]), number(a[3]))


def stats(r):
    """Sums of multiples of 1/8 are exact, so that any order gives the same."""
    groups = 7
    accs = [[0, 0.0, 0.0, 0.0] for _ in range(groups)]
    out = ["case many values of some groups", "tm_configure", "tm_aggregate_add groups=%d" % groups, "  records  group  value"]
    for _ in range(500):
        g, v = r.randrange(groups - 1), r.randrange(-8000, 8000) / 8
        out.append("    %d  %s" % (g, number(v)))
        a = accs[g]
        a[2], a[3] = (v, v) if a[0] == 0 else (min(a[2], v), max(a[3], v))
        a[0], a[1] = a[0] + 1, a[1] + v
    out.append("OK")
    out += ["  accumulator %d  %s" % (g, acc(a)) for g, a in enumerate(accs)]
    out += ["tm_aggregate_result groups=%d" % groups, "  accumulators"] + ["    " + acc(a) for a in accs] + ["OK"]
    for g, a in enumerate(accs):
        row = "  row %d  count=%d sum=%s" % (g, a[0], number(a[1]))
        if a[0]:
            row += " min=%s max=%s mean=%s" % (number(a[2]), number(a[3]), number(a[1] / a[0]))
        out.append(row)
    write("stats", "Many values.", out)


def in_bytes(words):
    return sorted(words, key=lambda w: w.encode())


def some_words(r, n):
    return [r.choice(WORDS) if r.random() < 0.5 else "user-%d" % r.randrange(60) for _ in range(n)]


def distinct(r):
    groups = 5
    show = lambda s: " ".join(["uv:%d" % len(s)] + ["t:" + text(w) for w in in_bytes(s)])
    sets = [set() for _ in range(groups)]
    out = ["case many texts of some groups", "tm_configure", "tm_aggregate_add groups=%d" % groups, "  records  group  value"]
    for w in some_words(r, 400):
        g = r.randrange(groups)
        out.append("    %d  %s" % (g, text(w)))
        sets[g].add(w)
    out += ["OK"] + ["  accumulator %d  %s" % (g, show(s)) for g, s in enumerate(sets)]
    others = [set(some_words(r, 30)) for _ in range(groups)]
    out += ["tm_aggregate_merge groups=%d" % groups, "  accumulators"] + ["    " + show(s) for s in sets]
    out += ["  from"] + ["    " + show(s) for s in others]
    out += ["OK"] + ["  accumulator %d  %s" % (g, show(a | b)) for g, (a, b) in enumerate(zip(sets, others))]
    out += ["tm_aggregate_result groups=%d" % groups, "  accumulators"] + ["    " + show(s) for s in sets]
    out += ["OK"] + ["  row %d  distinct=%d" % (g, len(s)) for g, s in enumerate(sets)]
    write("distinct", "Many texts.", out)


def quoted(w):
    return '"' + "".join("\\" + c if c in '"\\' else "\\u%04x" % ord(c) if c < " " else c for c in w) + '"'


def top_k(r):
    groups, k = 4, 12
    show = lambda t: " ".join("t:%s uv:%d" % (text(w), t[w]) for w in in_bytes(t)) or "none"
    tables = [{} for _ in range(groups)]
    out = ["case many texts of some groups", "tm_configure k=%d" % k, "tm_aggregate_add groups=%d" % groups, "  records  group  value"]
    for w in some_words(r, 400):
        g = r.randrange(groups - 1)
        out.append("    %d  %s" % (g, text(w)))
        tables[g][w] = tables[g].get(w, 0) + 1
    out += ["OK"] + ["  accumulator %d  %s" % (g, show(t)) for g, t in enumerate(tables)]
    out += ["tm_aggregate_merge groups=%d" % groups, "  accumulators"] + ["    " + show(t) for t in tables]
    out += ["  from"] + ["    " + show(t) for t in reversed(tables)]
    both = [{w: a.get(w, 0) + b.get(w, 0) for w in list(a) + list(b)} for a, b in zip(tables, reversed(tables))]
    out += ["OK"] + ["  accumulator %d  %s" % (g, show(t)) for g, t in enumerate(both)]
    out += ["tm_aggregate_result groups=%d" % groups, "  accumulators"] + ["    " + show(t) for t in both] + ["OK"]
    for g, t in enumerate(both):
        best = sorted(in_bytes(t), key=lambda w: -t[w])[:k]
        out.append("  row %d  top=%s" % (g, text("[" + ",".join('{"value":%s,"count":%d}' % (quoted(w), t[w]) for w in best) + "]")))
    write("top_k", "Many texts.", out)


def sections(r):
    depth = 4
    out, rows = ["case many paths", "tm_configure depth=%d" % depth, "tm_map", "  records  time  path"], []
    for n in range(200):
        path = ("/" if r.random() < 0.9 else "") + "".join(r.choice(["/", "/", "/", "a", "é", "bc", "?", "#", ".html"]) for _ in range(r.randrange(14)))
        out.append("    %d  %s" % (n, text(path)))
        if not path.startswith("/"):
            continue
        for stop in "?#":
            path = path.split(stop)[0]
        # A slash behind the first ends a section, and of several side by side the first of them.
        ends = [at for at in range(1, len(path)) if path[at] == "/" and path[at - 1] != "/"]
        found = ["/"] + [path[:at] for at in ends]
        for level, s in enumerate(found[:depth]):
            rows.append("  row %d  section=%s level=%d" % (n, text(s), level))
    write("sections", "Many paths.", out + ["OK"] + rows)


def unpaid(r):
    left = [(r.choice([None, r.randrange(10**6)]), r.randrange(-64, 64) / 4) for _ in range(40)]
    right = [(r.choice([None, r.randrange(10**6)]), r.randrange(0, 64) / 4) for _ in range(40)]
    out = ["case many pairs", "tm_configure tolerance=2.5", "tm_pair", "  left  time  due"]
    out += ["    %s  %s" % (null(t), number(v)) for t, v in left] + ["  right  time  paid"] + ["    %s  %s" % (null(t), number(v)) for t, v in right]
    out.append("  pairs")
    rows = []
    for n in range(250):
        a, b = r.randrange(40), r.randrange(40)
        out.append("    %d %d %d" % (a, b, n))
        rest = left[a][1] - right[b][1]
        if abs(rest) > 2.5:
            rows.append("  row %d  open=%s" % (n, number(rest)))
            if left[a][0] is not None and right[b][0] is not None:
                rows[-1] += " waited_ms=%d" % (right[b][0] - left[a][0])
    write("unpaid", "Many pairs.", out + ["OK"] + rows)


def adaptive(r):
    slack, high, worst, now = 50, None, 0, 10000
    out, answers = ["case many records of a split", "tm_configure slack=50 flush=\"end\"", "tm_watermark", "  state", "    none", "  records  time  kind"], []
    for n in range(250):
        now += r.randrange(40)
        at = now - (r.randrange(30) if r.random() < 0.9 else r.randrange(400))
        kind = r.choice([None, None, "", "end", "ends"])
        out.append("    %d  %s" % (at, null(kind, text)))
        if high is None or at > high:
            high = at
        else:
            worst = max(worst, high - at)
        answers.append("  watermark %d  %d" % (n, at if kind == "end" else high - max(slack, 2 * worst) - 1))
        answers.append("  state %d  i64:%d i64:%d" % (n, high, worst))
    write("adaptive", "A long split.", out + ["OK"] + answers)


def count_or_timeout(r):
    """A trigger as a table: what is known of a window is (records, timeout or None)."""
    need, after, windows = 4, 300, 6
    bytes_of = lambda w: "none" if w is None else "i64:%d u64:%d i64:%d" % (w[0], w[1] is not None, w[1] or 0)
    state = [None, (2, 700), None, (3, 1999), (1, None), None]
    out = ["case many operations on some windows", "tm_configure n=%d after_ms=%d" % (need, after), "tm_trigger", "  states"] + ["    " + bytes_of(w) for w in state]
    times = [r.choice([None, r.randrange(0, 2000)]) for _ in range(60)]
    times[0] = None
    out += ["  records  time"] + ["    " + null(t) for t in times] + ["  operations"]
    answers = []
    for n in range(220):
        slot = r.randrange(windows)
        end = r.choice([1000, 2000])
        last, now = end - 1, r.choice([MIN, 0, 999, 1500, 1999])
        w = state[slot]
        records, armed = w or (0, None)
        head = "slot=%d window=0..%d watermark=%d clock=%d" % (slot, end, now, n)
        say = lambda line: answers.append(line.replace("@", str(n)))

        def begin():
            if armed is not None and armed != last:
                say("  delete @ event %d" % armed)
            if state[slot] is not None:
                say("  state @  none")
            state[slot] = None

        def keep(records, armed):
            state[slot] = (records, armed)
            say("  state @  " + bytes_of(state[slot]))

        kind = r.choice(["element"] * 5 + ["event", "event", "merge", "clear"])
        if kind == "element":
            row = r.randrange(len(times))
            out.append("    element row=%d %s" % (row, head))
            if last <= now:
                begin()
                say("  verdict @ fire")
                continue
            say("  set @ event %d" % last)
            if records + 1 >= need:
                begin()
                say("  verdict @ fire")
                continue
            if armed is None:
                armed = (MIN if times[row] is None else times[row]) + after
                say("  set @ event %d" % armed)
            keep(records + 1, armed)
        elif kind == "event":
            at = r.choice([last, armed or 5, 700])
            out.append("    event time=%d %s" % (at, head))
            if at == last:
                begin()
                say("  verdict @ fire")
            elif at == armed:
                say("  state @  none")
                say("  verdict @ fire")
                state[slot] = None
        elif kind == "merge":
            other = r.choice([s for s in range(windows) if s != slot])
            out.append("    merge from=%d %s" % (other, head))
            more, theirs = state[other] or (0, None)
            if theirs is not None and (armed is None or theirs < armed):
                if armed is not None and armed != last:
                    say("  delete @ event %d" % armed)
                armed = theirs
                say("  set @ event %d" % armed)
            keep(records + more, armed)
            if last > now:
                say("  set @ event %d" % last)
        else:
            out.append("    clear " + head)
            begin()
            say("  delete @ event %d" % last)
    write("count_or_timeout", "Many operations.", out + ["OK"] + answers)


def sessionise(r):
    """Some keys, each with windows of 1,000 ms one after the other, some of them corrected."""
    gap, keys, windows = 150, 3, 8
    bytes_of = lambda s: "none" if s is None else "i64:%d i64:%d i64:%d t:%s t:%s" % (s[0], s[1], s[2], text(s[3]), text(s[4]))
    key_state, window_state = [None] * keys, [None] * (keys * windows)
    records, firings, answers = [], [], []
    seen = {}
    n = 0

    def fire(key, window):
        nonlocal n
        slot = key * windows + window
        start, end = 1000 * window, 1000 * window + 1000
        revision = seen.get(slot, 0)
        seen[slot] = revision + 1
        mine = []
        for _ in range(r.randrange(12)):
            at = r.choice([None] + [r.randrange(start, end)] * 9)
            mine.append((at, r.choice([None, "", "/", "/é", "/" + "p" * r.randrange(200)])))
        firings.append("    window=%d..%d key=%d slot=%d revision=%d records=%d..%d" % (start, end, key, slot, revision, len(records), len(records) + len(mine)))
        records.extend(mine)
        if revision == 0:
            carried = key_state[key]
            if carried is not None:
                window_state[slot] = carried
                answers.append("  window %d  %s" % (n, bytes_of(carried)))
        else:
            carried = window_state[slot]
        s = carried if carried is not None and carried[1] < start else None
        runs = [] if s is None else [s]
        for at, page in sorted([m for m in mine if m[0] is not None], key=lambda m: m[0]):
            page = page or ""
            if runs and at - runs[-1][1] <= gap:
                a = runs[-1]
                runs[-1] = (a[0], at, a[2] + 1, a[3], page)
            else:
                runs.append((at, at, 1, page, page))
        left = None
        for i, a in enumerate(runs):
            still = i == len(runs) - 1 and a[1] + gap >= end
            pages = "".join(" %s=%s" % (name, text(p)) for name, p in (("entry", a[3]), ("exit", a[4])) if p)
            if a[2] == 1 and not still:
                answers.append("  side bounces %d  at=%d%s" % (n, a[0], " page=" + text(a[3]) if a[3] else ""))
            else:
                answers.append("  row %d  start=%d end=%d events=%d%s open=%s" % (n, a[0], a[1], a[2], pages, "true" if still else "false"))
            if still:
                left = a
        if revision == 0 and left != key_state[key]:
            key_state[key] = left
            answers.append("  state %d  %s" % (n, bytes_of(left)))
        n += 1

    for window in range(windows):
        for key in range(keys):
            fire(key, window)
            if window > 0 and r.random() < 0.5:
                fire(key, r.randrange(window))
    out = ["case keys with one window after the other, and corrections", "tm_configure gap_ms=%d" % gap, "tm_process"]
    out += ["  keys"] + ["    none"] * keys + ["  windows"] + ["    none"] * (keys * windows)
    out += ["  records  time  page"] + ["    %s  %s" % (null(t), null(p, text)) for t, p in records] + ["  firings"] + firings
    write("sessionise", "Many firings.", out + ["OK"] + answers)


def own_gap(r):
    out, answers = ["case many records", "tm_configure gap_ms=30", "tm_assign", "  records  time  gap_ms"], []
    for n in range(200):
        at, gap = r.randrange(-(10**12), 10**12), r.choice([None, r.randrange(1, 1000), r.randrange(1, MAX)])
        out.append("    %d  %s" % (at, null(gap)))
        answers.append("  in %d  %d %d" % (n, at, min(at + (30 if gap is None else gap), MAX)))
    write("own_gap", "Many records.", out + ["OK"] + answers)


def upgrades(name, about, of, states):
    """Pairs of old and new bytes, more than an output area of 4,096 bytes holds."""
    out = ["case " + about, "tm_configure", "tm_upgrade schema=1 of=" + of, "  states"] + ["    " + old for old, _ in states]
    write(name, "Many states.", out + ["OK"] + ["  upgraded %d  %s" % (n, new) for n, (_, new) in enumerate(states)])


def mean(r):
    """Means of multiples of 1/8, and counts that are small: products are exact."""
    states = []
    for _ in range(250):
        m, n = r.randrange(-(1 << 30), 1 << 30) / 8, r.randrange(1 << 20)
        states.append(("f64:%s f64:%s" % (number(m), number(n)), "i64:%d f64:%s" % (n, number(m * n))))
    upgrades("mean", "many accumulators", "accumulators", states)


def history(r):
    states = []
    for _ in range(200):
        texts = [w for w in (r.choice(WORDS) * r.choice([1, 1, 5]) for _ in range(r.randrange(6))) if "\n" not in w]
        states.append((" ".join(text(t + "\n") for t in texts) or "none", " ".join("t:" + text(t) for t in texts) or "none"))
    upgrades("history", "many accumulators of all lengths", "accumulators", states)


def visits(r):
    numbers = [r.randrange(1 << r.randrange(1, 33)) for _ in range(290)]
    upgrades("visits", "many states of keys", "keys", [("u32:%d" % n, "i64:%d" % n) for n in numbers])


def every(r):
    numbers = [r.randrange(10 ** r.randrange(1, 10)) for _ in range(290)]
    upgrades("every", "many states of windows", "windows", [("\"%0*d\"" % (r.randrange(1, 10), n), "i64:%d" % n) for n in numbers])


def sparse(r):
    times = [r.randrange(1 << r.randrange(1, 64)) for _ in range(290)]
    upgrades("sparse", "many states of splits", "splits", [("i64:%d" % t, "i64:%d i64:0" % t) for t in times])


for seed, generate in enumerate([probe, stats, distinct, top_k, sections, unpaid, adaptive, count_or_timeout, sessionise, own_gap,
                                 mean, history, visits, every, sparse]):
    generate(random.Random(seed))
