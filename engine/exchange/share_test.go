package exchange

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"tidemark/engine/stream"
)

var allKinds = []stream.Kind{stream.Int64, stream.Float64, stream.Bool, stream.String, stream.Timestamp}

// randomBatch has n rows of all kinds with nulls among them, records of their own bytes,
// and, if tied, places like those of a step's rows.
func randomBatch(r *rand.Rand, n int, tied bool) *stream.Batch {
	b := &stream.Batch{}
	b.Reset(allKinds)
	text := func() stream.Str {
		s := fmt.Sprintf("text-%d", r.IntN(1000))
		b.Blob = append(b.Blob, s...)
		return stream.Str{Off: uint32(len(b.Blob) - len(s)), Len: uint32(len(s))}
	}
	for i := range n {
		for c := range b.Cols {
			if col := &b.Cols[c]; r.IntN(4) == 0 && i%7 > 2 {
				col.AppendNull()
			} else {
				switch col.Kind {
				case stream.Float64:
					col.AppendFloat(r.Float64())
				case stream.Bool:
					col.AppendBool(r.IntN(2) == 0)
				case stream.String:
					col.AppendStr(text())
				default:
					col.AppendInt(r.Int64())
				}
			}
		}
		b.Raw = append(b.Raw, text())
		b.Pos, b.Split = append(b.Pos, int64(i)), append(b.Split, stream.SplitID(r.IntN(3)))
		b.Time, b.WM, b.High = append(b.Time, stream.Time(r.Int64())), append(b.WM, stream.Time(i)), append(b.High, stream.Time(r.Int64()))
		if tied {
			b.Tie = append(b.Tie, text())
		}
		b.N++
	}
	b.Source, b.Trailing, b.Next, b.NextPos = 3, 99, 2, 77
	return b
}

// shown is all that rows of a batch say.
func shown(b *stream.Batch) string {
	var out bytes.Buffer
	fmt.Fprintln(&out, b.N, b.Source, b.Input, b.Trailing, b.Status, b.Next, b.NextPos, b.Partial, len(b.Tie))
	for i := range b.N {
		fmt.Fprintln(&out, b.Split[i], b.Pos[i], string(b.Raw[i].Bytes(b.Blob)), b.Time[i], b.WM[i], b.High[i])
		for c := range b.Cols {
			switch col := &b.Cols[c]; {
			case col.Null(i):
				fmt.Fprint(&out, " null")
			case col.Kind == stream.Float64:
				fmt.Fprint(&out, " ", col.Floats[i])
			case col.Kind == stream.Bool:
				fmt.Fprint(&out, " ", col.Bools[i])
			case col.Kind == stream.String:
				fmt.Fprint(&out, " ", string(col.Strs[i].Bytes(b.Blob)))
			default:
				fmt.Fprint(&out, " ", col.Ints[i])
			}
		}
		if len(b.Tie) > 0 {
			fmt.Fprint(&out, " ", string(b.Tie[i].Bytes(b.Blob)))
		}
		if len(b.Key) > 0 {
			fmt.Fprint(&out, " ", string(b.Key[i].Bytes(b.Blob)), b.Hash[i])
		}
	}
	return out.String()
}

// A share has the rows that row by row copies have, whatever memory it is made in, and
// nothing that its owner appends is seen by others.
func TestASharesRowsAreThoseOfTheWhole(t *testing.T) {
	for seed := uint64(1); seed <= 50; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		pool := &Pool{}
		for range 4 { // later ones are made of the memory of earlier ones
			whole := randomBatch(r, 1+r.IntN(80), r.IntN(2) == 0)
			whole.SetKeys([]int{r.IntN(len(allKinds)), 3}[:1+r.IntN(2)])
			var rows [3][]uint32
			for i := range whole.N {
				to := r.IntN(3)
				rows[to] = append(rows[to], uint32(i))
			}
			var shares, want [3]*stream.Batch
			for i := range shares {
				shares[i] = pool.Share(whole, rows[i])
				want[i] = &stream.Batch{}
				want[i].Reset(allKinds)
				want[i].Follow(whole)
				for _, row := range rows[i] {
					want[i].AppendRow(whole, int(row))
				}
			}
			for i := range shares {
				if len(rows[i]) == 0 {
					shares[i].Tie = nil // nor has the copy any
				}
				shares[i].Blob = append(shares[i].Blob, "more"...)
			}
			for i := range shares {
				if got, want := shown(shares[i]), shown(want[i]); got != want {
					t.Fatalf("seed %d: share %d is\n%swant\n%s", seed, i, got, want)
				}
			}
			for i := range shares {
				pool.Put(shares[i])
			}
			if back := pool.Get(nil); back != whole {
				t.Fatalf("seed %d: behind its last share the whole is not free", seed)
			}
		}
	}
}

// Each whole comes back once, behind the last of its shares, whoever has that: a batch that
// was given out while another still reads it, or twice, is found by the race detector and
// by what stands in it.
func TestAWholeIsFreeBehindItsLastShare(t *testing.T) {
	const receivers, batches = 3, 400
	pool := &Pool{}
	inboxes := make([]*Inbox, receivers)
	for i := range inboxes {
		inboxes[i] = NewInbox(Config{Inputs: []int{0}, Depth: 4, Rows: 64, Ordered: true, Pool: pool})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	seen := make([]int, receivers)
	for i, in := range inboxes {
		wg.Go(func() {
			for {
				b, err := in.Next(ctx)
				if b == nil || err != nil {
					return
				}
				for row := range b.N {
					if got, want := string(b.Cols[1].Strs[row].Bytes(b.Blob)), fmt.Sprintf("key-%d", b.Cols[0].Ints[row]); got != want {
						t.Errorf("row %s of a batch that is %s", got, want)
					}
				}
				seen[i] += b.N
				pool.Put(b)
			}
		})
	}
	router := NewRouter(0, []int{1}, 8, inboxes, pool, Straight)
	id := int64(0)
	for n := range batches {
		b := pool.Get(newBatch())
		for range n % 9 { // some have no rows
			addRow(b, fmt.Sprintf("key-%d", id), id, stream.Time(n), 0)
			id++
		}
		b.Trailing = stream.Time(n)
		if err := router.Send(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	router.Close()
	wg.Wait()
	if sum := seen[0] + seen[1] + seen[2]; int64(sum) != id {
		t.Errorf("%d rows of %d arrived", sum, id)
	}
}

// BenchmarkRouter sends batches like those of workload W1, of 1,024 records of 134 bytes,
// to so many receivers.
func BenchmarkRouter(b *testing.B) {
	for _, receivers := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("%d receivers", receivers), func(b *testing.B) {
			pool := &Pool{}
			inboxes := make([]*Inbox, receivers)
			for i := range inboxes {
				inboxes[i] = NewInbox(Config{Inputs: []int{0}, Depth: 8, Rows: 1024, Ordered: true, Pool: pool})
			}
			router := NewRouter(0, []int{0}, 128, inboxes, pool, Straight)
			const rows = 1024
			like := &stream.Batch{}
			like.Reset([]stream.Kind{stream.String, stream.Float64})
			for b.Loop() {
				b.StopTimer()
				batch := pool.Get(like)
				for i := range rows {
					at := uint32(len(batch.Blob))
					batch.Blob = fmt.Appendf(batch.Blob, "%-126sk%07d", "", i*7919%10_000)
					batch.Raw = append(batch.Raw, stream.Str{Off: at, Len: 134})
					batch.Cols[0].AppendStr(stream.Str{Off: at + 126, Len: 8})
					batch.Cols[1].AppendFloat(1)
					batch.Pos, batch.Split = append(batch.Pos, int64(i)), append(batch.Split, 0)
					batch.Time, batch.WM, batch.High = append(batch.Time, 0), append(batch.WM, 0), append(batch.High, 0)
					batch.N++
				}
				b.StartTimer()
				if err := router.Send(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				for _, in := range inboxes {
					pool.Put(in.Poll())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
