package exchange

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"tidemark/engine/stream"
)

// BenchmarkExchange is the way of a record from a sender's router to a receiver, in an ordered
// replay: from one sender to one receiver whole batches pass, otherwise rows are routed by key,
// and those of several senders merged. The copy of each batch, which the sender gives away, is counted.
func BenchmarkExchange(b *testing.B) {
	const rows = 1024
	for _, c := range []struct{ senders, receivers int }{{1, 1}, {1, 2}, {2, 1}, {2, 2}} {
		b.Run(fmt.Sprintf("%d to %d", c.senders, c.receivers), func(b *testing.B) {
			ctx := context.Background()
			pool := &Pool{}
			inboxes := make([]*Inbox, c.receivers)
			for i := range inboxes {
				inboxes[i] = NewInbox(Config{Inputs: make([]int, c.senders), Depth: 8, Rows: rows, Ordered: true, Pool: pool})
			}
			var tasks sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for s := range c.senders {
				like := newBatch()
				for i := range rows {
					addRow(like, fmt.Sprintf("k%07d", i*7919%10000), int64(i), 0, stream.SplitID(s))
				}
				tasks.Go(func() {
					router := NewRouter(s, []int{1}, 128, inboxes, pool, Straight)
					defer router.Close()
					for n := range b.N {
						batch := pool.Copy(like)
						for i := range batch.WM { // steps at every second row, as it does behind a source
							batch.WM[i] = stream.Time(n*rows + i&^1)
						}
						batch.Trailing, batch.Next = stream.Time((n+1)*rows), stream.SplitID(s)
						if n == b.N-1 {
							batch.Trailing, batch.Next = stream.MaxTime, stream.LastSplit
						}
						if err := router.Send(ctx, batch); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			got := make([]int, c.receivers)
			for i, in := range inboxes {
				tasks.Go(func() {
					defer in.End()
					for {
						batch, err := in.Next(ctx)
						if err != nil {
							b.Error(err)
						}
						if batch == nil {
							return
						}
						got[i] += batch.N
						pool.Put(batch)
					}
				})
			}
			tasks.Wait()
			all := 0
			for _, n := range got {
				all += n
			}
			if all != b.N*c.senders*rows {
				b.Errorf("%d records of %d", all, b.N*c.senders*rows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(all), "ns/record")
		})
	}
}
