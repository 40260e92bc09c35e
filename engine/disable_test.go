package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/breaker"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/env"
)

// fragile is an aggregate that stands for a plug-in: a sum of int64. It refuses a record
// with 13, breaks down at one with 14, and refuses a result that ends in 7.
type fragile struct{}

func (fragile) Info() udf.Info {
	return udf.Info{Inputs: []udf.Input{{Name: "v", Kind: stream.Int64}}, Outputs: number("sum"), Width: 8, OrderInsensitive: true, Exact: true, Schema: 1}
}

func (fragile) Create(dst *udf.Accs, n int) error {
	dst.Reset(8)
	for range n {
		dst.Append(make([]byte, 8))
	}
	return nil
}

func plus(acc []byte, v int64) {
	binary.LittleEndian.PutUint64(acc, binary.LittleEndian.Uint64(acc)+uint64(v))
}

func (fragile) Add(accs *udf.Accs, rows *udf.Rows) error {
	for i, r := range rows.Sel {
		v := rows.Batch.Cols[rows.Cols[0]].Ints[r]
		if v == 13 || v == 14 {
			return &udf.Failure{Op: i, Trap: v == 14, Module: "fragile", Message: fmt.Sprint("unlucky with ", v)}
		}
		plus(accs.At(int(rows.Group[i])), v)
	}
	return nil
}

func (fragile) Merge(into, from *udf.Accs) error {
	for i := range into.N() {
		plus(into.At(i), int64(binary.LittleEndian.Uint64(from.At(i))))
	}
	return nil
}

func (fragile) Result(accs *udf.Accs, out *stream.Columns) error {
	before := out.Cols[0].Len()
	for i := range accs.N() {
		v := int64(binary.LittleEndian.Uint64(accs.At(i)))
		if v%10 == 7 {
			out.Cols[0].Truncate(before)
			return &udf.Failure{Op: i, Module: "fragile", Message: fmt.Sprint("no result for ", v)}
		}
		out.Cols[0].AppendInt(v)
	}
	return nil
}

func (fragile) Close() error { return nil }

// manyKinds are plug-ins of all kinds, by name.
type manyKinds struct {
	nativePlugins
	nativeResolver
}

func (h manyKinds) Plugin(p *job.Plugin) (job.FunctionInfo, error) {
	switch p.Name {
	case "fragile":
		return job.FunctionInfo{Inputs: []job.Input{{Name: "v", Kinds: []stream.Kind{stream.Int64}}}, Outputs: number("sum"), OrderInsensitive: true, Fixed: true}, nil
	case "tally":
		return tallies{}.Plugin(p)
	case "split":
		return mapHost{}.Plugin(p)
	}
	return h.nativeResolver.Plugin(p)
}

func (manyKinds) Aggregate(context.Context, *job.Plugin, *job.Aggregate, []stream.Kind) (udf.Aggregate, error) {
	return fragile{}, nil
}

func (h manyKinds) Process(ctx context.Context, p *job.Plugin, f *job.Process, kinds []stream.Kind, lists [][]stream.Kind) (udf.Process, error) {
	fn, err := h.nativePlugins.Process(ctx, p, f, kinds, lists)
	return named{fn, p.Name}, err
}

// named is a function whose failures have the name that the job gives it.
type named struct {
	udf.Process
	name string
}

func (n named) Call(in *udf.Firings, out []udf.Emitted) error {
	err := n.Process.Call(in, out)
	if f := (*udf.Failure)(nil); errors.As(err, &f) {
		f.Module = n.name
	}
	return err
}

func (manyKinds) Trigger(ctx context.Context, p *job.Plugin, t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error) {
	return tallies{}.Trigger(ctx, p, t, kinds)
}

func (manyKinds) Map(context.Context, *job.Plugin, *job.Map, []stream.Kind) (udf.Map, error) {
	return splitter{new(bool)}, nil
}

// runFragile runs steps, of which s has results and a failed output, and returns the rows
// of both without their ids, sorted.
func runFragile(t *testing.T, steps string, files map[string]string, set ...string) (rows, failed []string, disabled []breaker.Disabled) {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("version: 1\njob: t\nmax_parallelism: 8\nplugins:\n")
	for _, name := range []string{"fragile", "tally", "split", "running", "differ"} {
		if strings.Contains(steps, "plugin: "+name) {
			fmt.Fprintf(&b, "  %[1]s: {file: job.yaml, ref: %[1]s@1}\n", name)
		}
	}
	b.WriteString("sources:\n")
	for _, name := range []string{"a", "b"} {
		if strings.Contains(steps, "right: b") || name == "a" {
			fmt.Fprintf(&b, "  %[1]s: {file: {path: \"%[1]s-*.jsonl\"}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 2s}}\n", name)
		}
	}
	b.WriteString("steps:\n" + steps + "\nsinks:\n  out: {from: s, stdout: {}, time_format: ms}\n  failed: {from: s.failed, stdout: {}, time_format: ms}\n")
	write(t, dir, "job.yaml", b.String())
	for name, text := range files {
		write(t, dir, name, text)
	}
	machine, host := env.Real(), manyKinds{}
	g, err := job.Load([]byte(b.String()), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: host, Files: machine.FS, Set: set})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	var out bytes.Buffer
	j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdout: &out, Plugins: host, FirstStart: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := j.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b := report.Balance(); len(b) > 0 {
		t.Errorf("the ledger does not add up: %v", b)
	}
	for l := range strings.Lines(out.String()) {
		if strings.Contains(l, `"message"`) {
			failed = append(failed, l)
		} else {
			rows = append(rows, l[strings.Index(l, `"key"`):])
		}
	}
	slices.Sort(rows)
	slices.Sort(failed)
	for _, s := range report.Steps {
		disabled = breaker.Merge(disabled, s.Disabled)
	}
	return rows, failed, disabled
}

const disableAfter = "on_error: {disable_plugin: {failures: %d, within: %s}}"

// What is disabled, when, and what is set aside follow from the input alone, whatever the
// plug-in is for.
func TestDisablingDoesNotDependOnBatchesOrTasks(t *testing.T) {
	files := map[string]string{}
	for n, name := range []string{"a-1", "a-2", "b-1", "b-2"} {
		var in strings.Builder
		for i := range 400 {
			in.WriteString(record(fmt.Sprint("k", (i*31+n)%11), 20_000+i*100+(i*7919+n*13)%3000, (i*17+n)%20))
		}
		files[name+".jsonl"] = in.String()
	}
	const fragile = "aggregates: {n: {function: count}, f: {plugin: fragile, columns: {v: v}}}, "
	const plain = "aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}, "
	policy, patient := fmt.Sprintf(disableAfter, 3, "8s"), fmt.Sprintf(disableAfter, 60, "30s")
	for _, c := range []struct{ name, step string }{
		{"add and result, tumbling", "from: a, key: [k], window: {tumbling: 5s, allowed_lateness: 1s}, " + fragile},
		{"over all keys", "from: a, window: {tumbling: 1s}, " + fragile},
		{"slices", "from: a, key: [k], window: {sliding: {size: 10s, slide: 2s}}, " + fragile},
		{"sessions, which merge", "from: a, key: [k], window: {session: 700ms}, " + fragile},
		{"count windows", "from: a, key: [k], window: {count: {size: 6, slide: 3}}, " + fragile},
		{"firings that wait", "from: a, key: [k], window: {tumbling: 5s}, trigger: {count: 2}, " + fragile},
		{"firings of timers", "from: a, key: [k], window: {tumbling: 5s}, trigger: {continuous: 1s}, " + fragile},
		{"lists", "from: a, key: [k], window: {tumbling: 5s}, evictor: {count: 3}, " + fragile},
		{"a process function", "from: a, key: [k], window: {tumbling: 200ms}, " + plain + "process: {plugin: running, columns: {sum: sum, n: n}}, "},
		{"pairs of an interval join", "from: {join: {left: a, right: b, kind: interval, between: {lower: -1s, upper: 1s}}}, key: [k], apply: {plugin: differ, left: {v: v}, right: {v: v}}, "},
		{"pairs of a window join", "from: {join: {left: a, right: b}}, key: [k], window: {tumbling: 1s}, apply: {plugin: differ, left: {v: v}, right: {v: v}}, "},
		{"a trigger", "from: a, key: [k], window: {tumbling: 5s}, trigger: " + tallied(3) + ", " + plain},
		{"a trigger of sessions", "from: a, key: [k], window: {session: 500ms}, trigger: " + tallied(3) + ", " + plain},
	} {
		t.Run(c.name, func(t *testing.T) {
			step := "  s: {" + c.step + policy + "}"
			if !strings.Contains(c.step, "key: ") { // one part with all failures
				step = "  s: {" + c.step + patient + "}"
			}
			rows, failed, disabled := runFragile(t, step, files)
			aside := 0
			for _, l := range failed {
				if strings.Contains(l, "not called: it is disabled since 1970-01-01T00:00:") {
					aside++
				}
			}
			if len(rows) < 10 || len(failed) == aside || aside == 0 || len(disabled) != 1 || int(disabled[0].Aside) != aside {
				t.Fatalf("%d rows, %d failed, %d of them since the plug-in is disabled; %+v", len(rows), len(failed), aside, disabled)
			}
			for _, s := range [][2]int{{1, 1}, {7, 3}, {1000, 8}} {
				r, f, d := runFragile(t, step, files, fmt.Sprint("settings.batch.rows=", s[0]), fmt.Sprint("parallelism=", s[1]))
				if !slices.Equal(r, rows) || !slices.Equal(f, failed) || !slices.Equal(d, disabled) {
					t.Errorf("batches of %d, parallelism %d: %d rows, want %d; %d failed, want %d; %+v, want %+v", s[0], s[1], len(r), len(rows), len(f), len(failed), d, disabled)
				}
			}
		})
	}
	t.Run("a function of single records", func(t *testing.T) {
		steps := "  s: {from: a, map: {plugin: split, columns: {v: v}}, " + policy + "}"
		_, failed, disabled := runFragile(t, steps, files)
		if len(failed) == 0 || len(disabled) != 1 || disabled[0].Parts != 2 {
			t.Fatalf("%d failed, %+v", len(failed), disabled)
		}
		for _, s := range [][2]int{{1, 1}, {7, 3}} {
			_, f, d := runFragile(t, steps, files, fmt.Sprint("settings.batch.rows=", s[0]), fmt.Sprint("parallelism=", s[1]))
			if !slices.Equal(f, failed) || !slices.Equal(d, disabled) {
				t.Errorf("batches of %d, parallelism %d: %d failed, want %d; %+v, want %+v", s[0], s[1], len(f), len(failed), d, disabled)
			}
		}
	})
}

// Against a model that knows one file, in order, and what a key group is.
func TestWhatIsSetAsideOnceAPlugInIsDisabled(t *testing.T) {
	const groups, size, bound, most, within = 8, 5000, 2000, 2, 6000
	type window struct {
		key   string
		start int
	}
	var in strings.Builder
	var wantRows, wantFailed []string
	sums, times := map[window]int{}, map[int][]int{}
	disabled := map[int]bool{}
	fail := func(group, at int) {
		ts := append(times[group], at)
		if times[group] = ts[max(0, len(ts)-most):]; len(ts) >= most && at-times[group][0] <= within {
			disabled[group] = true
		}
	}
	group := func(k string) int { return stream.KeyGroup(stream.KeyHash([]byte(k)), groups) }
	fire := func(upTo int) { // watermark
		var due []window
		for w := range sums {
			if w.start+size-1 <= upTo {
				due = append(due, w)
			}
		}
		slices.SortFunc(due, func(a, b window) int { return a.start - b.start }) // of a key: others do not matter
		for _, w := range due {
			if disabled[group(w.key)] {
				wantFailed = append(wantFailed, fmt.Sprint("pane ", w.key, " ", w.start))
			} else {
				wantRows = append(wantRows, fmt.Sprintf(`"key":{"k":%q},"window":{"start":%d,"end":%d},"kind":"on_time","revision":0,"value":{"f":%d}}`, w.key, w.start, w.start+size, sums[w]))
			}
			delete(sums, w)
		}
	}
	for i := range 300 {
		k, ts, v := fmt.Sprint("k", i*31%13), 10_000+i*150, 20+i%3*10
		if i*i%23 == 2 {
			v = 13
		}
		in.WriteString(record(k, ts, v))
		fire(10_000 + (i-1)*150 - bound - 1)
		switch g := group(k); {
		case disabled[g]:
			wantFailed = append(wantFailed, fmt.Sprint("line ", i+1))
		case v == 13:
			wantFailed = append(wantFailed, fmt.Sprint("line ", i+1))
			fail(g, ts)
		default:
			sums[window{k, ts / size * size}] += v
		}
	}
	fire(1 << 40)
	slices.Sort(wantRows)
	slices.Sort(wantFailed)
	step := "  s: {from: a, key: [k], window: {tumbling: 5s}, aggregates: {f: {plugin: fragile, columns: {v: v}}}, " + fmt.Sprintf(disableAfter, most, "6s") + "}"
	rows, failed, report := runFragile(t, step, map[string]string{"a-1.jsonl": in.String()})
	for i, l := range failed {
		var k, line string
		var start int
		if _, after, ok := strings.Cut(l, `"line":`); ok {
			line, _, _ = strings.Cut(after, ",")
			failed[i] = "line " + strings.TrimRight(line, "}\n")
		} else {
			_, after, _ := strings.Cut(l, `"k":"`)
			k, _, _ = strings.Cut(after, `"`)
			_, after, _ = strings.Cut(l, `"start":`)
			fmt.Sscan(after, &start)
			failed[i] = fmt.Sprint("pane ", k, " ", start)
		}
	}
	slices.Sort(failed)
	for i := range rows {
		rows[i] = strings.TrimSuffix(rows[i], "\n")
	}
	if !slices.Equal(rows, wantRows) {
		t.Errorf("%d rows, want %d:\n%s\nwant\n%s", len(rows), len(wantRows), strings.Join(rows, "\n"), strings.Join(wantRows, "\n"))
	}
	if !slices.Equal(failed, wantFailed) {
		t.Errorf("%d failed, want %d:\n%s\nwant\n%s", len(failed), len(wantFailed), strings.Join(failed, "\n"), strings.Join(wantFailed, "\n"))
	}
	if len(report) != 1 || report[0].Parts != len(disabled) || len(disabled) == groups || len(disabled) == 0 || len(wantRows) < 10 {
		t.Errorf("report %+v, %d groups disabled, %d rows", report, len(disabled), len(wantRows))
	}
}
