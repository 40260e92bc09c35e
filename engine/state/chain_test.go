package state

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A list that is searched for each thing is what a Chain is measured by.
func TestChain(t *testing.T) {
	type thing struct {
		n     int
		place Link[thing]
	}
	r := rand.New(rand.NewPCG(1, 1))
	things := make([]thing, 20)
	known := NewChain(func(x *thing) *Link[thing] { return &x.place })
	var want []*thing // the oldest first
	for i := range things {
		things[i].n = i
	}
	for step := range 20_000 {
		x := &things[r.IntN(len(things))]
		want = slices.DeleteFunc(want, func(y *thing) bool { return y == x })
		if r.IntN(3) == 0 {
			known.Remove(x)
		} else {
			known.Touch(x)
			want = append(want, x)
		}
		if r.IntN(200) == 0 { // one after the other goes
			for len(want) > 0 && known.Oldest() == want[0] {
				known.Remove(want[0])
				want = want[1:]
			}
		}
		if got := known.Oldest(); len(want) == 0 && got != nil || len(want) > 0 && got != want[0] {
			t.Fatalf("step %d: got %+v, want the oldest of %d", step, got, len(want))
		}
		all := slices.Collect(known.All())
		slices.Reverse(all)
		if !slices.Equal(all, want) {
			t.Fatalf("step %d: %d things, not in the order of %d", step, len(all), len(want))
		}
	}
}
