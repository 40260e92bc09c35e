//go:build kill && unix

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/abi/toolchain"
	"tidemark/internal/wasmtest"
)

// killJob is a job of the kill test.
type killJob struct {
	name    string
	plugins []string // modules that it uses, below PLUGINS
	text    string   // the job file; DATA and PLUGINS stand for directories
	// plain is the same over input that ends, in which nothing is late: it says what the rows of
	// a job on followed input are in the end. Empty: the input of text ends.
	plain string
	disk  bool // most of its state is there
}

// The data are orders and payments. Half of them are up to five seconds behind, and one in a
// hundred up to a minute; some are no records at all, and some have no key.
//
//	shop-0 to shop-2   10 ms apart, 200 keys, in three files that are not equally long, as W1's
//	hour-0             a second apart, 20 keys, as W3's
//	visits-0, -1       30 ms apart, 1,000 keys, as W4's
//	paid-0, -1         payments of shop's orders
const (
	orderFields = "{seq: int64, k: string, u: string, v: float64, n: int64}"
	fiveSeconds = "out_of_orderness: 5s"
)

// source is a source of a job file over the files of a kind of data.
func source(name, kind, watermark string) string {
	return fmt.Sprintf(`  %s:
    file: {path: DATA/%s-*.jsonl}
    format: json
    schema: %s
    time: {field: ts, unit: ms}
    watermark: {%s}
`, name, kind, orderFields, watermark)
}

// killText puts a job file together.
func killText(name string, plugins []string, parts ...string) string {
	text := "version: 1\njob: " + name + "\nparallelism: 2\n"
	if len(plugins) > 0 {
		text += "plugins:\n"
	}
	for _, p := range plugins {
		text += fmt.Sprintf("  %s: {file: PLUGINS/%s.wasm}\n", p, p)
	}
	return text + "sources:\n" + strings.Join(parts, "")
}

// oneStep is a job with one source and one step, whose late, failed and bad records go to
// files beside its results.
func oneStep(name string, plugins []string, kind, step string) killJob {
	return killJob{name: name, plugins: plugins, text: killText(name, plugins, source("orders", kind, fiveSeconds),
		"steps:\n  s:\n    from: orders\n", indent(step, 4), "sinks:\n  results: {from: s, file: {path: out/results.jsonl}}\n")}
}

// onDisk is a job whose state does not fit in its memory. It has many keys, each of which is
// seldom asked for, and takes few of the records: one whose key has to come from disk costs tens
// of microseconds of CPU, and each firing of a window brings its key in once more.
func onDisk(j killJob) killJob {
	j.name += "-disk"
	j.text = strings.Replace(j.text, "\nparallelism: 2\n", "\nparallelism: 2\nsettings: {state: {backend: disk, memory: 1MiB}}\n", 1)
	j.disk = true
	return j
}

func indent(text string, by int) string {
	var b strings.Builder
	for _, line := range lines(text) {
		fmt.Fprintf(&b, "%*s%s\n", by, "", line)
	}
	return b.String()
}

const sums = "aggregates: {n: {function: count}, v: {function: sum, columns: {value: v}}, most: {function: max, columns: {value: v}}}\n"

// killJobs are all jobs on input that ends.
func killJobs(t *testing.T) []killJob {
	jobs := []killJob{
		oneStep("tumbling", nil, "shop", "key: [k]\nwindow: {tumbling: 10s, allowed_lateness: 15s}\n"+sums),
		oneStep("tumbling-guest", []string{"stats"}, "shop", "key: [k]\nwindow: {tumbling: 10s, allowed_lateness: 15s}\naggregates: {s: {plugin: stats, columns: {value: v}}, n: {function: count}}\n"),
		oneStep("sliding", nil, "hour", "key: [k]\nwindow: {sliding: {size: 10m, slide: 10s}, allowed_lateness: 30s}\n"+sums),
		oneStep("sliding-short", nil, "shop", "key: [k]\nwindow: {sliding: {size: 30s, slide: 7s}}\n"+sums),
		oneStep("session", nil, "visits", "key: [k]\nwindow: {session: 20s}\n"+sums),
		oneStep("session-late", nil, "visits", "key: [k]\nwindow: {session: 20s, allowed_lateness: 20s}\n"+sums),
		oneStep("session-trigger", nil, "visits", "key: [k]\nwindow: {session: 20s}\ntrigger: {count_or_timeout: {n: 5, after: 10s}}\naggregates: {n: {function: count}, first: {function: first, columns: {value: u}}, last: {function: last, columns: {value: u}}}\n"),
		oneStep("own-gap", []string{"own_gap"}, "visits", "key: [k]\nwindow: {plugin: own_gap, columns: {gap_ms: n}, args: {gap_ms: 15000}, allowed_lateness: 10s}\non_error: dead_letter\naggregates: {n: {function: count}, v: {function: sum, columns: {value: v}}}\n"),
		oneStep("trigger", nil, "shop", "key: [k]\nwindow: {tumbling: 20s, allowed_lateness: 20s}\ntrigger: {count: 7}\nevictor: {count: 20}\naggregates: {n: {function: count}, last: {function: last, columns: {value: u}}}\n"),
		oneStep("trigger-continuous", nil, "shop", "key: [k]\nwindow: {tumbling: 1m}\ntrigger: {purging: {continuous: 8s}}\naggregates: {n: {function: count}, q: {function: quantiles, columns: {value: v}}}\n"),
		oneStep("trigger-guest", []string{"count_or_timeout", "stats"}, "shop", "key: [k]\nwindow: {tumbling: 20s, allowed_lateness: 10s}\ntrigger: {plugin: count_or_timeout, args: {n: 6, after_ms: 7000}}\naggregates: {s: {plugin: stats, columns: {value: v}}, users: {function: distinct, columns: {value: u}}}\n"),
		oneStep("process", []string{"sessionise"}, "visits", "key: [k]\nwindow: {tumbling: 30s, allowed_lateness: 10s}\nprocess: {plugin: sessionise, records: {page: u}, args: {gap_ms: 20000}, state_ttl: 1h}\n"),
		oneStep("lateness-failed", nil, "shop", "derive: {w: n / (n % 50), k: k, v: v}\nkey: [k]\nwindow: {tumbling: 10s, allowed_lateness: 15s}\non_error: dead_letter\naggregates: {n: {function: count}, w: {function: sum, columns: {value: w}}}\n"),
		oneStep("counts", nil, "shop", "key: [k]\nwindow: {count: {size: 30, slide: 7}}\naggregates: {n: {function: count}, v: {function: sum, columns: {value: v}}}\n"),
		oneStep("global", nil, "shop", "key: [k]\nwindow: {global: {}}\ntrigger: {purging: {delta: {field: v, threshold: 400, abs: true}}}\naggregates: {n: {function: count}, v: {function: sum, columns: {value: v}}}\n"),
		oneStep("hot-keys", nil, "shop", "key: [k]\nhot_keys: 16\nwindow: {tumbling: 10s, allowed_lateness: 15s}\naggregates: {n: {function: count}, most: {function: max, columns: {value: v}}, users: {function: distinct, columns: {value: u}}}\n"),
		oneStep("all-keys", nil, "shop", "window: {tumbling: 2s, allowed_lateness: 15s}\naggregates: {n: {function: count}, top: {function: top_k, columns: {value: k}}, users: {function: distinct, columns: {value: u}}}\n"),
		oneStep("disabled", []string{"own_gap"}, "visits", "key: [k]\nwindow: {plugin: own_gap, columns: {gap_ms: n}}\non_error: {disable_plugin: {failures: 3, within: 1h}}\naggregates: {n: {function: count}}\n"),
		onDisk(oneStep("tumbling", nil, "shop", "filter: v > 250.0\nkey: [k, u]\nwindow: {tumbling: 4m, allowed_lateness: 1m}\n"+sums)),
		onDisk(oneStep("sliding", nil, "shop", "filter: v > 450.0\nkey: [k, u]\nwindow: {sliding: {size: 2m, slide: 40s}}\n"+sums)),
		onDisk(oneStep("session", nil, "visits", "filter: v > 450.0\nkey: [k, u]\nwindow: {session: 12m}\n"+sums)),
		onDisk(oneStep("trigger", nil, "shop", "filter: v > 250.0\nkey: [u]\nwindow: {tumbling: 5m, allowed_lateness: 1m}\ntrigger: {count: 7}\nevictor: {count: 20}\naggregates: {n: {function: count}, last: {function: last, columns: {value: k}}}\n")),
		onDisk(killJob{name: "steps", text: killText("steps", nil, source("orders", "shop", fiveSeconds), `steps:
  few: {from: orders, filter: v > 300.0, project: [k, u, v]}
  pairs:
    from: few
    key: [k, u]
    window: {tumbling: 4m, allowed_lateness: 1m}
    aggregates: {volume: {function: sum, columns: {value: v}}}
  users:
    from: pairs
    key: [u]
    window: {sliding: {size: 12m, slide: 4m}}
    aggregates: {most: {function: max, columns: {value: volume}}, users: {function: distinct, columns: {value: k}}}
sinks:
  results: {from: users, file: {path: out/results.jsonl}}
`)}),
		{name: "join-interval", text: killText("join-interval", nil, source("orders", "shop", fiveSeconds), source("payments", "paid", fiveSeconds), `steps:
  paid:
    from: {join: {left: orders, right: payments, kind: interval, left_key: [seq], right_key: [n], left_fields: [k, v], right_fields: [v, u], between: {lower: -2s, upper: 1m}}}
    key: [seq]
sinks:
  results: {from: paid, file: {path: out/results.jsonl}}
`)},
		{name: "join-pairs", plugins: []string{"unpaid"}, text: killText("join-pairs", []string{"unpaid"}, source("orders", "shop", fiveSeconds), source("payments", "paid", fiveSeconds), `steps:
  open:
    from: {join: {left: orders, right: payments, kind: interval, left_key: [seq], right_key: [n], between: {lower: 0s, upper: 30s}}}
    key: [seq]
    apply: {plugin: unpaid, left: {due: v}, right: {paid: v}, args: {tolerance: 0.01}}
    on_error: dead_letter
sinks:
  results: {from: open, file: {path: out/results.jsonl}}
`)},
		{name: "join-window", text: killText("join-window", nil, source("orders", "hour", fiveSeconds), source("payments", "visits", fiveSeconds), `steps:
  both:
    from: {join: {left: orders, right: payments, left_key: [u], right_key: [u], left_fields: [seq, v], right_fields: [seq]}}
    key: [u]
    window: {tumbling: 1m, allowed_lateness: 20s}
  lists:
    from: {join: {left: orders, right: payments, kind: cogroup, left_key: [u], right_key: [u], left_fields: [seq], right_fields: [seq]}}
    key: [u]
    window: {session: 20s}
sinks:
  results: {from: both, file: {path: out/results.jsonl}}
  all_lists: {from: lists, file: {path: out/lists.jsonl}}
`)},
		{name: "steps", plugins: []string{"sections"}, text: killText("steps", []string{"sections"}, source("orders", "shop", fiveSeconds), source("payments", "paid", fiveSeconds), `steps:
  large: {from: orders, filter: v > 400.0, derive: {path: '"/" + k + "/" + u', k: k, v: v}}
  parts:
    from: large
    map: {plugin: sections, columns: {path: path}, args: {depth: 2}}
  sold: {from: parts, project: [section, v]}
  got: {from: payments, derive: {section: k, v: v}, project: [section, v]}
  per_section:
    from: {union: [sold, got]}
    key: [section]
    window: {tumbling: 10s, allowed_lateness: 10s}
    aggregates: {volume: {function: sum, columns: {value: v}}, n: {function: count}}
  peak:
    from: per_section
    window: {sliding: {size: 1m, slide: 20s}}
    aggregates: {volume: {function: max, columns: {value: volume}}, rows: {function: count}}
  runs:
    from: per_section
    key: [section]
    parallelism: 3
    window: {session: 30s}
    aggregates: {rows: {function: count}, last: {function: last, columns: {value: volume}}}
sinks:
  results: {from: peak, file: {path: out/results.jsonl}}
  all_runs: {from: runs, file: {path: out/runs.jsonl}}
  sections: {from: per_section, file: {path: out/sections.jsonl}}
`)},
		{name: "generator-guest", plugins: []string{"adaptive"}, text: killText("generator-guest", []string{"adaptive"}, source("orders", "shop", "plugin: adaptive, columns: {kind: u}, args: {slack: 2000}"),
			"steps:\n  s:\n    from: orders\n    key: [k]\n    window: {tumbling: 10s}\n", indent(sums, 4), "sinks:\n  results: {from: s, file: {path: out/results.jsonl}}\n")},
	}
	examples, err := filepath.Glob("../../configs/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range examples {
		if strings.HasSuffix(path, ".test.yaml") {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		j := killJob{name: "configs-" + strings.TrimSuffix(filepath.Base(path), ".yaml"),
			text: strings.NewReplacer("path: data/", "path: DATA/", "../bin/plugins/", "PLUGINS/").Replace(string(raw))}
		for _, p := range []string{"stats", "distinct", "alerts", "sessionise"} {
			if strings.Contains(j.text, p+".wasm") {
				j.plugins = append(j.plugins, p)
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// followJobs are all jobs on followed input. Each step comes to a value of each result that
// does not depend on what came first: nothing is late, and late firings correct early ones.
func followJobs() []killJob {
	var jobs []killJob
	add := func(name string, plugins []string, kinds []string, steps string) {
		var followed, ends []string
		for i, kind := range kinds {
			s := source([]string{"orders", "payments"}[i], kind, "BOUND")
			bound := fiveSeconds
			if len(kinds) > 1 {
				bound = "out_of_orderness: 70s" // a late record gives no pairs
			}
			followed = append(followed, strings.NewReplacer(".jsonl}", ".jsonl, follow: true}", "BOUND", bound+", idle_timeout: off").Replace(s))
			ends = append(ends, strings.Replace(s, "BOUND", "out_of_orderness: 1h", 1))
		}
		rest := steps + "sinks:\n  results: {from: s, file: {path: out/rows.jsonl}}\n"
		jobs = append(jobs, killJob{name: "follow-" + name, plugins: plugins,
			text: killText(name, plugins, append(followed, rest)...), plain: killText(name, plugins, append(ends, rest)...)})
	}
	step := func(text string) string { return "steps:\n  s:\n    from: orders\n" + indent(text, 4) }
	add("tumbling", nil, []string{"shop"}, step("key: [k]\nwindow: {tumbling: 10s, allowed_lateness: 3m}\n"+sums))
	add("sliding", []string{"stats"}, []string{"shop"}, step("key: [k]\nwindow: {sliding: {size: 30s, slide: 10s}, allowed_lateness: 3m}\naggregates: {s: {plugin: stats, columns: {value: v}}}\n"))
	add("trigger", nil, []string{"shop"}, step("key: [k]\nwindow: {tumbling: 20s, allowed_lateness: 3m}\ntrigger: {count_or_timeout: {n: 5, after: 7s}}\naggregates: {n: {function: count}, users: {function: distinct, columns: {value: u}}}\n"))
	add("trigger-guest", []string{"count_or_timeout"}, []string{"shop"}, step("key: [k]\nwindow: {tumbling: 20s, allowed_lateness: 3m}\ntrigger: {plugin: count_or_timeout, args: {n: 6, after_ms: 7000}}\n"+sums))
	add("join", nil, []string{"shop", "paid"}, `steps:
  s:
    from: {join: {left: orders, right: payments, kind: interval, left_key: [seq], right_key: [n], left_fields: [k, v], right_fields: [v, u], between: {lower: -2m, upper: 2m}}}
    key: [seq]
`)
	add("tumbling", nil, []string{"shop"}, step("key: [k, u]\nwindow: {tumbling: 2m, allowed_lateness: 3m}\n"+sums))
	jobs[len(jobs)-1] = onDisk(jobs[len(jobs)-1])
	add("all-keys", nil, []string{"shop"}, step("window: {tumbling: 5s, allowed_lateness: 3m}\naggregates: {n: {function: count}, users: {function: distinct, columns: {value: u}}}\n"))
	return jobs
}

// killData is lines of one kind of data, by file.
type killData map[string][]string

// dataOf makes the lines of the kinds of data, small ones for jobs on followed input. The
// same seed is the same lines.
func dataOf(seed uint64, scale float64) killData {
	d := killData{}
	d.orders(rand.New(rand.NewPCG(seed, 1)), "shop", int(300_000*scale), 200, []int{5, 3, 1}, 10)
	d.orders(rand.New(rand.NewPCG(seed, 2)), "hour", int(30_000*scale), 20, []int{1}, 1000)
	d.orders(rand.New(rand.NewPCG(seed, 3)), "visits", int(250_000*scale), 1000, []int{2, 1}, 30)
	d.orders(rand.New(rand.NewPCG(seed, 4)), "paid", int(230_000*scale), 200, []int{1, 1}, 13)
	return d
}

const killStart = 1_760_000_400_000 // event time of the first line: a full hour

// orders makes lines that are step ms apart, shared out to files by their weights.
func (d killData) orders(r *rand.Rand, kind string, count, keys int, weights []int, step int64) {
	total := 0
	for _, w := range weights {
		total += w
	}
	for seq := range count {
		ts := killStart + int64(seq)*step
		if r.IntN(2) == 0 {
			ts -= r.Int64N(5001)
		}
		if r.IntN(100) == 0 {
			ts -= r.Int64N(60_000)
		}
		ts = max(ts, killStart)
		file, at := 0, r.IntN(total)
		for at >= weights[file] {
			at -= weights[file]
			file++
		}
		key := fmt.Sprintf(`"k%d"`, int(float64(keys)*r.Float64()*r.Float64())) // low ones are frequent
		if r.IntN(300) == 0 {
			key = "null"
		}
		line := fmt.Sprintf(`{"ts":%d,"seq":%d,"k":%s,"u":"u%d","v":%d.%02d,"n":%d}`, ts, seq, key, r.IntN(500), r.IntN(500), 25*r.IntN(4), max(0, seq-r.IntN(200)))
		switch r.IntN(1000) {
		case 0:
			line = line[:len(line)/2] // half a line
		case 1:
			line = strings.Replace(line, `"ts"`, `"at"`, 1) // no time
		case 2:
			line = strings.Replace(line, `"v":`, `"v":"x`, 1) + `"}` // and no number
		case 3:
			line = strings.Replace(line, `"n":`, `"n":-`, 1)
		case 4:
			line = strings.Replace(line, `"v":`, `"v":-`, 1)
		}
		name := fmt.Sprintf("%s-%d.jsonl", kind, file)
		d[name] = append(d[name], line)
	}
}

// write makes the files of all data, and copies of those of the examples.
func (d killData) write(t *testing.T, dir string) {
	t.Helper()
	put := func(name string, raw []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, all := range d {
		put(name, []byte(strings.Join(all, "\n")+"\n"))
	}
	for _, name := range []string{"quakes.jsonl.gz", "tweets.csv.gz", "weblog.jsonl.gz"} {
		raw, err := os.ReadFile("../../configs/data/" + name)
		if err != nil {
			t.Fatal(err)
		}
		put(name, raw)
	}
}

// writePlugins makes the modules of the jobs: those written in C, which are small, and those
// that there are in Go alone.
func writePlugins(t *testing.T, dir string, jobs []killJob) {
	t.Helper()
	done := map[string]bool{}
	for _, j := range jobs {
		for _, name := range j.plugins {
			if done[name] {
				continue
			}
			done[name] = true
			var module []byte
			if slices.Contains(wasmtest.BuiltIn(t, "c"), name) {
				module = wasmtest.Built(t, "c", name)
			} else {
				built, err := toolchain.Build(t.Context(), filepath.Join("../../plugins", name))
				if err != nil {
					t.Fatal(err)
				}
				module = built.Module
			}
			if err := os.WriteFile(filepath.Join(dir, name+".wasm"), module, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
