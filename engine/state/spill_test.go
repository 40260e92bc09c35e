package state

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/engine/stream"
)

// A list that is searched for each thing is what Recency is measured by.
func TestRecency(t *testing.T) {
	type thing struct {
		n     int
		place Asked[thing]
	}
	r := rand.New(rand.NewPCG(1, 1))
	things := make([]thing, 20)
	var known Recency[thing]
	var want []*thing // the oldest first
	for i := range things {
		things[i].n = i
	}
	for step := range 20_000 {
		x := &things[r.IntN(len(things))]
		want = slices.DeleteFunc(want, func(y *thing) bool { return y == x })
		if r.IntN(3) == 0 {
			known.Remove(&x.place)
		} else {
			known.Touch(x, &x.place)
			want = append(want, x)
		}
		if r.IntN(200) == 0 { // one after the other goes
			for len(want) > 0 && known.Oldest() == want[0] {
				known.Remove(&want[0].place)
				want = want[1:]
			}
		}
		if got := known.Oldest(); len(want) == 0 && got != nil || len(want) > 0 && got != want[0] {
			t.Fatalf("step %d: got %+v, want the oldest of %d", step, got, len(want))
		}
	}
}

func TestNamesComeInOrderOfTimes(t *testing.T) {
	times := []stream.Time{stream.MinTime, -1 << 40, -256, -1, 0, 1, 255, 256, 1 << 40, stream.MaxTime}
	var last []byte
	for _, at := range times {
		name := AppendTime(nil, at)
		if TimeIn(name) != at {
			t.Errorf("%d is read as %d", at, TimeIn(name))
		}
		if bytes.Compare(last, name) >= 0 {
			t.Errorf("the name of %d does not come behind the one before", at)
		}
		last = name
	}
}

func TestBehindAPrefix(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{{"a", "b"}, {"k\x00\x01", "k\x00\x02"}, {"k\x00\xff", "k\x01"}, {"k\xff\xff", "l"}} {
		got := string(Behind([]byte(c.prefix)))
		if got != c.want || got <= c.prefix+"\xff\xff\xff" {
			t.Errorf("behind %q is %q, want %q", c.prefix, got, c.want)
		}
	}
}
