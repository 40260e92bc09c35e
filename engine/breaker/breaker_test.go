package breaker_test

import (
	"reflect"
	"testing"

	"tidemark/engine/breaker"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

func failure(plugin string) *udf.Failure { return &udf.Failure{Module: plugin, Message: "unlucky"} }

func TestWhenAPlugInIsDisabled(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []stream.Time
		after int // which failure disables it; 0: none
	}{
		{"three at once", []stream.Time{5, 5, 5}, 3},
		{"the last is as late as it may be", []stream.Time{0, 500, 1000}, 3},
		{"the last is too late", []stream.Time{0, 500, 1001}, 0},
		{"the first has gone, and three are left", []stream.Time{0, 900, 1001, 1900}, 4},
		{"never three within the time", []stream.Time{0, 900, 1800, 2700, 3600}, 0},
		{"a time that goes back counts as the highest", []stream.Time{0, 2000, 100, 3000}, 4},
		{"no times: the number alone counts", []stream.Time{stream.MinTime, stream.MinTime, stream.MinTime}, 3},
		{"the first time there is", []stream.Time{stream.MinTime, stream.MinTime, 0, 1}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := breaker.New(breaker.Limit{Failures: 3, Within: 1000})
			for i, at := range c.times {
				b.Failed(7, at, failure("p"))
				if got, want := b.Bars(7, "p") != nil, c.after > 0 && i+1 >= c.after; got != want {
					t.Errorf("after failure %d: disabled %v, want %v", i+1, got, want)
				}
			}
		})
	}
}

func TestWhatIsDisabled(t *testing.T) {
	b := breaker.New(breaker.Limit{Failures: 2, Within: 60_000})
	for _, part := range []int{3, 4, 3} {
		b.Failed(part, 1000, failure("p"))
		b.Failed(part, 1000, failure("")) // a built-in function
	}
	for _, c := range []struct {
		part   int
		plugin string
		bars   bool
	}{{3, "p", true}, {4, "p", false}, {3, "q", false}, {5, "p", false}, {3, "", false}} {
		if f := b.Bars(c.part, c.plugin); (f != nil) != c.bars {
			t.Errorf("part %d, plug-in %q: %v", c.part, c.plugin, f)
		}
	}
	f := b.Bars(3, "q", "p")
	const reason = "it is disabled since 1970-01-01T00:00:01.000Z, after 2 failures within 1m; the last one: unlucky"
	if want := "plug-in p not called: " + reason; f.Error() != want {
		t.Errorf("got %s, want %s", f, want)
	}
	b.Failed(3, 9000, f)
	b.Failed(4, 500, failure("p")) // later, but the time stands at 1,000
	want := []breaker.Disabled{{Plugin: "p", Parts: 2, Since: 1000, Reason: reason, Aside: 1}}
	if got := b.Disabled(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var none *breaker.Breaker
	if none.Any() || none.Bars(1, "p") != nil || none.Disabled() != nil {
		t.Error("nothing is disabled without a limit")
	}
}

// A restored breaker goes on where the other one stood.
func TestSnapshotsOfABreaker(t *testing.T) {
	limit := breaker.Limit{Failures: 2, Within: 1000}
	a, b := breaker.New(limit), breaker.New(limit)
	for _, part := range []int{1, 2, 1} {
		a.Failed(part, 50, failure("p"))
	}
	a.Failed(1, 60, a.Bars(1, "p"))
	saved := a.Freeze()
	a.Failed(7, 60, failure("p")) // is not in what was saved
	for part := range 4 {
		var w state.Writer
		if some := saved(part, &w); some != (part == 1 || part == 2) {
			t.Errorf("part %d: anything is known: %v", part, some)
		}
		r := state.NewReader(w.Buf)
		if b.RestorePart(r, part); r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	for _, x := range []*breaker.Breaker{a, b} {
		x.Failed(2, 1050, failure("p"))
		if got := x.Disabled(); len(got) != 1 || got[0].Parts != 2 || got[0].Aside != 1 {
			t.Errorf("got %+v", got)
		}
	}
	for part := range 4 {
		var first, again state.Writer
		a.Freeze()(part, &first)
		if b.Freeze()(part, &again); string(first.Buf) != string(again.Buf) {
			t.Errorf("part %d differs", part)
		}
	}
}
