package expr

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// lines shows what comes out of a batch, as the names of the columns and a line a record.
func lines(t *testing.T, s *Step, b *stream.Batch, sel []uint32) []string {
	t.Helper()
	m := run(t, s, b, sel)
	info := s.Info()
	var cols []int
	for _, in := range info.Inputs {
		cols = append(cols, slices.IndexFunc(schema, func(f stream.Field) bool { return f.Name == in.Name }))
	}
	for range b.N {
		b.Split, b.Pos, b.Raw = append(b.Split, 0), append(b.Pos, 0), append(b.Raw, stream.Str{})
		b.Time, b.WM, b.High = append(b.Time, 0), append(b.WM, 0), append(b.High, 0)
	}
	var refused []string
	for _, f := range m.Refused {
		refused = append(refused, fmt.Sprintf("refused %d %s", f.Op, f.Message))
	}
	of := slices.Clone(m.Of)
	dst := new(stream.Batch)
	if err := m.Into(dst, b, &udf.Rows{Batch: b, Cols: cols, Sel: sel}, &info); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range info.Fields() {
		names = append(names, f.Name+":"+f.Kind.String())
	}
	out := []string{strings.Join(names, " ")}
	for i := range dst.N {
		line := fmt.Sprintf("%d:", of[i])
		for c := range dst.Cols {
			line += " " + text(&dst.Columns, c, i)
		}
		out = append(out, line)
	}
	return append(out, refused...)
}

func TestSteps(t *testing.T) {
	r := func(a any, s any) record {
		x := one
		x[0], x[5] = a, s
		return x
	}
	records := []record{r(int64(1), "one"), r(nil, "two"), r(int64(0), nil), r(int64(4), "four")}
	as := []Projected{{"a", "a"}}
	for _, c := range []struct {
		name string
		cfg  Config
		want []string
	}{
		{"a filter keeps what is true, not what is null", Config{Filter: "a > 0", Project: []Projected{{"a", "a"}, {"s", "s"}}},
			[]string{"a:int64 s:string", "0: 1 one", "3: 4 four"}},
		{"a filter that has no answer refuses the record", Config{Filter: "4 / a > 2", Project: as},
			[]string{"a:int64", "0: 1", "refused 2 filter: division by zero"}},
		{"fields are renamed, reordered and doubled", Config{Project: []Projected{{"text", "s"}, {"n", "a"}, {"m", "a"}}},
			[]string{"text:string n:int64 m:int64", "0: one 1 1", "1: two null null", "2: null 0 0", "3: four 4 4"}},
		{"derived columns stand behind the fields or in their place", Config{Derive: []Derived{{"big", "a > 1"}, {"s", "s + '!'"}, {"x", "1"}, {"t", "size(s)"}}, Filter: "a == 4"},
			[]string{"a:int64 b:int64 x:int64 y:float64 ok:bool s:string t:int64 user.id:int64 big:bool", "3: 4 -2 1 -0.5 true four! 4 42 true"}},
		{"all expressions see the record as it came", Config{Derive: []Derived{{"a", "b"}, {"b", "a"}}, Project: []Projected{{"a", "a"}, {"b", "b"}}},
			[]string{"a:int64 b:int64", "0: -2 1", "1: -2 null", "2: -2 0", "3: -2 4"}},
		{"a record that the filter drops is not computed", Config{Filter: "a != 0", Derive: []Derived{{"q", "8 / a"}}, Project: []Projected{{"q", "q"}}},
			[]string{"q:int64", "0: 8", "1: null", "3: 2"}},
		{"one column without an answer is enough", Config{Derive: []Derived{{"q", "8 / a"}, {"r", "a / (a - 1)"}, {"u", "s + '?'"}}, Project: []Projected{{"u", "u"}, {"r", "r"}, {"q", "q"}}},
			[]string{"u:string r:int64 q:int64", "1: two? null null", "3: four? 1 2", "refused 0 r: division by zero", "refused 2 q: division by zero"}},
		{"refusals of filter and columns are in order", Config{Filter: "4 / a > 0", Derive: []Derived{{"q", "8 / (a - 1)"}}, Project: []Projected{{"q", "q"}}},
			[]string{"q:int64", "3: 2", "refused 0 q: division by zero", "refused 2 filter: division by zero"}},
		{"a derived column under two names", Config{Derive: []Derived{{"q", "a + 1"}}, Filter: "a == 1", Project: []Projected{{"q1", "q"}, {"q2", "q"}}},
			[]string{"q1:int64 q2:int64", "0: 2 2"}},
	} {
		c.cfg.Schema = schema
		s, err := New(c.cfg)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for range 2 { // again, with the memory of the first time
			if got := lines(t, s, batchOf(records...), all(len(records))); !slices.Equal(got, c.want) {
				t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
			}
		}
	}
}

func TestProblemsOfAStepAreAllReported(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Filter: "a", Derive: []Derived{{"v", "q"}, {"w", "1 +"}}},
			"filter: must be true or false, is int64\nderive.v, column 1: there is no field or function q; fields: a, b, x, y, ok, s, t, user.id\n" +
				"derive.w, column 4: syntax error: mismatched input '<EOF>'"},
		{Config{Derive: []Derived{{"v", "1"}, {"v", "2"}}}, "derive.v: is there twice"},
		{Config{Derive: []Derived{{"v", "1"}, {"w", "2"}}, Project: []Projected{{"v", "v"}, {"v", "a"}, {"z", "nothing"}}},
			"project.v: is there twice\nproject.z: there is no field or derived column nothing\nderive.w: has no effect: project does not name it"},
		{Config{Project: []Projected{}}, "project: no column is left"},
	} {
		c.cfg.Schema = schema
		_, err := New(c.cfg)
		var ps Problems
		if fmt.Sprint(err) != c.want || !errors.As(err, &ps) || !errors.Is(err, fault.ErrUser) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Cut in any way, the records give the same: in calls, and in the chunks of a call.
func TestACallCanBeCut(t *testing.T) {
	s, err := New(Config{Schema: schema, Filter: "b / a != 3 && s != 'v7'", Derive: []Derived{{"q", "100 / (a + b)"}, {"u", "s + string(a)"}},
		Project: []Projected{{"u", "u"}, {"q", "q"}, {"x", "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	maybe := func(v any) any {
		if r.IntN(10) == 0 {
			return nil
		}
		return v
	}
	records := make([]record, 3000)
	for i := range records {
		records[i] = record{maybe(int64(r.IntN(9) - 4)), maybe(int64(r.IntN(9) - 4)), maybe(r.Float64()), nil, nil, maybe(fmt.Sprint("v", r.IntN(20))), nil, nil}
	}
	whole := lines(t, s, batchOf(records...), all(len(records)))[1:]
	slices.Sort(whole) // refusals stand behind
	for _, size := range []int{1, 7, 1000} {
		var parts []string
		for lo := 0; lo < len(records); lo += size {
			hi := min(lo+size, len(records))
			for _, line := range lines(t, s, batchOf(records[lo:hi]...), all(hi-lo))[1:] {
				var n int
				line = strings.Replace(line, "refused ", "refused:", 1)
				if _, err := fmt.Sscanf(strings.TrimPrefix(line, "refused:"), "%d", &n); err != nil {
					t.Fatal(err)
				}
				parts = append(parts, strings.Replace(strings.Replace(line, fmt.Sprint(n), fmt.Sprint(lo+n), 1), "refused:", "refused ", 1))
			}
		}
		slices.Sort(parts)
		if !slices.Equal(parts, whole) {
			t.Errorf("in calls of %d records: other results", size)
		}
	}
	// A selection of rows gives what those rows give.
	var odd []uint32
	for i := 1; i < len(records); i += 2 {
		odd = append(odd, uint32(i))
	}
	some := run(t, s, batchOf(records...), odd)
	full := run(t, s, batchOf(records...), all(len(records)))
	next := 0
	for i, of := range some.Of {
		for full.Of[next] != odd[of] {
			next++
		}
		for c := range some.Cols {
			if got, want := text(&some.Columns, c, i), text(&full.Columns, c, next); got != want {
				t.Fatalf("row %d of a selection: %s, want %s", odd[of], got, want)
			}
		}
	}
}
