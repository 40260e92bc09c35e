package laws

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/agg"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Every built-in function keeps the laws that its flags declare.
func TestBuiltinsKeepTheLaws(t *testing.T) {
	for _, name := range agg.Names() {
		f, _ := agg.Lookup(name)
		kinds := []stream.Kind{0}
		if len(f.Inputs) > 0 {
			kinds = f.Inputs[0].Kinds
		}
		for _, k := range kinds {
			t.Run(fmt.Sprintf("%s of %s", name, k), func(t *testing.T) {
				for seed := range uint64(5) {
					s := Aggregate{Open: func() (udf.Aggregate, error) { return agg.New(name, []stream.Kind{k}[:len(f.Inputs)]) }}
					r, err := s.Check(Options{Seed: seed, Records: 500})
					if err != nil {
						t.Fatal(err)
					}
					for _, l := range r.Laws {
						if l.Broken != nil {
							t.Errorf("seed %d: %s: %+v", seed, l.Name, *l.Broken)
						}
						if l.Judged == 0 {
							t.Errorf("seed %d: %s: nothing was judged", seed, l.Name)
						}
					}
				}
			})
		}
	}
}

// sum is a sum of int64 that can be made to break a law.
type sum struct {
	broken string
	calls  int64
}

func (s *sum) Info() udf.Info {
	return udf.Info{
		Inputs:  []udf.Input{{Name: "v", Kind: stream.Int64}},
		Outputs: []stream.Field{{Name: "sum", Kind: stream.Int64}},
		Width:   8, OrderInsensitive: true, Exact: true, Schema: 1,
	}
}

func get(b []byte) (v int64) {
	for i := range 8 {
		v |= int64(b[i]) << (8 * i)
	}
	return v
}

func put(b []byte, v int64) {
	for i := range 8 {
		b[i] = byte(v >> (8 * i))
	}
}

func (s *sum) Create(dst *udf.Accs, n int) error {
	dst.Reset(8)
	for range n {
		acc := make([]byte, 8)
		if s.broken == "identity" {
			put(acc, 1)
		}
		dst.Append(acc)
	}
	return nil
}

func (s *sum) Add(accs *udf.Accs, rows *udf.Rows) error {
	s.calls++
	for i, r := range rows.Sel {
		a, v := accs.At(int(rows.Group[i])), rows.Batch.Cols[rows.Cols[0]].Ints[r]
		switch {
		case s.broken == "order" && get(a) == 0:
			v *= 3 // the first record counts thrice
		case s.broken == "cut" && i == 0:
			v++ // a batch adds one
		case s.broken == "refuses" && v == 3:
			return &udf.Failure{Op: i, Message: "no threes"}
		case s.broken == "amnesia" && s.calls > 2:
			v++
		}
		put(a, get(a)+v)
	}
	return nil
}

func (s *sum) Merge(into, from *udf.Accs) error {
	for i := range into.N() {
		switch {
		case s.broken == "merge" && get(from.At(i)) > 0: // it forgets them
		case s.broken == "trap" && get(from.At(i)) > 0:
			return &udf.Failure{Op: i, Trap: true, Message: "no luck"}
		default:
			put(into.At(i), get(into.At(i))+get(from.At(i)))
		}
	}
	return nil
}

func (s *sum) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := range accs.N() {
		out.Cols[0].AppendInt(get(accs.At(i)))
		if s.broken == "result" {
			out.Cols[0].Ints[out.Cols[0].Len()-1] += s.calls % 2
			s.calls++
		}
	}
	return nil
}

func (s *sum) Close() error { return nil }

// checked gives the laws that are broken, by name.
func checked(t *testing.T, broken string, o Options) (*Report, map[string]*Broken) {
	t.Helper()
	r, err := Aggregate{Open: func() (udf.Aggregate, error) { return &sum{broken: broken}, nil }}.Check(o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*Broken{}
	for _, l := range r.Laws {
		if l.Broken != nil {
			out[l.Name] = l.Broken
		}
	}
	return r, out
}

func TestEachBrokenLawIsFound(t *testing.T) {
	for _, c := range []struct {
		broken, law string
		records     int // in the smallest input
	}{
		{"identity", "identity", 0},
		{"merge", "merge", 1},   // anything merged behind nothing
		{"trap", "merge", 1},    // likewise
		{"order", "order", 2},   // one record is in order
		{"cut", "cut", 2},       // one record is not cut
		{"result", "result", 0}, // the rows go up and down
		{"amnesia", "amnesia", 1},
	} {
		for seed := range uint64(3) {
			_, got := checked(t, c.broken, Options{Seed: seed, Records: 1000})
			b := got[c.law]
			if b == nil {
				t.Errorf("%s, seed %d: %s is not found; broken are %v", c.broken, seed, c.law, got)
			} else if len(b.Input) != c.records {
				t.Errorf("%s, seed %d: the smallest input has %d records, not %d: %+v", c.broken, seed, len(b.Input), c.records, *b)
			}
		}
	}
	if _, got := checked(t, "", Options{Records: 1000}); len(got) != 0 {
		t.Errorf("of a sum that is none: %v", got)
	}
}

func TestARefusedRecordIsNoFault(t *testing.T) {
	r, got := checked(t, "refuses", Options{Records: 1000})
	if len(got) != 0 || r.Refused == 0 || r.Taken == 0 || r.Trapped != 0 || r.RefusedMessage != "no threes" {
		t.Errorf("broken %v, report %+v", got, *r)
	}
}

// An author's record is used, also if nothing is generated.
func TestOwnRecords(t *testing.T) {
	r, got := checked(t, "merge", Options{Own: []Record{{Values: []Value{{Int: -4}}}, {Values: []Value{{Int: 77}}}}})
	if r.Taken != 2 || got["merge"] == nil || strings.Join(got["merge"].Input, " ") != "{v: 1}" {
		t.Errorf("taken %d, broken %v", r.Taken, got["merge"])
	}
	if _, got := checked(t, "merge", Options{Own: []Record{{Values: []Value{{Int: -4}}}}}); len(got) != 0 {
		t.Errorf("with nothing to forget: %v", got)
	}
}

func TestTheSeedDecidesAll(t *testing.T) {
	inputs := []udf.Input{{Kind: stream.Int64, Nullable: true}, {Kind: stream.Float64}, {Kind: stream.String}, {Kind: stream.Bool}, {Kind: stream.Timestamp}}
	text := func(seed uint64) string {
		d := dice(seed)
		return fmt.Sprint(d.generate(inputs, nil, 0, 0, 300))
	}
	if first := text(1); first != text(1) || first == text(2) {
		t.Error("records do not follow from the seed, or only from it")
	}
	d := dice(1)
	nulls, empty, long, negativeZero := false, false, false, false
	for _, s := range d.generate(inputs, nil, 0, 0, 3_000) {
		for _, r := range s.records {
			nulls = nulls || r.Values[0].Null
			empty, long = empty || r.Values[2].Text == "", long || len(r.Values[2].Text) > 1_000
			negativeZero = negativeZero || r.Values[1].Show(stream.Float64) == "-0"
			if r.Values[1].Null || r.Values[2].Null || r.Values[1].Float != r.Values[1].Float {
				t.Fatalf("a null where none is taken, or NaN: %+v", r)
			}
		}
	}
	if !nulls || !empty || !long || !negativeZero {
		t.Errorf("nulls %v, empty texts %v, long texts %v, -0 %v", nulls, empty, long, negativeZero)
	}
}

// twice is a function of single records that can be made to break a law.
type twice struct {
	broken string
	calls  int
}

func (m *twice) Info() udf.MapInfo {
	return udf.MapInfo{Inputs: []udf.Input{{Name: "v", Kind: stream.Int64}}, Outputs: []stream.Field{{Name: "w", Kind: stream.Int64}}}
}

func (m *twice) Call(rows *udf.Rows, out *udf.Emitted) error {
	m.calls++
	for i, r := range rows.Sel {
		v := 2 * rows.Batch.Cols[rows.Cols[0]].Ints[r]
		switch m.broken {
		case "cut":
			v += int64(len(rows.Sel) % 2)
		case "amnesia":
			v += int64(min(i, 1))
		case "repeat":
			v += int64(m.calls)
		}
		out.Cols[0].AppendInt(v)
		out.Of = append(out.Of, uint32(i))
	}
	return nil
}

func (m *twice) Close() error { return nil }

func TestBrokenFunctions(t *testing.T) {
	for _, c := range []struct {
		broken, law string
		records     int
	}{{"repeat", "repeat", 1}, {"cut", "cut", 2}, {"amnesia", "amnesia", 2}, {"", "", 0}} {
		f := Maps((&twice{}).Info(), func() (udf.Map, error) { return &twice{broken: c.broken}, nil })
		r, err := f.Check(Options{Seed: 1, Records: 300})
		if err != nil {
			t.Fatal(err)
		}
		if r.Broken() != (c.broken != "") {
			t.Errorf("%q: broken is %v", c.broken, r.Broken())
		}
		for _, l := range r.Laws {
			if l.Judged == 0 || l.Name == c.law && (l.Broken == nil || len(l.Broken.Input) != c.records) {
				t.Errorf("%s: %s has %d comparisons, %+v", c.broken, l.Name, l.Judged, l.Broken)
			}
		}
	}
}

// What is not the function's refusal ends the check.
func TestAnErrorEndsTheCheck(t *testing.T) {
	gone := errors.New("the machine is gone")
	opened := 0
	s := Aggregate{Open: func() (udf.Aggregate, error) {
		if opened++; opened > 3 {
			return nil, gone
		}
		return &sum{}, nil
	}}
	if _, err := s.Check(Options{Records: 100}); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

// lying declares more than it keeps.
type lying struct{ udf.Aggregate }

func (l lying) Info() udf.Info {
	i := l.Aggregate.Info()
	i.Exact, i.OrderInsensitive = true, true
	return i
}

// Flags are judged as they are declared: a sum of floats rounds, and the first value depends
// on the order.
func TestDeclaredFlagsAreJudged(t *testing.T) {
	for name, law := range map[string]string{"sum": "merge", "first": "order"} {
		for _, lies := range []bool{false, true} {
			r, err := Aggregate{Open: func() (udf.Aggregate, error) {
				a, err := agg.New(name, []stream.Kind{stream.Float64})
				if lies {
					a = lying{a}
				}
				return a, err
			}}.Check(Options{Seed: 2, Records: 1000})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, l := range r.Laws {
				found = found || l.Name == law && l.Broken != nil
				if l.Near > rounding || l.Near > 0 && !l.Rounded {
					t.Errorf("%s: %s is off by %g, rounded %v", name, l.Name, l.Near, l.Rounded)
				}
			}
			if found != lies || r.Broken() != lies {
				t.Errorf("%s, lying %v: %+v", name, lies, r.Laws)
			}
		}
	}
}
