package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/abi/guest"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// compiled is a directory for compiled modules, which stay.
var compiled string

func TestMain(m *testing.M) {
	var err error
	if compiled, err = wasmtest.MachineCode(filepath.Join("..", "..")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// memory opens plug-ins by their name from a map.
func memory(files map[string][]byte) Opener {
	return func(p *job.Plugin) (io.ReadCloser, error) {
		f, ok := files[p.Name]
		if !ok {
			return nil, fault.Userf("no file %s", p.Name)
		}
		return io.NopCloser(bytes.NewReader(f)), nil
	}
}

// host returns a Plugins over files.
func host(tb testing.TB, files map[string][]byte) *Plugins {
	tb.Helper()
	c, err := guest.NewInProcess(tb.Context(), compiled)
	if err != nil {
		tb.Fatal(err)
	}
	ps := NewPlugins(c, memory(files))
	tb.Cleanup(func() {
		if err := errors.Join(ps.Close(context.Background()), c.Close(context.Background())); err != nil {
			tb.Error(err)
		}
	})
	return ps
}

// open describes and starts the plug-in in file, with its inputs bound in order.
func open(tb testing.TB, file []byte, args ...job.Arg) (udf.Aggregate, error) {
	tb.Helper()
	ps := host(tb, map[string][]byte{"plug": file})
	p := &job.Plugin{Name: "plug"}
	info, err := ps.Describe(p)
	if err != nil {
		return nil, err
	}
	var kinds []stream.Kind
	for _, in := range info.Inputs {
		kinds = append(kinds, in.Kinds[0])
	}
	a, err := ps.Aggregate(tb.Context(), p, &job.Aggregate{Plugin: "plug", Args: args}, kinds)
	if err == nil {
		tb.Cleanup(func() {
			if err := a.Close(); err != nil {
				tb.Error(err)
			}
		})
	}
	return a, err
}

func start(tb testing.TB, name string, edits ...string) udf.Aggregate {
	tb.Helper()
	a, err := open(tb, wasmtest.Guest(tb, name, edits...))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// ints is a batch with one column of int64.
func ints(values ...int64) *stream.Batch {
	b := &stream.Batch{}
	b.Reset([]stream.Kind{stream.Int64})
	for _, v := range values {
		b.Cols[0].AppendInt(v)
	}
	b.N = len(values)
	return b
}

// texts is a batch with one column of strings; "~" stands for null.
func texts(values ...string) *stream.Batch {
	b := &stream.Batch{}
	b.Reset([]stream.Kind{stream.String})
	b.Blob = append(b.Blob, "other text"...)
	for _, v := range values {
		if v == "~" {
			b.Cols[0].AppendNull()
			continue
		}
		b.Cols[0].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(v))})
		b.Blob = append(b.Blob, v...)
	}
	b.N = len(values)
	return b
}

// all selects every row of b, row i going to group i%groups.
func all(b *stream.Batch, groups int) *udf.Rows {
	r := &udf.Rows{Batch: b, Cols: []int{0}, Groups: groups}
	for i := range b.N {
		r.Sel = append(r.Sel, uint32(i))
		r.Group = append(r.Group, uint32(i%groups))
	}
	return r
}

// create returns n fresh accumulators.
func create(t *testing.T, a udf.Aggregate, n int) *udf.Accs {
	t.Helper()
	accs := &udf.Accs{}
	if err := a.Create(accs, n); err != nil {
		t.Fatal(err)
	}
	return accs
}

// result gives each accumulator's row as text.
func result(t *testing.T, a udf.Aggregate, accs *udf.Accs) []string {
	t.Helper()
	out := outputs(a)
	if err := a.Result(accs, out); err != nil {
		t.Fatal(err)
	}
	return render(out)
}

func outputs(a udf.Aggregate) *stream.Columns {
	out := &stream.Columns{}
	for _, f := range a.Info().Outputs {
		out.Cols = append(out.Cols, stream.Column{Kind: f.Kind})
	}
	return out
}

func render(out *stream.Columns) []string {
	var rows []string
	for i := range out.Cols[0].Len() {
		var cells []string
		for k := range out.Cols {
			c := &out.Cols[k]
			switch {
			case c.Null(i):
				cells = append(cells, "null")
			case c.Kind == stream.String:
				cells = append(cells, string(c.Strs[i].Bytes(out.Blob)))
			case c.Kind == stream.Float64:
				cells = append(cells, fmt.Sprint(c.Floats[i]))
			case c.Kind == stream.Bool:
				cells = append(cells, fmt.Sprint(c.Bools[i]))
			default:
				cells = append(cells, fmt.Sprint(c.Ints[i]))
			}
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	return rows
}

func failure(t *testing.T, err error) *udf.Failure {
	t.Helper()
	f, ok := errors.AsType[*udf.Failure](err)
	if !ok {
		t.Fatalf("got %v, want a *udf.Failure", err)
	}
	return f
}

func TestInfoIsTheManifest(t *testing.T) {
	got := start(t, "sum").Info()
	want := udf.Info{
		Inputs:  []udf.Input{{Name: "value", Kind: stream.Int64}},
		Outputs: []stream.Field{{Name: "sum", Kind: stream.Int64}, {Name: "count", Kind: stream.Int64}},
		Width:   16, OrderInsensitive: true, Exact: true, Schema: 1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFixed(t *testing.T) {
	a := start(t, "sum")
	accs := create(t, a, 3)
	b := ints(1, 2, 3, 4, 5, 6)
	// Rows 1, 3 and 5: gathered. Then all rows: one run.
	if err := a.Add(accs, &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{1, 3, 5}, Group: []uint32{0, 2, 0}, Groups: 3}); err != nil {
		t.Fatal(err)
	}
	if got, want := result(t, a, accs), []string{"8 2", "null 0", "4 1"}; !slices.Equal(got, want) {
		t.Errorf("gathered: got %q, want %q", got, want)
	}
	if err := a.Add(accs, &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{0, 1, 2, 3, 4, 5}, Group: []uint32{1, 1, 1, 1, 1, 1}, Groups: 3}); err != nil {
		t.Fatal(err)
	}
	// Two of a record, as when two windows hold it: not a run, though it looks like one
	// by its ends.
	if err := a.Add(accs, &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{0, 0, 2}, Group: []uint32{2, 0, 0}, Groups: 3}); err != nil {
		t.Fatal(err)
	}
	if got, want := result(t, a, accs), []string{"12 4", "21 6", "5 2"}; !slices.Equal(got, want) {
		t.Errorf("then: got %q, want %q", got, want)
	}
	if err := a.Merge(accs, accs); err != nil {
		t.Fatal(err)
	}
	if got, want := result(t, a, accs), []string{"24 8", "42 12", "10 4"}; !slices.Equal(got, want) {
		t.Errorf("merged with itself: got %q, want %q", got, want)
	}
	if err := a.Add(accs, &udf.Rows{Batch: b, Cols: []int{0}, Groups: 3}); err != nil {
		t.Errorf("no records: %v", err)
	}
}

// The arena of the guests has 64 KiB: 8 bytes of value, 4 of group and 16 of
// accumulator bring every one of these sizes over it in another way.
func TestFixedIsSplitToFit(t *testing.T) {
	for _, c := range []struct {
		name         string
		rows, groups int
	}{
		{"all fits", 1_000, 10},
		{"too many records", 20_000, 3},
		{"too many accumulators", 1_000, 10_000},
		{"too many of both", 20_000, 10_000},
		{"one record, too many accumulators", 1, 5_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			seed := uint64(c.rows)
			r := rand.New(rand.NewPCG(seed, 1))
			b := &stream.Batch{}
			b.Reset([]stream.Kind{stream.Int64})
			rows := &udf.Rows{Batch: b, Cols: []int{0}, Groups: c.groups}
			sum, n := make([]int64, c.groups), make([]int64, c.groups)
			for i := range c.rows {
				v, g := r.Int64N(1<<40), r.IntN(c.groups)
				b.Cols[0].AppendInt(v)
				rows.Sel = append(rows.Sel, uint32(i))
				rows.Group = append(rows.Group, uint32(g))
				sum[g] += v
				n[g]++
			}
			b.N = c.rows
			a := start(t, "sum")
			accs := create(t, a, c.groups)
			if err := a.Add(accs, rows); err != nil {
				t.Fatal(err)
			}
			for g, got := range result(t, a, accs) {
				want := fmt.Sprintf("%d %d", sum[g], n[g])
				if n[g] == 0 {
					want = "null 0"
				}
				if got != want {
					t.Fatalf("seed %d, group %d: got %s, want %s", seed, g, got, want)
				}
			}
			// Merging twice as much as fits.
			if c.groups == 10_000 {
				for g := range n {
					if n[g] == 13 {
						return // the guest does not like these
					}
				}
				if err := a.Merge(accs, accs); err != nil {
					t.Fatal(err)
				}
				if got, want := result(t, a, accs)[c.groups-1], fmt.Sprintf("%d %d", 2*sum[c.groups-1], 2*n[c.groups-1]); n[c.groups-1] > 0 && got != want {
					t.Errorf("merged: got %s, want %s", got, want)
				}
			}
		})
	}
}

func TestFailureNamesTheRecord(t *testing.T) {
	for _, c := range []struct {
		name         string
		order        int64 // what the guest is told to do
		rows, groups int
		at           int // the row that says it
		want         udf.Failure
	}{
		{"a trap", -1, 10, 2, 7, udf.Failure{Op: 7, Trap: true, Message: "unreachable in tm_aggregate_add"}},
		{"a panic with its text", -3, 10, 2, 0, udf.Failure{Op: 0, Trap: true, Message: "panic: value is -3"}},
		{"a refusal", -2, 10, 2, 9, udf.Failure{Op: 9, Message: "negative value"}},
		{"a refusal that names no record", -10, 10, 2, 5, udf.Failure{Op: -1, Message: "negative value"}},
		{"a trap behind the first call of many", -1, 20_000, 2, 19_999, udf.Failure{Op: 19_999, Trap: true, Message: "unreachable in tm_aggregate_add"}},
		{"a trap in a call for some of the groups", -1, 20_000, 10_000, 12_345, udf.Failure{Op: 12_345, Trap: true, Message: "unreachable in tm_aggregate_add"}},
		{"an answer that cannot be", -5, 10, 2, 3, udf.Failure{Op: 3, Trap: true, Message: "protocol error: tm_aggregate_add answers status 9, which does not exist"}},
		{"a message outside the output", -6, 10, 2, 4, udf.Failure{Op: 4, Trap: true, Message: "protocol error: a message of 70000 bytes, the output has 4096 and a message at most 4096"}},
		{"output that is full where there is none", -7, 10, 2, 4, udf.Failure{Op: 4, Trap: true, Message: "protocol error: tm_aggregate_add answers OUTPUT_FULL for accumulators of fixed size"}},
		{"a frame that the guest cannot read", -8, 10, 2, 1, udf.Failure{Op: 1, Trap: true, Message: "protocol error: tm_aggregate_add cannot read the frame"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := start(t, "sum")
			b := ints(make([]int64, 2*c.rows)...)
			b.Cols[0].Ints[2*c.at] = c.order
			rows := &udf.Rows{Batch: b, Cols: []int{0}, Groups: c.groups}
			for i := range c.rows { // every second row: places in Sel are not rows
				rows.Sel = append(rows.Sel, uint32(2*i))
				rows.Group = append(rows.Group, uint32(i%c.groups))
			}
			err := a.Add(create(t, a, c.groups), rows)
			c.want.Module = "plug"
			if got := failure(t, err); *got != c.want {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
			// The next call works: after a trap on a fresh instance, which was configured.
			accs := create(t, a, 1)
			if err := a.Add(accs, all(ints(4, 5), 1)); err != nil {
				t.Fatal(err)
			}
			if got := result(t, a, accs); got[0] != "9 2" {
				t.Errorf("then: got %s, want 9 2", got[0])
			}
		})
	}
}

func TestTheRecordToBlameCostsOneInstance(t *testing.T) {
	a := start(t, "sum").(*aggregate)
	accs := create(t, a, 1)
	add := func(values ...int64) error {
		in := all(ints(values...), 1)
		return a.Add(accs, in)
	}
	if f := failure(t, add(1, -1, 2)); f.Op != 1 || !f.Trap || f.Fresh {
		t.Errorf("the batch: %+v", *f)
	}
	accs = create(t, a, 1) // as those of a failed call are dropped
	if err := add(1); err != nil {
		t.Fatal(err)
	}
	works := a.inst
	if f := failure(t, add(-1)); !f.Trap || !f.Fresh || a.inst != works {
		t.Errorf("the record alone: %+v; the instance that works is kept: %v", *f, a.inst == works)
	}
	if err := add(2); err != nil || a.inst != works {
		t.Errorf("the rest: %v; by the one that works: %v", err, a.inst == works)
	}
	if got := result(t, a, accs); got[0] != "3 2" {
		t.Errorf("got %s, want 3 2", got[0])
	}
	// Without a batch before it a record is tried where it comes, and then once more.
	if f := failure(t, add(-1)); !f.Trap || !f.Fresh || a.inst != nil {
		t.Errorf("a record that comes alone: %+v", *f)
	}
}

func TestOneRecordIsTriedOnAFreshInstance(t *testing.T) {
	// The third add of an instance traps, whatever the record.
	a := start(t, "sum", "memory 3", "memory 3\nglobal adds i32 0",
		"global.get scale i64.eqz if unreachable end", "global.get adds 1 i32.add global.set adds global.get adds 2 i32.gt_u if unreachable end")
	accs := create(t, a, 1)
	for i := range 10 {
		if err := a.Add(accs, all(ints(int64(i)), 1)); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	if got := result(t, a, accs); got[0] != "45 10" {
		t.Errorf("got %s, want 45 10", got[0])
	}
	// Two records at once are the caller's to take apart. The calls above left an
	// instance with two adds.
	if f := failure(t, a.Add(accs, all(ints(1, 2), 1))); !f.Trap {
		t.Errorf("got %+v, want a trap", *f)
	}
}

func TestFailureNamesTheAccumulator(t *testing.T) {
	a := start(t, "sum")
	const n = 3_000 // two calls
	into, from := create(t, a, n), create(t, a, n)
	from.Data[2_500*16+8] = 13
	if got, want := *failure(t, a.Merge(into, from)), (udf.Failure{Op: 2_500, Trap: true, Module: "plug", Message: "unreachable in tm_aggregate_merge"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestArguments(t *testing.T) {
	scale := func(v int64) job.Arg { return job.Arg{Name: "scale", Kind: stream.Int64, Int: v} }
	a, err := open(t, wasmtest.Guest(t, "sum"), scale(10))
	if err != nil {
		t.Fatal(err)
	}
	accs := create(t, a, 1)
	if err := a.Add(accs, all(ints(1, 2), 1)); err != nil {
		t.Fatal(err)
	}
	if got := result(t, a, accs); got[0] != "30 2" {
		t.Errorf("got %s, want 30 2", got[0])
	}
	for _, c := range []struct {
		name  string
		args  []job.Arg
		edits []string
		want  string
		class error
	}{
		{"a value that the guest refuses", []job.Arg{scale(0)}, nil, "plug-in plug refuses its arguments: scale must be above 0", fault.ErrUser},
		{"another kind", []job.Arg{{Name: "scale", Kind: stream.Float64}}, nil, "plug-in plug: argument scale is float64, it must be int64", fault.ErrUser},
		{"a name that does not exist", []job.Arg{scale(1), {Name: "scala"}}, nil, "plug-in plug: there is no parameter scala", fault.ErrUser},
		{"one that is required", nil, []string{`"default": 1`, `"required": true`}, "plug-in plug: argument scale is missing", fault.ErrUser},
		{"a trap in the configuration", nil, []string{"$f 1536 21 call refuse return", "unreachable", "i64.const 1 i64.lt_s", "i64.const 9 i64.lt_s"}, "configure: plug-in plug trapped: unreachable in tm_configure", fault.ErrGuest},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(t, wasmtest.Guest(t, "sum", c.edits...), c.args...)
			if err == nil || err.Error() != c.want || !errors.Is(err, c.class) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestArgumentsOfAllKinds(t *testing.T) {
	// configure traps unless the row holds what the rows below say: one int64, one
	// float64, one bool, one string and one null, in this order.
	check := `func tm_configure f:i32 -> i32 | d:i32
  $f $f i32.load 12 i32.add =d
  $f i32.load 4 1 i32.ne if unreachable end
  $f i32.load 16 5 i32.ne if unreachable end
  $f $d i32.load 12 i32.add i64.load 0 i64.const 7 i64.ne if unreachable end
  $f $d i32.load 44 i32.add f64.load 0 f64.const 2.5 f64.lt if unreachable end
  $f $d i32.load 44 i32.add f64.load 0 f64.const 2.5 f64.gt if unreachable end
  $f $d i32.load 76 i32.add i32.load8_u 0 1 i32.ne if unreachable end
  $f $d i32.load 112 i32.add i32.load8_u 1 98 i32.ne if unreachable end ; the b of ab
  $f $d i32.load 108 i32.add i32.load 4 2 i32.ne if unreachable end
  $d i32.load 132 1 i32.ne if unreachable end ; the fifth has a bitmap
  $f $d i32.load 136 i32.add i64.load 0 i64.eqz i32.eqz if unreachable end
  i64.const 1 global.set scale 0 return`
	params := `"params": [{"name": "i", "type": "int64"}, {"name": "f", "type": "float64", "default": 2.5}, {"name": "b", "type": "bool"},
  {"name": "s", "type": "string"}, {"name": "n", "type": "int64"}],`
	file := wasmtest.Guest(t, "sum", "func tm_configure f:i32 -> i32 | d:i32", check,
		`"params": [{"name": "scale", "type": "int64", "default": 1}],`, params)
	_, err := open(t, file,
		job.Arg{Name: "s", Kind: stream.String, Str: "ab"}, job.Arg{Name: "b", Kind: stream.Bool, Bool: true}, job.Arg{Name: "i", Kind: stream.Int64, Int: 7})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVarying(t *testing.T) {
	a := start(t, "join")
	var accs udf.Accs
	accs.Reset(0)
	b := texts("a", "bb", "~", "", "c")
	rows := &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{0, 1, 2, 3, 4}, Group: []uint32{0, 2, 0, 2, 0}, Groups: 3}
	if err := a.Add(&accs, rows); err != nil {
		t.Fatal(err)
	}
	if got, want := result(t, a, &accs), []string{"a~c 3", "null 0", "bb 2"}; !slices.Equal(got, want) {
		t.Errorf("added: got %q, want %q", got, want)
	}
	other := create(t, a, 1)
	other.Append([]byte("x"))
	other.Append([]byte("yz"))
	if err := a.Merge(&accs, other); err != nil {
		t.Fatal(err)
	}
	if got, want := result(t, a, &accs), []string{"a~c 3", "x 1", "bbyz 4"}; !slices.Equal(got, want) {
		t.Errorf("merged: got %q, want %q", got, want)
	}
	// What Add is given is not its start: partials come from fresh accumulators.
	if err := a.Add(&accs, &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{4}, Group: []uint32{1}, Groups: 2}); err != nil {
		t.Fatal(err)
	}
	if got, want := result(t, a, &accs), []string{"null 0", "c 1"}; !slices.Equal(got, want) {
		t.Errorf("partials: got %q, want %q", got, want)
	}
	if err := a.Add(&accs, &udf.Rows{Batch: b, Cols: []int{0}, Groups: 2}); err != nil {
		t.Fatal(err)
	}
	if got, want := result(t, a, &accs), []string{"null 0", "null 0"}; !slices.Equal(got, want) {
		t.Errorf("no records: got %q, want %q", got, want)
	}
}

// With an arena of 64 KiB records, answers or both do not fit, in other ways.
func TestVaryingIsSplitToFit(t *testing.T) {
	for _, c := range []struct {
		name                string
		rows, groups, bytes int // bytes of each text
	}{
		{"all fits", 100, 10, 10},
		{"records that need more than the arena", 3_000, 100, 50},
		{"answers that do not fit beside the records", 600, 200, 70},
		{"one group, more records than fit", 12_000, 1, 1},
		{"one group, an answer that does not fit beside the records", 1_400, 1, 20},
		{"many fresh accumulators", 1, 30_000, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := make([]string, c.rows)
			want := make([]string, c.groups)
			for i := range values {
				v := strings.Repeat(string(rune('a'+i%26)), c.bytes)
				values[i] = v
				want[i%c.groups] += v
			}
			a := start(t, "join")
			var accs udf.Accs
			if err := a.Add(&accs, all(texts(values...), c.groups)); err != nil {
				t.Fatal(err)
			}
			check := func(what string, times int) {
				t.Helper()
				got := result(t, a, &accs)
				for g, w := range want {
					w = strings.Repeat(w, times)
					w = fmt.Sprintf("%s %d", w, len(w))
					if w == " 0" {
						w = "null 0"
					}
					if got[g] != w {
						t.Fatalf("%s, group %d: got %.40q…, want %.40q…", what, g, got[g], w)
					}
				}
				if len(got) != len(want) {
					t.Fatalf("%s: %d rows, want %d", what, len(got), len(want))
				}
			}
			check("added", 1)
			if len(want[0]) < 15_000 { // else the arena is too small for it by design
				if err := a.Merge(&accs, &accs); err != nil {
					t.Fatal(err)
				}
				check("merged", 2)
			}
		})
	}
}

func TestWhatDoesNotFitAloneIsRefused(t *testing.T) {
	a := start(t, "join")
	var accs udf.Accs
	long := strings.Repeat("x", 40_000)
	for _, c := range []struct {
		name string
		err  error
		want udf.Failure
	}{
		{"a record", a.Add(&accs, all(texts("a", "b", strings.Repeat("x", 70_000)), 2)),
			udf.Failure{Op: 2, Message: "the record does not fit into the plug-in's arena of 65536 bytes"}},
		{"a record with its accumulator", a.Add(&accs, all(texts("a", long), 1)),
			udf.Failure{Op: 1, Message: "the record with its accumulator does not fit into the plug-in's arena of 65536 bytes"}},
		{"an accumulator of many records", a.Add(&accs, all(texts(long[:20_000], long[:20_000]), 1)),
			udf.Failure{Op: -1, Message: "the merged accumulator does not fit into the plug-in's arena of 65536 bytes"}},
		{"a pair of accumulators", a.Merge(accsOf("", "a", long), accsOf("", "b", long)),
			udf.Failure{Op: 2, Message: "a pair of accumulators does not fit into the plug-in's arena of 65536 bytes"}},
		{"a result", a.Result(accsOf("a", long), outputs(a)),
			udf.Failure{Op: 1, Message: "the result does not fit into the plug-in's arena of 65536 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Module = "plug"
			if got := failure(t, c.err); *got != c.want {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
		})
	}
}

func accsOf(values ...string) *udf.Accs {
	a := &udf.Accs{}
	a.Reset(0)
	for _, v := range values {
		a.Append([]byte(v))
	}
	return a
}

// What a lying guest of accumulators that vary in size may say.
func TestLies(t *testing.T) {
	const (
		used     = "  $f global.get at $f i32.sub $f i32.load 40 i32.sub i32.store 56\n  0"
		length   = "  $pos global.get at $pos i32.sub 4 i32.sub i32.store 0"
		textAt   = "$p global.get at $f i32.sub $f i32.load 40 i32.sub i32.store 0"
		textSize = "$p $a $g call length i32.store 4"
	)
	for _, c := range []struct {
		name  string
		edits []string
		want  string
	}{
		{"more output than there is", []string{used, "  $f 0x10000 i32.store 56\n  0"}, "out_used is 65536, the output area has "},
		{"accumulators are missing", []string{used, "  $f 8 i32.store 56\n  0"}, "1 accumulators are answered, it must be 2"},
		{"accumulators are left over", []string{used, "  $f global.get at $f i32.sub $f i32.load 40 i32.sub 4 i32.add i32.store 56\n  0"}, "4 bytes of output follow the last accumulator"},
		{"an accumulator ends outside", []string{length, "  $pos 0x1000 i32.store 0"}, "accumulator 0, 4096 bytes long, ends outside the used output"},
		{"an accumulator has no end", []string{length, "  $pos -1 i32.store 0"}, "accumulator 0 has 4294967295 bytes, at most 1048576 are allowed"},
		{"full after all of it", []string{used, "  $f 2 i32.store 52\n  2"}, "OUTPUT_FULL after 2 of 2 operations"},
		{"full after more than all", []string{used, "  $f -1 i32.store 52\n  2"}, "OUTPUT_FULL after 4294967295 of 2 operations"},
		{"a text outside the output", []string{textAt, "$p 0x7fffffff i32.store 0"}, "output column 0 has text outside the used output, 1 bytes at 2147483647 of 2"},
		{"a text longer than the output", []string{textSize, "$p 0x7fffffff i32.store 4"}, "output column 0 has text outside the used output, 2147483647 bytes at 0 of 2"},
		{"one text for two rows", []string{textAt, "$p 0 i32.store 0", textSize, "$p 2 i32.store 4"}, "output column 0 has text that overlaps with other text"},
		{"text that is not UTF-8", []string{"func put from:i32 len:i32\n", "func put from:i32 len:i32\n  $from 0xff i32.store8 0\n"}, "output column 0 has text that is not UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := start(t, "join", c.edits...)
			var accs udf.Accs
			err := a.Add(&accs, all(texts("a", "b"), 2))
			if err == nil {
				out := outputs(a)
				err = a.Result(accsOf("a", "b"), out)
				if out.Cols[0].Len() != 0 || out.Cols[1].Len() != 0 || len(out.Blob) != 0 {
					t.Error("rows of a failed result are left behind")
				}
			}
			f := failure(t, err)
			if !f.Trap || !strings.HasPrefix(f.Message, "protocol error: "+c.want) {
				t.Errorf("got %+v, want %q", *f, c.want)
			}
		})
	}
}

func TestBoolOutputsAreChecked(t *testing.T) {
	edits := []string{`{"name": "count", "type": "int64"}`, `{"name": "any", "type": "bool"}`,
		"$f $d i32.load 44 i32.add $i 8 i32.mul i32.add $a i64.load 8 i64.store 0", "$f $d i32.load 44 i32.add $i i32.add $a i64.load 8 i32.wrap_i64 i32.store8 0"}
	a := start(t, "sum", edits...)
	accs := create(t, a, 2)
	accs.Data[16+8] = 1
	if got, want := result(t, a, accs), []string{"null false", "0 true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	accs.Data[16+8] = 2
	want := udf.Failure{Op: 1, Trap: true, Module: "plug", Message: "protocol error: output column 1 holds 2 for a bool"}
	if got := failure(t, a.Result(accs, outputs(a))); *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}

// Laws of SPEC section 6 that the host relies on.
func TestLaws(t *testing.T) {
	t.Run("fixed", func(t *testing.T) {
		a := start(t, "sum")
		accs := create(t, a, 2)
		if err := a.Add(accs, all(ints(5, 6, 7), 2)); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(accs.Data)
		if err := a.Merge(accs, create(t, a, 2)); err != nil {
			t.Fatal(err)
		}
		result(t, a, accs)
		if !bytes.Equal(before, accs.Data) {
			t.Error("merging with fresh accumulators, or the result, changed something")
		}
	})
	t.Run("varying", func(t *testing.T) {
		a := start(t, "join")
		accs := accsOf("a", "")
		if err := a.Merge(accs, create(t, a, 2)); err != nil {
			t.Fatal(err)
		}
		result(t, a, accs)
		if got := string(accs.At(0)) + "|" + string(accs.At(1)); got != "a|" {
			t.Errorf("merging with fresh accumulators gave %q", got)
		}
	})
}
