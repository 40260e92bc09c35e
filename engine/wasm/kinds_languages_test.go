package wasm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/wasmtest"
)

// A plug-in of any kind but an aggregate is the same in every language: it has the manifest
// of Go's, and over the same random calls, in which states go from one to the next, it
// answers the same rows, verdicts, timers, watermarks and windows, refuses the same with the
// same words, traps at the same place, and leaves the same bytes of state.
//
// What is compared are the modules that there are, in internal/wasmtest/built, of plug-ins
// that plugins/ has in Go. Aggregates have TestLanguagesAgree.
func TestKindsAgreeInEveryLanguage(t *testing.T) {
	compared := 0
	for _, lang := range wasmtest.Languages() {
		for _, plugin := range wasmtest.BuiltIn(t, lang) {
			_, err := os.Stat(filepath.Join("../../plugins", plugin))
			if _, known := samples[plugin]; err != nil || slices.Contains(wasmtest.Plugins(), plugin) || !known && isAggregate(t, wasmtest.Built(t, lang, plugin)) {
				continue
			}
			compared++
			t.Run(lang+"/"+plugin, func(t *testing.T) {
				ours, theirs := moduleIn(t, "go", plugin), moduleIn(t, lang, plugin)
				inGo, inLang := newCaller(t, ours, plugin), newCaller(t, theirs, plugin)
				if inGo.sdk != "go" || inLang.sdk != lang {
					t.Fatalf("the module is one in %s, which is compared with one in %s", inLang.sdk, inGo.sdk)
				}
				if !reflect.DeepEqual(inGo.m, inLang.m) {
					t.Fatalf("the manifest is\n%+v, in Go\n%+v", inLang.m, inGo.m)
				}
				for seed := range uint64(4) {
					want, got := inGo.transcript(seed), inLang.transcript(seed)
					for i := range max(len(want), len(got)) {
						if i >= len(want) || i >= len(got) || want[i] != got[i] {
							t.Fatalf("seed %d, line %d of what was answered:\n%s\nin Go:\n%s", seed, i, around(got, i), around(want, i))
						}
					}
					if len(want) < 20 {
						t.Fatalf("seed %d: %d lines say little", seed, len(want))
					}
				}
			})
		}
	}
	if compared == 0 {
		t.Log("no language has a plug-in of another kind yet")
	}
}

// isAggregate says so of the plug-ins that abi/conformance compares beside those of wasmtest.Plugins.
func isAggregate(t *testing.T, file []byte) bool {
	t.Helper()
	module, err := binary.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return m.Aggregate != nil
}

// around shows what leads to a line.
func around(lines []string, i int) string {
	return strings.Join(lines[max(0, min(i, len(lines))-4):min(i+1, len(lines))], "\n")
}

// sample says what calls of a plug-in are made of. What it does not say is random.
type sample struct {
	texts  []string
	ints   []int64
	rare   map[string][]string // by column: texts that one record in 40 has, for what refuses
	floats []float64
	args   [][]job.Arg // of the instances, one after the other
}

var samples = map[string]sample{
	"sections": {
		texts: []string{"/", "", "/a", "/a/b/c?x=/y", "//a", "/a//b/", "a/b", "/ä/ü/#/z", "/1/2/3/4/5/6"},
		args:  [][]job.Arg{nil, {number("depth", 1)}, {number("depth", 100)}, {number("depth", 0)}, {number("depth", 101)}},
	},
	"unpaid": {floats: []float64{0, 1, 2.5, 1e300, 99.75, 100}, args: [][]job.Arg{nil, {real("tolerance", 0.5)}, {real("tolerance", -1)}}},
	"adaptive": {
		texts: []string{"", "flush", "end", "flushed"},
		args:  [][]job.Arg{nil, {number("slack", 0)}, {number("slack", 10), word("flush", "end")}, {number("slack", -1)}},
	},
	"count_or_timeout": {args: [][]job.Arg{
		{number("n", 3), number("after_ms", 50)}, {number("n", 2), number("after_ms", 5000), truth("by_the_clock", true)},
		{number("n", 1000), number("after_ms", math.MaxInt64)}, {number("n", 0), number("after_ms", 1)}, {number("n", 1), number("after_ms", 0)},
	}},
	"sessionise": {
		texts: []string{"", "/", "home", "ä", strings.Repeat("long/", 40)},
		args:  [][]job.Arg{{number("gap_ms", 300)}, nil, {number("gap_ms", 1)}, {number("gap_ms", math.MaxInt64)}, {number("gap_ms", 0)}},
	},
	"own_gap": {
		ints: []int64{1, 2, 50, 1 << 40, math.MaxInt64},
		args: [][]job.Arg{nil, {number("gap_ms", 1)}, {number("gap_ms", 0)}},
	},
	"visits": {args: [][]job.Arg{nil}},
	"sparse": {args: [][]job.Arg{nil, {number("n", 1)}, {number("n", 7)}, {number("n", 0)}}},
	"every":  {args: [][]job.Arg{nil, {number("n", 1)}, {number("n", 3)}, {number("n", 0)}}},
	"probe": {
		texts: []string{"", "none", "big", "log", "ä€😀", "plain"}, ints: []int64{0, 1, -1, 7, 300, math.MinInt64},
		rare: map[string][]string{"what": {"refuse", "trap", "odd", "ä"}},
		args: [][]job.Arg{nil, {number("times", 3), word("prefix", "<ä>"), real("scale", -2.5)}, {truth("on", false)}, {number("times", 0)},
			{number("times", -1)}, {number("times", 1001)}},
	},
}

func real(name string, v float64) job.Arg { return job.Arg{Name: name, Kind: stream.Float64, Float: v} }

// caller makes the random calls of a module and writes down what comes of them.
type caller struct {
	t      *testing.T
	r      *rand.Rand
	s      sample
	opened *Plugins
	p      *job.Plugin
	m      *abi.Manifest // but for the name of the SDK
	sdk    string
	lines  []string
}

func newCaller(t *testing.T, file []byte, plugin string) *caller {
	t.Helper()
	s, known := samples[plugin]
	if !known {
		t.Fatalf("there is no sample of calls for %s: add one", plugin)
	}
	module, err := binary.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	sdk := m.SDK
	m.SDK = ""
	return &caller{t: t, s: s, opened: host(t, map[string][]byte{"plug": file}), p: &job.Plugin{Name: "plug", Digest: module.Digest}, m: m, sdk: sdk}
}

// transcript is what the module answers to the calls that follow from a seed.
func (c *caller) transcript(seed uint64) []string {
	c.r, c.lines = rand.New(rand.NewPCG(seed, 41)), nil
	for _, args := range c.s.args {
		if err := c.calls(args); err != nil {
			c.say("refuses %v: %v", args, err)
		}
	}
	return c.lines
}

// callsOfInstance is how many calls an instance gets.
const callsOfInstance = 12

// calls opens an instance and makes its calls; an error says that it was not opened.
func (c *caller) calls(args []job.Arg) error {
	switch {
	case c.m.Map != nil:
		return c.maps(args)
	case c.m.Pair != nil:
		return c.pairs(args)
	case c.m.Process != nil:
		return c.firings(args)
	case c.m.Generator != nil:
		return c.watermarks(args)
	case c.m.Trigger != nil:
		return c.decisions(args)
	case c.m.Assigner != nil:
		return c.windows(args)
	}
	c.t.Fatalf("%s is of a kind that this test does not know", c.m.Name)
	return nil
}

func (c *caller) say(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// failed writes down why a call came to nothing. What a trap says differs from language to
// language.
func (c *caller) failed(err error) bool {
	f, is := errors.AsType[*udf.Failure](err)
	switch {
	case err == nil:
		return false
	case !is:
		c.t.Fatal(err)
	case f.Trap:
		c.say("trapped at %d", f.Op)
	default:
		c.say("refused at %d: %s", f.Op, f.Message)
	}
	return true
}

// close ends an instance.
func (c *caller) close(fn interface{ Close() error }) {
	if err := fn.Close(); err != nil {
		c.t.Error(err)
	}
}

// kindsOf are the kinds of columns that a job would bind to inputs.
func kindsOf(inputs []abi.Column) (kinds []stream.Kind) {
	for _, in := range inputs {
		kinds = append(kinds, stream.Kind(in.Kind))
	}
	return kinds
}

// table is n random records with times from base on, some without one unless all are timed.
func (c *caller) table(inputs []abi.Column, n int, base stream.Time, timed bool) (*stream.Columns, []stream.Time) {
	cols := &stream.Columns{N: n, Cols: make([]stream.Column, len(inputs))}
	var times []stream.Time
	for i, in := range inputs {
		cols.Cols[i].Kind = stream.Kind(in.Kind)
	}
	for range n {
		for i, in := range inputs {
			c.value(cols, &cols.Cols[i], in)
		}
		at := base + stream.Time(c.r.IntN(1000))
		if !timed && c.r.IntN(8) == 0 {
			at = stream.MinTime
		}
		times = append(times, at)
	}
	return cols, times
}

// value appends a value of a column. One that is not nullable has a few nulls, too, where
// the host leaves such records out by itself; else operators do.
func (c *caller) value(cols *stream.Columns, to *stream.Column, in abi.Column) {
	null := 12
	if in.Nullable {
		null = 4
	}
	chooses := c.m.Map != nil || c.m.Generator != nil || c.m.Assigner != nil
	if (in.Nullable || chooses) && c.r.IntN(null) == 0 {
		to.AppendNull()
		return
	}
	switch kind := stream.Kind(in.Kind); kind {
	case stream.Int64, stream.Timestamp:
		v := c.r.Int64N(2000) - 1000
		if len(c.s.ints) > 0 && kind == stream.Int64 {
			v = c.s.ints[c.r.IntN(len(c.s.ints))]
		}
		if c.r.IntN(40) == 0 {
			v = 0
		}
		to.AppendInt(v)
	case stream.Float64:
		v := c.r.NormFloat64() * 100
		switch of := c.s.floats; {
		case len(of) > 0 && c.r.IntN(40) > 0:
			v = of[c.r.IntN(len(of))]
		case c.r.IntN(10) == 0:
			v = []float64{math.Inf(1), math.Copysign(0, -1), -1, 5e-324}[c.r.IntN(4)]
		}
		to.AppendFloat(v)
	case stream.Bool:
		to.AppendBool(c.r.IntN(2) == 0)
	case stream.String:
		v := c.s.texts[c.r.IntN(len(c.s.texts))]
		if of := c.s.rare[in.Name]; len(of) > 0 && c.r.IntN(40) == 0 {
			v = of[c.r.IntN(len(of))]
		}
		to.AppendStr(stream.Str{Off: uint32(len(cols.Blob)), Len: uint32(len(v))})
		cols.Blob = append(cols.Blob, v...)
	}
}

func (c *caller) maps(args []job.Arg) error {
	fn, err := c.opened.Map(c.t.Context(), c.p, &job.Map{Plugin: "plug", Args: args}, kindsOf(c.m.Map.Inputs))
	if err != nil {
		return err
	}
	defer c.close(fn)
	for range callsOfInstance {
		cols, times := c.table(c.m.Map.Inputs, 1+c.r.IntN(20), 0, false)
		b := &stream.Batch{Columns: *cols, Time: times}
		var out udf.Emitted
		out.Reset(fn.Info().Outputs)
		rows := &udf.Rows{Batch: b, Cols: upTo(len(cols.Cols))}
		for i := range uint32(cols.N) {
			if c.r.IntN(10) > 0 { // the caller has left some out
				rows.Sel = append(rows.Sel, i)
			}
		}
		if !c.failed(fn.Call(rows, &out)) {
			c.lines = append(c.lines, lines(&out)...)
		}
	}
	return nil
}

func (c *caller) pairs(args []job.Arg) error {
	fn, err := c.opened.Pair(c.t.Context(), c.p, &job.Apply{Plugin: "plug", Args: args}, kindsOf(c.m.Pair.Left), kindsOf(c.m.Pair.Right))
	if err != nil {
		return err
	}
	defer c.close(fn)
	for range callsOfInstance {
		in := &udf.Pairs{}
		sides := [2]*udf.PairSide{&in.Left, &in.Right}
		for s, inputs := range [2][]abi.Column{c.m.Pair.Left, c.m.Pair.Right} {
			sides[s].Columns, sides[s].Time = c.table(inputs, 1+c.r.IntN(8), 0, false)
		}
		for range c.r.IntN(20) {
			in.L, in.R = append(in.L, uint32(c.r.IntN(in.Left.N))), append(in.R, uint32(c.r.IntN(in.Right.N)))
			in.Time = append(in.Time, stream.Time(c.r.IntN(1000)))
		}
		var out udf.Emitted
		out.Reset(fn.Info().Outputs)
		if !c.failed(fn.Call(in, &out)) {
			c.lines = append(c.lines, lines(&out)...)
		}
	}
	return nil
}

func (c *caller) watermarks(args []job.Arg) error {
	fn, err := c.opened.Generator(c.t.Context(), c.p, &job.Watermark{Plugin: "plug", Args: args}, kindsOf(c.m.Generator.Inputs))
	if err != nil {
		return err
	}
	defer c.close(fn)
	var state []byte
	for i := range callsOfInstance {
		cols, times := c.table(c.m.Generator.Inputs, 1+c.r.IntN(20), stream.Time(300*i), true)
		wm := slices.Repeat([]stream.Time{stream.MinTime}, cols.N)
		next, err := fn.Records(&udf.Timed{Columns: cols, Cols: upTo(len(cols.Cols)), Time: times}, state, wm)
		if c.failed(err) {
			continue
		}
		c.say("%v, state %x", wm, next)
		said, next, err := fn.Tick(stream.Time(1000*i), next)
		if !c.failed(err) {
			c.say("a tick: %v, state %x", said, next)
			state = next
		}
	}
	return nil
}

// windowOf is one of a few windows, so that they come again.
func (c *caller) windowOf() stream.Window {
	start := stream.Time(500 * c.r.IntN(4))
	if c.r.IntN(10) == 0 {
		return stream.Window{Start: stream.MinTime, End: stream.MaxTime}
	}
	return stream.Window{Start: start, End: start + 1000}
}

func (c *caller) firings(args []job.Arg) error {
	var kinds [][]stream.Kind
	for _, l := range c.m.Process.Lists {
		kinds = append(kinds, kindsOf(l))
	}
	fn, err := c.opened.Process(c.t.Context(), c.p, &job.Process{Plugin: "plug", Args: args}, kindsOf(c.m.Process.Inputs), kinds)
	if err != nil {
		return err
	}
	defer c.close(fn)
	type window struct {
		key int
		w   stream.Window
	}
	keys, windows := map[int][]byte{}, map[window][]byte{}
	for range callsOfInstance {
		n := 1 + c.r.IntN(6)
		in := &udf.Firings{Lists: make([]udf.FiringList, len(c.m.Process.Lists))}
		inputs, _ := c.table(c.m.Process.Inputs, n, 0, false)
		in.Inputs = *inputs
		of := make([]window, n)
		keySlots, windowSlots := map[int]uint32{}, map[window]uint32{}
		for i := range n {
			at := window{c.r.IntN(3), c.windowOf()}
			of[i] = at
			if _, there := keySlots[at.key]; !there {
				keySlots[at.key] = in.Keys.Add(keys[at.key])
			}
			if _, there := windowSlots[at]; !there {
				windowSlots[at] = in.Windows.Add(windows[at])
			}
			in.Window, in.Watermark, in.Now = append(in.Window, at.w), append(in.Watermark, stream.Time(c.r.IntN(3000))), append(in.Now, stream.Time(c.r.IntN(100)))
			in.Revision = append(in.Revision, uint32(max(0, c.r.IntN(5)-2)))
			in.Keys.Slot, in.Windows.Slot = append(in.Keys.Slot, keySlots[at.key]), append(in.Windows.Slot, windowSlots[at])
		}
		for s, l := range c.m.Process.Lists {
			counts := make([]int, n)
			all := 0
			for i := range counts {
				counts[i] = c.r.IntN(8)
				all += counts[i]
			}
			cols, times := c.table(l, all, 0, false)
			list := &in.Lists[s]
			list.Columns, list.Off = *cols, []uint32{0}
			for i, k := range counts {
				for range k {
					at := times[len(list.Time)]
					if start := of[i].w.Start; at != stream.MinTime && start != stream.MinTime {
						at += start
					}
					list.Time = append(list.Time, at)
				}
				list.Off = append(list.Off, uint32(len(list.Time)))
			}
		}
		out := emitted(fn.Info())
		if c.failed(fn.Call(in, out)) {
			continue
		}
		for i := range out {
			for _, line := range lines(&out[i]) {
				c.say("output %d: %s", i, line)
			}
		}
		for i, at := range of {
			keys[at.key], windows[at] = in.Keys.Get(i), in.Windows.Get(i)
			c.say("firing %d of key %d in %v leaves %x and %x", i, at.key, at.w, keys[at.key], windows[at])
		}
	}
	return nil
}

func (c *caller) decisions(args []job.Arg) error {
	fn, err := c.opened.Trigger(c.t.Context(), c.p, &job.Trigger{Plugin: "plug", Args: args}, kindsOf(c.m.Trigger.Inputs))
	if err != nil {
		return err
	}
	defer c.close(fn)
	const panes = 4
	states := make([][]byte, panes)
	for i := range callsOfInstance {
		in := &udf.TriggerOps{}
		for _, s := range states {
			in.States.Add(s)
		}
		cols, times := c.table(c.m.Trigger.Inputs, 1+c.r.IntN(10), stream.Time(200*i), false)
		in.Records = udf.Timed{Columns: cols, Cols: upTo(len(cols.Cols)), Time: times}
		for range 1 + c.r.IntN(15) {
			pane := c.r.IntN(panes)
			op := udf.PaneOp{What: udf.TriggerOp(c.r.IntN(9)), Ending: c.r.IntN(6) == 0, Window: stream.Window{Start: stream.Time(400 * pane), End: stream.Time(400*pane + 1000)},
				Watermark: stream.Time(c.r.IntN(2500) - 500), Now: stream.Time(c.r.IntN(100)), Time: stream.Time(c.r.IntN(2500))}
			if op.What > udf.OnClear { // most of them
				op.What = udf.OnElement
			}
			if pane == 3 {
				op.Window = stream.Window{Start: stream.MinTime, End: stream.MaxTime}
			}
			switch op.What {
			case udf.OnElement:
				op.Row = uint32(c.r.IntN(cols.N))
				op.Time = times[op.Row]
			case udf.OnMerge:
				op.From = uint32((pane + 1 + c.r.IntN(panes-1)) % panes)
			}
			in.Ops, in.States.Slot = append(in.Ops, op), append(in.States.Slot, uint32(pane))
		}
		var out udf.Decisions
		out.Reset(len(in.Ops))
		if c.failed(fn.Decide(in, &out)) {
			continue
		}
		c.say("verdicts %v, timers %+v", out.Verdict, out.Timers)
		copy(states, in.States.Data)
		c.say("states %x", states)
	}
	return nil
}

// windows shows records to a window assigner.
func (c *caller) windows(args []job.Arg) error {
	fn, err := c.opened.Assigner(c.t.Context(), c.p, &job.Window{Plugin: "plug", Args: args}, kindsOf(c.m.Assigner.Inputs))
	if err != nil {
		return err
	}
	defer c.close(fn)
	for range callsOfInstance {
		cols, times := c.table(c.m.Assigner.Inputs, 1+c.r.IntN(20), 0, true)
		if c.r.IntN(3) == 0 {
			times[0] = stream.MaxTime - 1
		}
		rows := &udf.Rows{Batch: &stream.Batch{Columns: *cols, Time: times}, Cols: upTo(len(cols.Cols))}
		rows.Sel = rowsFrom(nil, 0, cols.N)
		var out udf.Assigned
		if !c.failed(fn.Assign(rows, &out)) {
			c.say("windows %v of %v", out.Windows, out.Of)
		}
	}
	return nil
}

// logs are the languages whose SDK adds lines to what a module says before a trap.
var logs = map[string]bool{"c": true, "rust": true, "assemblyscript": true}

// probe traps with the text of its record, which reaches the job's owner in every language;
// with it what the function has logged in the same call.
func TestTrapsHaveTheirTextInEveryLanguage(t *testing.T) {
	for _, lang := range wasmtest.Languages() {
		if !slices.Contains(wasmtest.BuiltIn(t, lang), "probe") {
			continue
		}
		c := newCaller(t, moduleIn(t, lang, "probe"), "probe")
		fn, err := c.opened.Map(t.Context(), c.p, &job.Map{Plugin: "plug"}, kindsOf(c.m.Map.Inputs))
		if err != nil {
			t.Fatal(err)
		}
		b := &stream.Batch{Columns: stream.Columns{N: 2, Cols: make([]stream.Column, len(c.m.Map.Inputs))}, Time: []stream.Time{1, 2}}
		for i, in := range c.m.Map.Inputs {
			b.Cols[i].Kind = stream.Kind(in.Kind)
		}
		for _, r := range []map[string]string{{"what": "log", "s": "was here"}, {"what": "trap", "s": "the end"}} {
			for i, in := range c.m.Map.Inputs {
				text, is := r[in.Name]
				if !is {
					b.Cols[i].AppendNull()
					continue
				}
				b.Cols[i].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
				b.Blob = append(b.Blob, text...)
			}
		}
		var out udf.Emitted
		out.Reset(fn.Info().Outputs)
		f := failure(t, fn.Call(&udf.Rows{Batch: b, Cols: upTo(len(b.Cols)), Sel: []uint32{0, 1}}, &out))
		if !f.Trap || f.Op != 1 || !strings.Contains(f.Message, "the end") || strings.Contains(f.Message, "was here") != logs[lang] {
			t.Errorf("%s: got %+v", lang, *f)
		}
		c.close(fn)
	}
}
