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
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// native is a process function that stands for a plug-in.
type native struct {
	info udf.ProcessInfo
	call func(f *firing) error
}

func (n *native) Info() udf.ProcessInfo { return n.info }
func (n *native) Close() error          { return nil }

func (n *native) Call(in *udf.Firings, out []udf.Emitted) error {
	for i := range in.Window {
		if err := n.call(&firing{in, out, i}); err != nil {
			return &udf.Failure{Op: i, Module: "native", Message: err.Error()}
		}
	}
	return nil
}

// firing is one of a call's.
type firing struct {
	*udf.Firings
	out []udf.Emitted
	i   int
}

// emit gives a row of whole numbers to an output.
func (f *firing) emit(output int, values ...int64) {
	o := &f.out[output]
	for c, v := range values {
		o.Cols[c].AppendInt(v)
	}
	o.Of = append(o.Of, uint32(f.i))
}

// count adds to a number in a state and returns it.
func (f *firing) count(s *udf.States, n int64) int64 {
	if b := s.Get(f.i); b != nil {
		n += int64(binary.LittleEndian.Uint64(b))
	}
	s.Set(f.i, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	return n
}

// list returns the values and the times of the records of a list.
func (f *firing) list(n int) ([]int64, []stream.Time) {
	l := &f.Lists[n]
	lo, hi := l.Off[f.i], l.Off[f.i+1]
	var values []int64
	if len(l.Cols) > 0 {
		values = l.Cols[0].Ints[lo:hi]
	}
	return values, l.Time[lo:hi]
}

func sum(values []int64) (n int64) {
	for _, v := range values {
		n += v
	}
	return n
}

func number(names ...string) (out []stream.Field) {
	for _, n := range names {
		out = append(out, stream.Field{Name: n, Kind: stream.Int64})
	}
	return out
}

// natives are the plug-ins of the tests. A module's file names it.
var natives = map[string]*native{
	// After an aggregate: how much a key has had so far, and what its windows had together;
	// a window with nothing is refused.
	"running": {
		info: udf.ProcessInfo{Inputs: []udf.Input{{Name: "n", Kind: stream.Int64}, {Name: "sum", Kind: stream.Int64, Nullable: true}}, Outputs: number("n", "so_far", "calls"),
			Side: []udf.SideOutput{{Name: "many", Outputs: number("n")}, {Name: "even", Outputs: number("sum", "rest")}}, KeyState: true, WindowState: true},
		call: func(f *firing) error {
			n, sum := f.Inputs.Cols[0].Ints[f.i], f.Inputs.Cols[1].Ints[f.i]
			if sum == 13 {
				return errors.New("unlucky")
			}
			f.emit(0, n, f.count(&f.Keys, sum), f.count(&f.Windows, 1))
			for k := range min(n, 3) {
				if n > 2 {
					f.emit(1, k)
				}
			}
			if sum%2 == 0 {
				f.emit(2, sum, 0)
			}
			return nil
		},
	},
	// All records: a row for each pair of neighbours, with their distance in value and time.
	"steps": {
		info: udf.ProcessInfo{Lists: [][]udf.Input{{{Name: "v", Kind: stream.Int64}}}, Outputs: number("value", "time"), KeyState: true},
		call: func(f *firing) error {
			values, times := f.list(0)
			for i := range values[1:] {
				f.emit(0, values[i+1]-values[i], int64(times[i+1]-times[i]))
			}
			f.count(&f.Keys, 1)
			return nil
		},
	},
	// After an aggregate, with the key: what it sees, and how often it was called for the key.
	"sized": {
		info: udf.ProcessInfo{Inputs: []udf.Input{{Name: "k", Kind: stream.String}, {Name: "n", Kind: stream.Int64}}, Outputs: number("n", "key", "calls"), KeyState: true},
		call: func(f *firing) error {
			k := f.Inputs.Cols[0].Strs[f.i].Bytes(f.Inputs.Blob)
			f.emit(0, f.Inputs.Cols[1].Ints[f.i], int64(k[len(k)-1]), f.count(&f.Keys, 1))
			return nil
		},
	},
	// Both sides of a coGroup: their sums and the number of records on the right.
	"balance": {
		info: udf.ProcessInfo{Lists: [][]udf.Input{{{Name: "v", Kind: stream.Int64}}, {}}, Outputs: number("left", "right")},
		call: func(f *firing) error {
			left, _ := f.list(0)
			_, right := f.list(1)
			f.emit(0, sum(left), int64(len(right)))
			return nil
		},
	},
}

// nativeResolver describes natives.
type nativeResolver struct{ engine.Builtins }

func (nativeResolver) Plugin(p *job.Plugin) (job.FunctionInfo, error) {
	inputs := func(list []udf.Input) (out []job.Input) {
		for _, in := range list {
			out = append(out, job.Input{Name: in.Name, Kinds: []stream.Kind{in.Kind}})
		}
		return out
	}
	name := p.Ref[:strings.Index(p.Ref, "@")]
	if name == "differ" {
		info := differ{}.Info()
		return job.FunctionInfo{Kind: job.PairKind, Outputs: info.Outputs, Pair: &job.PairInfo{Left: inputs(info.Left), Right: inputs(info.Right)}}, nil
	}
	info := natives[name].info
	d := &job.ProcessInfo{KeyState: info.KeyState, WindowState: info.WindowState}
	for _, l := range info.Lists {
		d.Lists = append(d.Lists, inputs(l))
	}
	for _, s := range info.Side {
		d.Side = append(d.Side, job.SideOutput(s))
	}
	return job.FunctionInfo{Inputs: inputs(info.Inputs), Outputs: info.Outputs, Kind: job.ProcessKind, Process: d}, nil
}

// nativePlugins makes instances of natives.
type nativePlugins struct{}

func (nativePlugins) Aggregate(context.Context, *job.Plugin, *job.Aggregate, []stream.Kind) (udf.Aggregate, error) {
	panic("BUG: they are process functions")
}

func (nativePlugins) Process(_ context.Context, p *job.Plugin, _ *job.Process, _ []stream.Kind, _ [][]stream.Kind) (udf.Process, error) {
	return natives[p.Name], nil
}

func (nativePlugins) Pair(context.Context, *job.Plugin, *job.Apply, []stream.Kind, []stream.Kind) (udf.Pair, error) {
	return differ{}, nil
}

func (nativePlugins) Map(context.Context, *job.Plugin, *job.Map, []stream.Kind) (udf.Map, error) {
	panic("BUG: they are process functions")
}

func (nativePlugins) Assigner(context.Context, *job.Plugin, *job.Window, []stream.Kind) (udf.Assigner, error) {
	panic("BUG: they are process functions")
}

func (nativePlugins) Trigger(context.Context, *job.Plugin, *job.Trigger, []stream.Kind) (udf.Trigger, error) {
	panic("BUG: they are process functions")
}

func (nativePlugins) Generator(context.Context, *job.Plugin, *job.Watermark, []stream.Kind) (udf.Generator, error) {
	panic("BUG: they are process functions")
}

// processJob has sources a and b, and these steps; all that has to be seen goes to out.
func processJob(steps, sinks string) string {
	var b strings.Builder
	b.WriteString("version: 1\njob: t\nplugins:\n")
	for _, name := range []string{"running", "steps", "sized", "balance", "differ"} {
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
	b.WriteString("steps:\n" + steps + "sinks:\n" + sinks)
	return b.String()
}

func runNatives(t *testing.T, yaml string, files map[string]string, set ...string) ([]string, engine.Report, error) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "job.yaml", yaml)
	for name, text := range files {
		write(t, dir, name, text)
	}
	machine := env.Real()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: nativeResolver{}, Files: machine.FS, Set: set})
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	var out bytes.Buffer
	j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdout: &out, Plugins: nativePlugins{}, FirstStart: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := j.Run(t.Context())
	if b := report.Balance(); err == nil && len(b) > 0 {
		t.Errorf("the ledger does not add up: %v", b)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), report, err
}

func TestAProcessFunctionInAJob(t *testing.T) {
	const steps = `  s: {from: a, key: [k], window: {tumbling: 5s, allowed_lateness: 3s}, aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}},
      process: {plugin: running, columns: {sum: sum, n: n}}, on_error: dead_letter}
`
	const sinks = "  out: {from: s, stdout: {}, time_format: ms}\n  many: {from: s.many, stdout: {}, time_format: ms}\n"
	// Two windows of x, and a record that is late but allowed (at 6 s, when the watermark
	// is 4,999 or more); y is refused; the side output even has no sink of its own.
	in := record("x", 1000, 1) + record("x", 2000, 3) + record("y", 1000, 13) + record("x", 6000, 4) + record("x", 7000, 1) + record("x", 3000, 2) + record("z", 20000, 1)
	got, report, err := runNatives(t, processJob(steps, sinks), map[string]string{"a-1.jsonl": in})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"step":"s","key":{"k":"x"},"window":{"start":0,"end":5000},"kind":"on_time","revision":0,"value":{"n":2,"so_far":4,"calls":1}}`,
		`{"step":"s","key":{"k":"x"},"window":{"start":0,"end":5000},"kind":"update","revision":1,"value":{"n":3,"so_far":10,"calls":2}}`,
		`{"step":"s.many","key":{"k":"x"},"window":{"start":0,"end":5000},"kind":"update","revision":1,"rows":3,"value":{"n":0}}`,
		`{"step":"s.many","key":{"k":"x"},"window":{"start":0,"end":5000},"kind":"update","revision":1,"ordinal":1,"rows":3,"value":{"n":1}}`,
		`{"step":"s.many","key":{"k":"x"},"window":{"start":0,"end":5000},"kind":"update","revision":1,"ordinal":2,"rows":3,"value":{"n":2}}`,
		`{"step":"s","key":{"k":"x"},"window":{"start":5000,"end":10000},"kind":"on_time","revision":0,"value":{"n":2,"so_far":15,"calls":1}}`,
		`{"step":"s","key":{"k":"z"},"window":{"start":20000,"end":25000},"kind":"on_time","revision":0,"value":{"n":1,"so_far":1,"calls":1}}`,
	}
	ids := map[string]bool{}
	for i, l := range got {
		at := strings.Index(l, `"step"`)
		ids[l[:at]] = true
		got[i] = "{" + l[at:]
	}
	// The sinks write on their own: their lines may change places.
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if len(ids) != 6 { // an update has the id of what it updates
		t.Errorf("%d ids", len(ids))
	}
	last := map[string][]string{}
	for _, s := range report.Sinks {
		last[s.From] = s.Last
	}
	if even := last["s.even"]; len(even) != 2 || !strings.Contains(even[0], `"step":"s.even"`) || !strings.Contains(even[0], `"value":{"sum":4,"rest":0}`) {
		t.Errorf("even: %v", even)
	}
	if failed := last["s.failed"]; len(failed) != 1 || failed[0] != `{"step":"s","key":{"k":"y"},"window":{"start":"1970-01-01T00:00:00.000Z","end":"1970-01-01T00:00:05.000Z"},"message":"plug-in native refused: unlucky","plugin":"native"}` {
		t.Errorf("failed: %v", failed)
	}
	if l := report.Steps[0].Inputs[0]; l.Fired != 6 || l.Unfired != 1 {
		t.Errorf("ledger: %+v", l)
	}

	_, _, err = runNatives(t, processJob(strings.Replace(steps, ", on_error: dead_letter", "", 1), sinks), map[string]string{"a-1.jsonl": in})
	if !errors.Is(err, fault.ErrGuest) || !strings.Contains(err.Error(), `step s: result of key {"k":"y"} in window 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:05.000Z: plug-in native refused: unlucky`) {
		t.Errorf("on_error fail: got %v", err)
	}
}

func TestBothSidesOfACoGroup(t *testing.T) {
	const steps = `  s: {from: {join: {left: a, right: b, kind: cogroup}}, key: [k], window: {tumbling: 5s}, process: {plugin: balance, left: {v: v}}}
`
	got, _, err := runNatives(t, processJob(steps, "  out: {from: s, stdout: {}}\n"), map[string]string{
		"a-1.jsonl": record("x", 1000, 1) + record("x", 2000, 3) + record("y", 1000, 7),
		"b-1.jsonl": record("x", 4000, 100) + record("z", 1000, 100) + record("z", 6000, 100),
	})
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, l := range got {
		values = append(values, l[strings.Index(l, `"key"`):strings.Index(l, `,"window"`)]+l[strings.Index(l, `,"value"`):])
	}
	slices.Sort(values)
	want := []string{`"key":{"k":"x"},"value":{"left":4,"right":1}}`, `"key":{"k":"y"},"value":{"left":7,"right":0}}`,
		`"key":{"k":"z"},"value":{"left":0,"right":1}}`, `"key":{"k":"z"},"value":{"left":0,"right":1}}`}
	if !slices.Equal(values, want) {
		t.Errorf("got\n%s", strings.Join(values, "\n"))
	}
}

// In sessions a list is kept as records, and its result stands behind those of the others
// (S48): the function finds what it asks for by name all the same. An evictor leaves the
// aggregate what it leaves.
func TestAProcessFunctionFindsItsInputs(t *testing.T) {
	in := record("b", 1000, 1) + record("b", 1100, 2) + record("c", 1200, 3) + record("b", 5000, 4)
	for _, c := range []struct {
		step string
		want []string
	}{
		{`{from: a, key: [k], window: {session: 500ms}, aggregates: {l: {function: list, columns: {value: v}}, n: {function: count}}, process: {plugin: sized, columns: {k: k, n: n}}}`,
			[]string{`{"n":1,"key":98,"calls":2}`, `{"n":1,"key":99,"calls":1}`, `{"n":2,"key":98,"calls":1}`}},
		{`{from: a, key: [k], window: {tumbling: 2s}, evictor: {count: 1}, aggregates: {n: {function: sum, columns: {value: v}}}, process: {plugin: sized, columns: {k: k, n: n}}}`,
			[]string{`{"n":2,"key":98,"calls":1}`, `{"n":3,"key":99,"calls":1}`, `{"n":4,"key":98,"calls":2}`}},
	} {
		got, _, err := runNatives(t, processJob("  s: "+c.step+"\n", "  out: {from: s, stdout: {}}\n"), map[string]string{"a-1.jsonl": in})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range got {
			got[i] = l[strings.Index(l, `"value":`)+len(`"value":`) : len(l)-1]
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s", c.step, strings.Join(got, "\n"))
		}
	}
}

// Rows of process functions are a function of the data alone (T6): over tumbling,
// sliding and merging windows, with early and late firings, and read by a further step.
func TestProcessFunctionsDoNotDependOnBatchesOrTasks(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"a-1", "a-2", "b-1"} {
		var in strings.Builder
		for i := range 250 {
			ts := i*100 + (i*7919+len(files)*13)%6000 // disorder of up to 6 s, three times the bound
			in.WriteString(record(fmt.Sprint("k", (i*31+len(files))%7), ts, i%20))
		}
		files[name+".jsonl"] = in.String()
	}
	const counted = `aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}, on_error: dead_letter, process: {plugin: running, columns: {n: n, sum: sum}, state_ttl: 4s}}`
	for _, step := range []string{
		`{from: a, key: [k], window: {tumbling: 5s, allowed_lateness: 3s}, ` + counted,
		`{from: a, key: [k], window: {sliding: {size: 6s, slide: 2s}, allowed_lateness: 3s}, ` + counted,
		`{from: a, key: [k], window: {sliding: {size: 6s, slide: 2s}}, trigger: {continuous: 1s}, ` + counted,
		`{from: a, key: [k], window: {count: {size: 4, slide: 2}}, ` + counted,
		`{from: a, window: {tumbling: 5s}, ` + counted,
		`{from: a, key: [k], window: {tumbling: 5s, allowed_lateness: 1s}, evictor: {count: 5}, ` + counted,
		`{from: a, key: [k], window: {session: 300ms, allowed_lateness: 1s}, aggregates: {l: {function: list, columns: {value: v}}, n: {function: count}}, process: {plugin: sized, columns: {n: n, k: k}}}`,
		`{from: a, key: [k], window: {session: 500ms, allowed_lateness: 1s}, process: {plugin: steps, records: {v: v}}}`,
		`{from: a, key: [k], window: {tumbling: 5s, allowed_lateness: 1s}, evictor: {count: 5}, process: {plugin: steps, records: {v: v}}}`,
		`{from: {join: {left: a, right: b, kind: cogroup}}, key: [k], window: {tumbling: 5s, allowed_lateness: 1s}, process: {plugin: balance, left: {v: v}}}`,
	} {
		first := "n"
		sinks := "  out: {from: s, stdout: {}}\n  w: {from: again, stdout: {}}\n"
		switch {
		case strings.Contains(step, "running"):
			sinks += "  many: {from: s.many, stdout: {}}\n  even: {from: s.even, stdout: {}}\n"
		case strings.Contains(step, "steps"):
			first = "value"
		case strings.Contains(step, "balance"):
			first = "left"
		}
		again := "  again: {from: s, window: {tumbling: 10s}, aggregates: {all: {function: list, columns: {value: " + first + "}}}}\n"
		if strings.Contains(step, "count: {size") { // its rows have the last of all times
			again = "  again: {from: s, window: {count: 3}, aggregates: {all: {function: list, columns: {value: n}}}}\n"
		}
		yaml := processJob("  s: "+step+"\n"+again, sinks)
		var want []string
		for _, c := range [][2]int{{1, 1}, {1000, 1}, {7, 2}, {1024, 4}} {
			got, _, err := runNatives(t, yaml, files, fmt.Sprint("settings.batch.rows=", c[0]), fmt.Sprint("parallelism=", c[1]))
			if err != nil {
				t.Fatalf("%v\n%s", err, yaml)
			}
			slices.Sort(got)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Fatalf("batches of %d rows, parallelism %d: %d rows, %d with one task and batches of 1; they differ from %s\n%s", c[0], c[1], len(got), len(want), got[min(i, len(got)-1)], yaml)
			}
		}
		if len(want) < 30 {
			t.Errorf("only %d rows: the test shows nothing\n%s", len(want), yaml)
		}
	}
}
