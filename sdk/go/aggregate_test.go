//go:build !wasip1

package tidemark

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
)

// every declares one column of each kind, nullable, and answers what the last record
// said: the frame's whole vocabulary.
type every struct {
	int   int64
	float float64
	at    Timestamp
	n     int64
	bool  bool
	null  [5]bool
}

var (
	inInt    = Int64("i").Nullable()
	inFloat  = Float64("f").Nullable()
	inBool   = Bool("b").Nullable()
	inString = String("s").Nullable()
	inTime   = Time("t").Nullable()

	outInt    = OutInt64("i")
	outFloat  = OutFloat64("f")
	outBool   = OutBool("b")
	outString = OutString("s")
	outTime   = OutTime("t")

	refuseText = ParamString("refuse").Default("never")
	factor     = ParamFloat64("factor").Default(1)
	limit      = ParamInt64("limit")
	strict     = ParamBool("strict").Default(false)
)

func (e *every) Add(r Row) error {
	if inString.Of(r) == refuseText.Value() {
		return errors.New("not this text")
	}
	e.n++
	e.null = [5]bool{inInt.Null(r), inFloat.Null(r), inBool.Null(r), inString.Null(r), inTime.Null(r)}
	e.int, e.float, e.bool, e.at = inInt.Of(r), inFloat.Of(r)*factor.Value(), inBool.Of(r), inTime.Of(r)
	return nil
}

func (e *every) Merge(o *every) error {
	if e.n += o.n; o.n > 0 {
		e.int, e.float, e.bool, e.at, e.null = o.int, o.float, o.bool, o.at, o.null
	}
	return nil
}

func (e *every) Result(w *Out) error {
	if !e.null[0] {
		outInt.Set(w, e.int)
	}
	if !e.null[1] {
		outFloat.Set(w, e.float)
	}
	if !e.null[2] {
		outBool.Set(w, e.bool)
	}
	if !e.null[3] {
		outString.Set(w, strings.Repeat("é", int(e.n)))
	}
	if !e.null[4] {
		outTime.Set(w, e.at)
	}
	return nil
}

var everySpec = Spec{
	Name: "every", Version: `1 "q"`,
	Inputs:  []Input{inInt, inFloat, inBool, inString, inTime},
	Outputs: []Output{outInt, outFloat, outBool, outString, outTime},
	Params:  []Param{refuseText, factor, limit, strict},
	Configure: func() error {
		if limit.Given() && limit.Value() < 0 {
			return errors.New("limit is below 0")
		}
		return nil
	},
}

var everything = FixedAggregate[every](everySpec)

// bag is an accumulator of varying size: all texts, in order.
type bag struct{ texts []byte }

func (b *bag) Reset() { b.texts = b.texts[:0] }
func (b *bag) Add(r Row) error {
	b.texts = append(b.texts, inString.Bytes(r)...)
	return nil
}
func (b *bag) Merge(o *bag) error                     { b.texts = append(b.texts, o.texts...); return nil }
func (b *bag) Result(w *Out) error                    { outString.SetBytes(w, b.texts); return nil }
func (b *bag) AppendBinary(to []byte) ([]byte, error) { return append(to, b.texts...), nil }
func (b *bag) UnmarshalBinary(from []byte) error      { b.texts = append(b.texts, from...); return nil }

var joined = VariableAggregate[bag](Spec{
	Name: "joined", Inputs: []Input{inString}, Outputs: []Output{outString}, Exact: true,
})

func newTwin(t *testing.T, a *Aggregate, args Values) *Twin {
	t.Helper()
	tw, err := NewTwin(a, args)
	if err != nil {
		t.Fatal(err)
	}
	return tw
}

func TestEveryKindPassesBothWays(t *testing.T) {
	noon := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name     string
		in, want Values
	}{
		{"values", Values{"i": -5, "f": 1.5, "b": true, "s": "x", "t": noon},
			Values{"i": int64(-5), "f": 3.0, "b": true, "s": "é", "t": Timestamp(1582977600000)}},
		{"zeros are values", Values{"i": 0, "f": 0, "b": false, "s": "", "t": Timestamp(0)},
			Values{"i": int64(0), "f": 0.0, "b": false, "s": "é", "t": Timestamp(0)}},
		{"nulls", Values{}, Values{}},
		{"some nulls", Values{"f": 2, "t": Timestamp(-1)}, Values{"f": 4.0, "t": Timestamp(-1)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tw := newTwin(t, everything, Values{"factor": 2})
			acc, err := tw.Add(nil, row.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tw.Result(acc)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestColumnsOfManyRows(t *testing.T) {
	var rows []Values
	for i := range 130 { // three words of validity
		r := Values{"s": "x"}
		if i%2 == 0 {
			r["i"] = i
		}
		rows = append(rows, r)
	}
	tw := newTwin(t, everything, nil)
	for n, want := range map[int]any{128: nil, 129: int64(128), 130: nil} {
		acc, err := tw.Add(nil, rows[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tw.Result(acc)
		if err != nil {
			t.Fatal(err)
		}
		if got["i"] != want || got["s"] != strings.Repeat("é", n) {
			t.Errorf("%d rows: got %v, want i %v", n, got, want)
		}
	}
}

func TestErrorsNameTheRecord(t *testing.T) {
	tw := newTwin(t, everything, Values{"refuse": "bad"})
	_, err := tw.Add(nil, Values{"s": "good"}, Values{"s": "good"}, Values{"s": "bad"}, Values{"s": "bad"})
	var r *Refusal
	if !errors.As(err, &r) || r.Op != 2 || r.Message != "not this text" {
		t.Errorf("got %v, want a refusal of record 2", err)
	}
}

func TestArguments(t *testing.T) {
	for _, row := range []struct {
		name string
		args Values
		want string
	}{
		{"none", nil, ""},
		{"all", Values{"refuse": "x", "factor": 2.5, "limit": 3, "strict": true}, ""},
		{"one that Configure refuses", Values{"limit": -1}, "limit is below 0"},
		{"one of another type", Values{"limit": "x"}, "argument record 0: limit is string, not int64"},
		{"one that nobody declared", Values{"limits": 1}, "argument record 0: limits is not declared"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := NewTwin(everything, row.args)
			if got := errorText(err); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	needy := ParamInt64("n").Required()
	a := FixedAggregate[every](Spec{Name: "needy", Outputs: []Output{outInt}, Params: []Param{needy}})
	if _, err := NewTwin(a, nil); errorText(err) != "param n is required" {
		t.Errorf("got %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestManifest(t *testing.T) {
	want := `{"name":"every","version":"1 \"q\"","sdk":"go","aggregate":{` +
		`"inputs":[{"name":"i","type":"int64","nullable":true},{"name":"f","type":"float64","nullable":true},` +
		`{"name":"b","type":"bool","nullable":true},{"name":"s","type":"string","nullable":true},` +
		`{"name":"t","type":"timestamp","nullable":true}],` +
		`"outputs":[{"name":"i","type":"int64"},{"name":"f","type":"float64"},{"name":"b","type":"bool"},` +
		`{"name":"s","type":"string"},{"name":"t","type":"timestamp"}],` +
		`"params":[{"name":"refuse","type":"string","default":"never"},{"name":"factor","type":"float64","default":1},` +
		`{"name":"limit","type":"int64"},{"name":"strict","type":"bool","default":false}],` +
		// three numbers of 8 bytes, a count, a bool and five more, rounded up to 8
		`"accumulator":{"width":40,"schema":1},"order_insensitive":false,"exact":false,"apply":true}}`
	got := everything.manifest()
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !json.Valid(got) {
		t.Error("not JSON")
	}
	for _, text := range []string{"", `a"b\c`, "\x00\n\x1f", "é\U0001F30A", "\u2028"} {
		var back string
		if err := json.Unmarshal([]byte(jsonString(text)), &back); err != nil || back != text {
			t.Errorf("%q became %q: %v", text, back, err)
		}
	}
}

func TestAnswersThatDoNotFitWaitForTheNextCall(t *testing.T) {
	tw := newTwin(t, joined, nil)
	rows := []Values{{"s": "aaaaa"}, {"s": "bb"}, {"s": "ccc"}, {"s": ""}}
	group := []uint32{0, 1, 2, 3}
	// Each answer is a length of 4 bytes and its text, padded to 4: 12, 8, 8, 4.
	for _, row := range []struct{ room, add, result int }{
		{4096, 4, 4}, {32, 4, 4}, {31, 3, 4}, {28, 3, 4}, {27, 2, 4}, {20, 2, 4}, {12, 1, 4}, {11, 0, 4},
		// Result rows hold the texts alone: 5, 2, 3, 0.
		{10, 0, 4}, {9, 0, 2}, {7, 0, 2}, {6, 0, 1}, {4, 0, 0}, {1, 0, 0},
	} {
		out, err := tw.call(opAdd, input{rows: rows, group: group, accs: make([]Acc, 4), room: row.room})
		if err != nil || out.done != row.add || len(out.accs) != row.add || (out.status == ok) != (row.add == 4) {
			t.Errorf("room %d: add completes %d (%v, %v), want %d", row.room, out.done, out.status, err, row.add)
		}
		accs := []Acc{Acc("aaaaa"), Acc("bb"), Acc("ccc"), Acc("")}
		out, err = tw.call(opResult, input{accs: accs, room: row.room})
		if err != nil || out.done != row.result {
			t.Errorf("room %d: result completes %d (%v, %v), want %d", row.room, out.done, out.status, err, row.result)
		}
		for i, got := range out.rows {
			if got["s"] != string(accs[i]) {
				t.Errorf("room %d: row %d is %v", row.room, i, got)
			}
		}
		out, err = tw.call(opMerge, input{accs: []Acc{Acc("a"), Acc("")}, from: []Acc{Acc("aaaa"), Acc("bb")}, room: row.room})
		wantMerge := 0
		if row.room >= 12 {
			wantMerge = 1
		}
		if row.room >= 20 {
			wantMerge = 2
		}
		if err != nil || out.done != wantMerge {
			t.Errorf("room %d: merge completes %d, want %d", row.room, out.done, wantMerge)
		}
		for i, want := range []string{"aaaaa", "bb"}[:len(out.accs)] {
			if string(out.accs[i]) != want {
				t.Errorf("room %d: merged %q, want %q", row.room, out.accs[i], want)
			}
		}
	}
}

func TestNothingSurvivesACallOutsideTheAccumulator(t *testing.T) {
	tw := newTwin(t, joined, nil)
	for _, texts := range [][]string{{"long text", "b"}, {"", "x"}, {"y"}} {
		var rows []Values
		var group []uint32
		for i, s := range texts {
			rows, group = append(rows, Values{"s": s}), append(group, uint32(i))
		}
		out, err := tw.call(opAdd, input{rows: rows, group: group, accs: make([]Acc, len(texts)+1)})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range append(texts, "") { // the last group has no record
			if string(out.accs[i]) != want {
				t.Errorf("accumulator %d of %q is %q", i, texts, out.accs[i])
			}
		}
	}
}

func TestLimitsOfVaryingSizes(t *testing.T) {
	tw := newTwin(t, joined, nil)
	mega := strings.Repeat("m", accBytes/2)
	half, err := tw.Add(nil, Values{"s": mega})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := tw.Merge(half, half)
	if err != nil || len(whole) != accBytes {
		t.Fatalf("1 MiB: %d bytes, %v", len(whole), err)
	}
	if got, err := tw.Result(whole); err != nil || got["s"] != mega+mega {
		t.Errorf("1 MiB of result: %v", err)
	}
	if _, err := tw.Merge(whole, Acc("x")); errorText(err) != "accumulator is longer than 1 MiB" {
		t.Errorf("got %v", err)
	}
	if _, err := tw.Merge(whole, Acc{}); err != nil {
		t.Errorf("two accumulators of 1 MiB and their answer must fit: %v", err)
	}
}

func TestLongMessagesAreCutBetweenCharacters(t *testing.T) {
	long := errors.New(strings.Repeat("é", 3000)) // 6,000 bytes
	tw := newTwin(t, FixedAggregate[every](Spec{
		Name: "no", Outputs: []Output{outInt}, Configure: func() error { return nil },
	}), nil)
	w := newWriter()
	f, good := frameOf(w, 5001)
	if !good {
		t.Fatal("no frame")
	}
	f.refuse(long)
	if got := string(f.out[:f.outUsed]); got != strings.Repeat("é", 2048) {
		t.Errorf("%d bytes", len(got))
	}
	f, _ = frameOf(w, 4095)
	f.refuse(long)
	if got := string(f.out[:f.outUsed]); got != strings.Repeat("é", 2047) {
		t.Errorf("%d bytes", len(got))
	}
	_ = tw
}

// frameOf lays out an empty frame with an output area.
func frameOf(w *writer, room int) (frame, bool) {
	w.h.out, w.h.outCap, w.h.size = headerBytes, uint32(room), uint32(headerBytes+room)
	return openFrame(0, arenaBytes)
}

func TestFramesThatCannotBeRead(t *testing.T) {
	good := func() header {
		return header{size: 8192, rows: 3, groups: 2, cols: 96, ncols: 1, group: 512, acc: 1024, from: 2048,
			outcols: 4096 - 64, noutcols: 1, out: 4096, outCap: 4096}
	}
	a := FixedAggregate[sum](Spec{Name: "one", Inputs: []Input{number}, Outputs: []Output{total}})
	lay := func(h header) {
		*(*header)(arenaAt(0)) = h
		*(*descriptor)(arenaAt(96)) = descriptor{kind: 1, data: 256}
		*(*descriptor)(arenaAt(4096 - 64)) = descriptor{kind: 1, validity: 3000, data: 3008}
		clear(bytesOfArena()[512:524])
	}
	a.ready = true
	for _, row := range []struct {
		name   string
		spoil  func(h *header)
		op     op
		status status
	}{
		{"a good one", func(h *header) {}, opAdd, ok},
		{"a good result", func(h *header) {}, opResult, ok},
		{"larger than the arena", func(h *header) { h.size = arenaBytes + 8 }, opAdd, badFrame},
		{"smaller than its header", func(h *header) { h.size = 88 }, opAdd, badFrame},
		{"an output area outside", func(h *header) { h.outCap = 4097 }, opAdd, badFrame},
		{"an offset that is not aligned", func(h *header) { h.acc = 1028 }, opAdd, badFrame},
		{"accumulators outside", func(h *header) { h.acc = 8192 - 24 }, opAdd, badFrame},
		{"groups outside", func(h *header) { h.group = 8184 }, opAdd, badFrame},
		{"rows that no arena holds", func(h *header) { h.rows = 1 << 30 }, opAdd, badFrame},
		{"groups that no arena holds", func(h *header) { h.groups = 1<<32 - 1 }, opMerge, badFrame},
		{"too many columns", func(h *header) { h.ncols = 2 }, opAdd, badFrame},
		{"a column of another kind", func(h *header) { h.cols = 4096 }, opAdd, badFrame},
		{"columns outside", func(h *header) { h.cols = 8184 }, opAdd, badFrame},
		{"no output columns", func(h *header) { h.noutcols = 0 }, opResult, badFrame},
		{"merge with accumulators outside", func(h *header) { h.from = 8184 }, opMerge, badFrame},
		{"arguments of two rows", func(h *header) { h.rows, h.ncols = 2, 0 }, opConfigure, badFrame},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := good()
			row.spoil(&h)
			lay(h)
			if got := a.call(row.op, 0, arenaBytes); got != row.status {
				t.Errorf("got %d, want %d", got, row.status)
			}
		})
	}
	lay(good())
	*(*uint32)(arenaAt(516)) = 2
	if got := a.call(opAdd, 0, arenaBytes); got != badFrame {
		t.Errorf("a group that does not exist: got %d", got)
	}
	a.ready = false
	lay(good())
	if got := a.call(opAdd, 0, arenaBytes); got != badFrame {
		t.Errorf("a call before configure: got %d", got)
	}
}

// pointed, wide and none are accumulators that cannot be of a fixed size.
type (
	pointed struct {
		every
		Deep struct{ names [2]string }
	}
	wide struct {
		every
		Bytes [4096]byte
	}
	none struct{}
)

func (*none) Add(Row) error     { return nil }
func (*none) Merge(*none) error { return nil }
func (*none) Result(*Out) error { return nil }

func (p *pointed) Add(Row) error      { p.Deep.names[0] = ""; return nil }
func (*pointed) Merge(*pointed) error { return nil }
func (*wide) Merge(*wide) error       { return nil }

func TestDeclarationsThatCannotBe(t *testing.T) {
	with := func(change func(s *Spec)) func() {
		return func() {
			s := everySpec
			change(&s)
			FixedAggregate[every](s)
		}
	}
	for _, row := range []struct {
		name    string
		declare func()
		want    string
	}{
		{"a pointer in the accumulator", func() { FixedAggregate[pointed](everySpec) }, "accumulator tidemark.pointed holds Deep names string"},
		{"an accumulator that is too wide", func() { FixedAggregate[wide](everySpec) }, "accumulator tidemark.wide has 4136 bytes; a fixed accumulator has 1 to 4096"},
		{"an empty accumulator", func() { FixedAggregate[none](everySpec) }, "accumulator tidemark.none has 0 bytes"},
		{"a name with capitals", with(func(s *Spec) { s.Name = "Every" }), "a name matches [a-z][a-z0-9_-]{0,62}"},
		{"a name that is too long", with(func(s *Spec) { s.Name = strings.Repeat("a", 64) }), "a name matches"},
		{"a long version", with(func(s *Spec) { s.Version = strings.Repeat("1", 65) }), "version is longer than 64 bytes"},
		{"no output", with(func(s *Spec) { s.Outputs = nil }), "no output column"},
		{"two inputs of one name", with(func(s *Spec) { s.Inputs = []Input{Int64("a"), Bool("a")} }), `input "a" is declared twice`},
		{"an output with a dash", with(func(s *Spec) { s.Outputs = []Output{OutBool("a-b")} }), `output "a-b": a name matches [a-z][a-z0-9_]{0,62}`},
		{"a param that is required and has a default", with(func(s *Spec) { s.Params = []Param{ParamBool("p").Required().Default(true)} }), `param "p" is required and has a default`},
		{"too many inputs", with(func(s *Spec) { s.Inputs = make([]Input, 65) }), "more than 64 inputs"},
		{"a negative schema", with(func(s *Spec) { s.Schema = -1 }), "schema counts from 1"},
		{"a default that is no number", func() { ParamFloat64("p").Default(inf()) }, "a default must be finite, is +Inf"},
		{"a long default", with(func(s *Spec) { s.Params = []Param{ParamString("p").Default(strings.Repeat("x", 4097))} }), "a default of more than 4096 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			defer func() {
				got, _ := recover().(string)
				if !strings.Contains(got, row.want) {
					t.Errorf("got %q, want it to say %q", got, row.want)
				}
			}()
			row.declare()
		})
	}
}

func inf() float64 {
	zero := 0.0
	return 1 / zero
}

func TestPlainTypesHaveNoPointers(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[every](), reflect.TypeFor[[3][2]uint16](), reflect.TypeFor[complex128](), reflect.TypeFor[Timestamp]()} {
		if got := pointerIn(typ); got != "" {
			t.Errorf("%v holds %s", typ, got)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[[]int](), reflect.TypeFor[map[int]int](),
		reflect.TypeFor[func()](), reflect.TypeFor[any](), reflect.TypeFor[chan int](), reflect.TypeFor[uintptr](), reflect.TypeFor[[1]*int]()} {
		if got := pointerIn(typ); got == "" {
			t.Errorf("%v holds none", typ)
		}
	}
}
