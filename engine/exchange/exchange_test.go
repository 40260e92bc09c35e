package exchange

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/engine/stream"
)

var kinds = []stream.Kind{stream.Int64, stream.String}

// addRow appends a row with a key and a number that tells it from all others.
func addRow(b *stream.Batch, key string, id int64, wm stream.Time, split stream.SplitID) {
	b.Cols[0].AppendInt(id)
	b.Cols[1].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(key))})
	b.Blob = append(b.Blob, key...)
	b.Time = append(b.Time, 0)
	b.WM = append(b.WM, wm)
	b.High = append(b.High, 0)
	b.Split = append(b.Split, split)
	b.Pos = append(b.Pos, id)
	b.Raw = append(b.Raw, stream.Str{})
	b.N++
}

func newBatch() *stream.Batch {
	b := new(stream.Batch)
	b.Reset(kinds)
	return b
}

// Any number of senders and receivers over the smallest queues: every receiver gets
// the rows of its keys in order of (watermark, split, sender's order), nothing is lost
// or doubled, nobody waits for ever, and no trailing watermark runs ahead of a row.
func TestOrderedReplayIsAFunctionOfTheRows(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		senders, receivers, depth, rows := 1+r.IntN(4), 1+r.IntN(4), 1+r.IntN(2), 1+r.IntN(5)
		t.Run(fmt.Sprintf("seed %d: %d to %d, depth %d, %d rows a batch", seed, senders, receivers, depth, rows), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			pool := &Pool{}
			inboxes := make([]*Inbox, receivers)
			for i := range inboxes {
				inboxes[i] = NewInbox(Config{Inputs: make([]int, senders), Depth: depth, Rows: rows, Ordered: true, Pool: pool})
			}
			var wg sync.WaitGroup
			sent := make([]int, receivers)
			var mu sync.Mutex
			for s := range senders {
				n, seed := r.IntN(60), r.Uint64()
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, 1))
					router := NewRouter(s, []int{1}, 8, inboxes, pool, Straight)
					defer router.Close()
					wm := stream.MinTime
					b := newBatch()
					send := func(end bool) {
						b.Trailing, b.Next = wm, stream.SplitID(s)
						if end {
							b.Trailing, b.Next = stream.MaxTime, stream.LastSplit
						}
						if err := router.Send(ctx, b); err != nil {
							t.Error(err)
						}
						b = newBatch()
					}
					for i := range n {
						key := fmt.Sprint(r.IntN(10))
						mu.Lock()
						sent[stream.Subtask(stream.KeyGroup(stream.KeyHash([]byte(key)), 8), receivers, 8)]++
						mu.Unlock()
						addRow(b, key, int64(i), wm, stream.SplitID(s))
						if r.IntN(2) == 0 {
							wm = max(wm, 0) + stream.Time(r.IntN(4)) // splits often stand at equal watermarks
						}
						if b.N == 1+r.IntN(3) || r.IntN(4) == 0 {
							send(false)
						}
					}
					send(true)
				})
			}
			got := make([]int, receivers)
			for i, in := range inboxes {
				wg.Go(func() {
					defer in.End()
					last, trailing := place{wm: stream.MinTime}, stream.MinTime
					next := make([]int64, senders)
					for {
						b, err := in.Next(ctx)
						if err != nil {
							t.Errorf("receiver %d: %v", i, err)
							return
						}
						if b == nil {
							break
						}
						for n := range b.N {
							p := place{wm: b.WM[n], split: b.Split[n]}
							if p.before(last) {
								t.Errorf("receiver %d: %v after %v", i, p, last)
							}
							if b.WM[n] < trailing {
								t.Errorf("receiver %d: a row at %d behind a trailing watermark of %d", i, b.WM[n], trailing)
							}
							if id := b.Cols[0].Ints[n]; id < next[p.split] {
								t.Errorf("receiver %d: row %d of sender %d after row %d", i, id, p.split, next[p.split]-1)
							} else {
								next[p.split] = id + 1
							}
							last = p
							got[i]++
						}
						if b.Trailing < trailing {
							t.Errorf("receiver %d: trailing watermark went from %d to %d", i, trailing, b.Trailing)
						}
						trailing = b.Trailing
						pool.Put(b)
					}
					if trailing != stream.MaxTime {
						t.Errorf("receiver %d ended at %d", i, trailing)
					}
				})
			}
			wg.Wait()
			for i := range got {
				if got[i] != sent[i] {
					t.Errorf("receiver %d got %d rows of %d", i, got[i], sent[i])
				}
			}
		})
	}
}

func TestByArrivalWatermarksGoThroughTheValve(t *testing.T) {
	ctx := t.Context()
	in := NewInbox(Config{Inputs: []int{0, 0}, Depth: 4, Rows: 10, Pool: &Pool{}})
	send := func(sender int, wm, trailing stream.Time) {
		b := newBatch()
		addRow(b, "a", 1, wm, stream.SplitID(sender))
		b.Trailing = trailing
		if err := in.Send(ctx, sender, b); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(row, trailing stream.Time) {
		t.Helper()
		b, err := in.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b.N != 1 || b.WM[0] != row || b.Trailing != trailing {
			t.Errorf("got %d rows at %v, trailing %d; want one at %d, trailing %d", b.N, b.WM, b.Trailing, row, trailing)
		}
	}
	send(0, stream.MinTime, 10)
	expect(stream.MinTime, stream.MinTime) // sender 1 has not spoken (S14)
	send(1, 3, 4)
	expect(3, 4)
	send(1, 4, 20)
	expect(4, 10)
	idle := newBatch()
	idle.Trailing, idle.Status = 10, stream.BecameIdle
	if err := in.Send(ctx, 0, idle); err != nil { // time moves without a row (S15)
		t.Fatal(err)
	}
	b, err := in.Next(ctx)
	if err != nil || b.N != 0 || b.Trailing != 20 {
		t.Errorf("after idle: %v, %v", b, err)
	}
	in.Close(0)
	in.Close(1)
	if b, err := in.Next(ctx); b != nil || err != nil {
		t.Errorf("after the end: %v, %v", b, err)
	}
}

func TestAFullQueueSlowsItsSenderAndAStopFreesIt(t *testing.T) {
	in := NewInbox(Config{Inputs: []int{0}, Depth: 1, Rows: 10, Ordered: true, Pool: &Pool{}})
	ctx, cancel := context.WithCancel(t.Context())
	full := func() error {
		b := newBatch()
		addRow(b, "a", 1, 0, 0)
		return in.Send(ctx, 0, b)
	}
	if err := full(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- full() }()
	if _, err := in.Next(ctx); err != nil { // makes room
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	go func() { done <- full() }()
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestMailIsAnsweredBetweenBatchesAndAfterTheEnd(t *testing.T) {
	in := NewInbox(Config{Inputs: []int{0}, Depth: 1, Rows: 10, Ordered: true, Pool: &Pool{}})
	answered := 0
	in.Post(func() { answered++ })
	in.Close(0)
	if b, err := in.Next(t.Context()); b != nil || err != nil {
		t.Fatal(b, err)
	}
	in.Post(func() { answered++ })
	in.End()
	in.Post(func() { answered++ })
	if answered != 3 {
		t.Errorf("%d of 3 messages answered", answered)
	}
}

// Two inputs may be of one source and have columns of their own: rows of both never meet
// in one batch, and each batch tells its input.
func TestABatchHasTheRowsOfOneInput(t *testing.T) {
	pool := &Pool{}
	in := NewInbox(Config{Inputs: []int{0, 1}, Separate: true, Depth: 4, Rows: 10, Ordered: true, Pool: pool})
	for sender, ids := range [][]int64{{1, 3}, {2, 4}} { // by watermark they take turns
		b := newBatch()
		for _, id := range ids {
			addRow(b, "k", id, stream.Time(id), 0)
		}
		b.Trailing, b.Next = stream.MaxTime, stream.LastSplit
		if err := in.Send(t.Context(), sender, b); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for b := in.Poll(); b != nil; b = in.Poll() {
		for i := range b.N {
			got = append(got, fmt.Sprintf("%d of input %d, %d a batch", b.Pos[i], b.Input, b.N))
		}
	}
	want := []string{"1 of input 0, 1 a batch", "2 of input 1, 1 a batch", "3 of input 0, 1 a batch", "4 of input 1, 1 a batch"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// The first of two senders has filled its queue with rows that come behind those of the
// second, which sends nothing more: it waits, until there is room for all.
func TestNobodyWaitsForRoomThatIsWidened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := NewInbox(Config{Inputs: []int{0, 0}, Depth: 1, Rows: 10, Ordered: true, Pool: &Pool{}})
		sent := 0
		go func() {
			for i := range 4 {
				b := newBatch()
				addRow(b, "k", int64(i), 100, 0)
				b.Trailing = 100
				if err := in.Send(t.Context(), 0, b); err != nil {
					t.Error(err)
				}
				sent++
			}
		}()
		synctest.Wait()
		if b := in.Poll(); sent != 1 || b != nil {
			t.Fatalf("%d batches are sent, %v has come", sent, b)
		}
		in.Widen()
		synctest.Wait()
		if sent != 4 {
			t.Errorf("%d batches are sent", sent)
		}
		if b := in.Poll(); b != nil {
			t.Errorf("%d rows came before those that may yet come", b.N)
		}
		end := newBatch()
		end.Trailing, end.Next = stream.MaxTime, stream.LastSplit
		if err := in.Send(t.Context(), 1, end); err != nil {
			t.Error(err)
		}
		n := 0
		for b := in.Poll(); b != nil; b = in.Poll() {
			n += b.N
		}
		if n != 4 {
			t.Errorf("%d rows", n)
		}
	})
}
