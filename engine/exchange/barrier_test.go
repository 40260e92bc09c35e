package exchange

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// cutTest drives an inbox by chance: senders send rows, barriers and their end, and the
// receiver takes what is there.
type cutTest struct {
	*testing.T
	*rand.Rand
	in      *Inbox
	ordered bool
	next    []int64            // by sender: number of the next row
	wm      []stream.Time      // by sender
	asked   []uint64           // by sender: its last barrier
	ended   []bool             // by sender
	sent    []int64            // all rows
	again   [][]*stream.Batch  // by sender: copies of the batches with them
	before  map[uint64][]int64 // by checkpoint: rows that were sent before its barriers
	skipped map[uint64]bool    // checkpoints that some sender was never asked for

	taken   []int64
	cuts    map[uint64][]int64 // by checkpoint: rows taken before it
	flights map[uint64]*Flight
}

func (c *cutTest) row(s int) *stream.Batch {
	b := newBatch()
	for range 1 + c.IntN(3) {
		c.wm[s] += stream.Time(c.IntN(3))
		id := int64(s)*1000 + c.next[s]
		c.next[s]++
		addRow(b, fmt.Sprint("k", c.IntN(3)), id, c.wm[s], stream.SplitID(s))
		c.sent = append(c.sent, id)
	}
	b.Trailing, b.Next, b.NextPos = c.wm[s], stream.SplitID(s), int64(s)*1000+c.next[s]
	b.SetKeys([]int{1})
	return b
}

// ids are the numbers of a batch's rows.
func ids(b *stream.Batch) (out []int64) {
	for i := range b.N {
		out = append(out, b.Cols[0].Ints[i])
	}
	return out
}

func copyOf(b *stream.Batch) *stream.Batch { return (&Pool{}).Copy(b) }

func (c *cutTest) own(rows []int64, s int) (out []int64) {
	for _, r := range rows {
		if r/1000 == int64(s) {
			out = append(out, r)
		}
	}
	return out
}

// send has a sender do something.
func (c *cutTest) send(s int, last uint64) {
	switch {
	case c.ended[s]:
	case c.IntN(4) == 0 && c.asked[s] < last:
		id := c.asked[s] + 1
		if id < last && c.IntN(8) == 0 { // it was never asked for that: the checkpoint was given up
			c.skipped[id] = true
			id++
		}
		c.asked[s] = id
		c.before[id] = append(c.before[id], c.own(c.sent, s)...)
		b := newBatch()
		b.Barrier = id
		if !c.in.offer(s, []*stream.Batch{b}) {
			c.Fatal("a barrier has waited for room")
		}
	case c.IntN(25) == 0:
		c.end(s, last)
	default:
		n, wm, sent := c.next[s], c.wm[s], len(c.sent)
		b := c.row(s)
		twin := copyOf(b)
		if !c.in.offer(s, []*stream.Batch{b}) {
			c.next[s], c.wm[s], c.sent = n, wm, c.sent[:sent]
			return
		}
		c.again[s] = append(c.again[s], twin)
	}
}

// end has a sender end, which then is behind all barriers.
func (c *cutTest) end(s int, last uint64) {
	if c.ended[s] {
		return
	}
	b := newBatch()
	b.Trailing, b.Next = stream.MaxTime, stream.LastSplit
	if !c.in.offer(s, []*stream.Batch{b}) {
		return
	}
	c.ended[s] = true
	c.in.Close(s)
	for id := c.asked[s] + 1; id <= last; id++ {
		c.before[id] = append(c.before[id], c.own(c.sent, s)...)
	}
}

func (c *cutTest) take() {
	b := c.in.Poll()
	switch {
	case b == nil:
	case b.Barrier > 0:
		c.cuts[b.Barrier] = slices.Clone(c.taken)
		c.flights[b.Barrier] = c.in.Flight()
	default:
		c.taken = append(c.taken, ids(b)...)
	}
}

func sorted(rows []int64) []int64 {
	rows = slices.Clone(rows)
	slices.Sort(rows)
	return rows
}

// What was taken before a barrier, and what was under way to it, is what its senders had sent
// before theirs: with any number of barriers at once, also of checkpoints that were given up
// and that some senders know nothing of, and with senders that end before or behind theirs.
// The rows behind a restore come in the order in which they would have come.
func TestACutIsWhatWasSentBeforeTheBarriers(t *testing.T) {
	const last = 6 // checkpoints
	cuts, behind := 0, 0
	for seed := range uint64(400) {
		for _, ordered := range []bool{false, true} {
			r := rand.New(rand.NewPCG(seed, 7))
			senders := 1 + r.IntN(3)
			c := &cutTest{T: t, Rand: r, ordered: ordered, next: make([]int64, senders), wm: make([]stream.Time, senders), asked: make([]uint64, senders), ended: make([]bool, senders), again: make([][]*stream.Batch, senders),
				before: map[uint64][]int64{}, skipped: map[uint64]bool{}, cuts: map[uint64][]int64{}, flights: map[uint64]*Flight{},
				in: NewInbox(Config{Inputs: make([]int, senders), Depth: 1 + r.IntN(3), Rows: 1 + r.IntN(4), Ordered: ordered, Pool: &Pool{}})}
			for range 200 {
				c.send(r.IntN(senders), last)
				for range r.IntN(3) {
					c.take()
				}
			}
			for len(c.sent) != len(c.taken) || slices.Contains(c.ended, false) {
				for s := range senders {
					c.end(s, last)
				}
				before := len(c.taken)
				for range 4 {
					c.take()
				}
				if !slices.Contains(c.ended, false) && before == len(c.taken) && len(c.sent) != len(c.taken) {
					t.Fatalf("seed %d, ordered %v: %d rows of %d came", seed, ordered, len(c.taken), len(c.sent))
				}
			}
			if got := sorted(c.taken); !slices.Equal(got, sorted(c.sent)) {
				t.Fatalf("seed %d, ordered %v: got %v, sent %v", seed, ordered, got, c.sent)
			}
			if len(c.in.flights) > 0 {
				t.Errorf("seed %d: %d cuts still gather rows when all senders have ended", seed, len(c.in.flights))
			}
			for id, rows := range c.cuts {
				if c.skipped[id] { // it was given up
					continue
				}
				cuts++
				var under []Flying
				all := slices.Clone(rows)
				if f := c.flights[id]; f != nil {
					<-f.Done
					r := state.NewReader(f.Rows.Buf)
					under = ReadFlight(r)
					if err := r.Err(); err != nil {
						t.Fatal(err)
					}
					for _, x := range under {
						all = append(all, ids(x.Rows)...)
					}
				}
				if got, want := sorted(all), sorted(c.before[id]); !slices.Equal(got, want) {
					t.Fatalf("seed %d, ordered %v: the cut of checkpoint %d has %v, sent before its barriers were %v", seed, ordered, id, got, want)
				}
				if ordered {
					behind += c.resume(seed, id, under)
				}
			}
		}
	}
	t.Logf("%d cuts, %d rows behind restores", cuts, behind)
	if cuts < 1000 || behind < 1000 {
		t.Errorf("only %d cuts, %d rows behind restores", cuts, behind)
	}
}

// resume goes on in a new inbox from a cut: what was under way, and what the senders send
// behind it, come in the order that they had.
func (c *cutTest) resume(seed, id uint64, under []Flying) int {
	in := NewInbox(Config{Inputs: make([]int, len(c.next)), Depth: 1 << 20, Rows: 3, Ordered: true, Pool: &Pool{}})
	in.Resume(under, func(uint64) bool { return true })
	done := map[int64]bool{}
	for _, n := range c.before[id] {
		done[n] = true
	}
	want := c.taken[len(c.cuts[id]):]
	for s := range c.next {
		for _, b := range c.again[s] {
			if !done[b.Cols[0].Ints[0]] {
				in.offer(s, []*stream.Batch{copyOf(b)})
			}
		}
		b := newBatch()
		b.Trailing, b.Next = stream.MaxTime, stream.LastSplit
		in.offer(s, []*stream.Batch{b})
		in.Close(s)
	}
	var got []int64
	for b := in.Poll(); b != nil; b = in.Poll() {
		got = append(got, ids(b)...)
	}
	if !slices.Equal(got, want) {
		c.Fatalf("seed %d: behind checkpoint %d came %v, without a restore %v", seed, id, got, want)
	}
	return len(got)
}

// A queue of what was under way goes when it is empty, while senders send (with -race).
func TestWhatWasUnderWayGoesWhileSendersSend(t *testing.T) {
	in := NewInbox(Config{Inputs: make([]int, 2), Depth: 1, Rows: 1, Ordered: true, Pool: &Pool{}})
	b := newBatch()
	addRow(b, "k", 0, stream.MinTime, 0)
	b.SetKeys([]int{1})
	in.Resume([]Flying{{0, b}}, func(uint64) bool { return true })
	const each = 100
	for s := range 2 {
		go func() {
			for i := range each {
				b := newBatch()
				addRow(b, "k", int64(i), stream.Time(i), stream.SplitID(s))
				b.Trailing, b.Next, b.NextPos = stream.Time(i), stream.SplitID(s), int64(i+1)
				if err := in.Send(t.Context(), s, b); err != nil {
					t.Error(err)
				}
			}
			b := newBatch()
			b.Trailing, b.Next = stream.MaxTime, stream.LastSplit
			if err := in.Send(t.Context(), s, b); err != nil {
				t.Error(err)
			}
			in.Close(s)
		}()
	}
	n := 0
	for {
		b, err := in.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		n += b.N
	}
	if n != 2*each+1 {
		t.Errorf("%d rows of %d came", n, 2*each+1)
	}
}
