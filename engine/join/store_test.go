package join

import (
	"fmt"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

type nobody struct{}

func (nobody) Pairs(*Rows) error                                               { return nil }
func (nobody) Late(*stream.Batch, int, uint8, stream.Time) error               { return nil }
func (nobody) Refused(*stream.Batch, int, *udf.Pairs, int, *udf.Failure) error { return nil }

// A join that runs for long holds what its bounds ask for and little more: neither the
// tables, nor the lists of a key, nor the keys may grow with the stream.
func TestWhatHasGoneIsGivenBack(t *testing.T) {
	const rows, batches, keep = 512, 60, 1000
	for _, row := range []struct {
		keys int // with many, no key comes twice
		turn int // batches of one side in a row: with 3 a side is empty at times
	}{{1, 1}, {100, 1}, {1 << 30, 1}, {1, 3}, {100, 3}, {1 << 30, 3}} {
		keys := row.keys
		t.Run(fmt.Sprintf("%d keys, %d batches a side", keys, row.turn), func(t *testing.T) {
			fields := []stream.Field{{Name: "n", Kind: stream.Int64}}
			j, err := NewInterval(IntervalConfig{Lower: -keep, Upper: keep, Key: fields, Pair: NewIdentity(nil, nil)}, nobody{})
			if err != nil {
				t.Fatal(err)
			}
			ts := stream.Time(0)
			for n := range batches {
				b := new(stream.Batch)
				b.Reset([]stream.Kind{stream.Int64})
				b.Input = uint8(n / row.turn % 2)
				for range rows {
					b.Cols[0].AppendInt(int64(ts) % int64(keys))
					b.Time, b.WM, b.Split, b.Pos = append(b.Time, ts), append(b.WM, ts-1), append(b.Split, 0), append(b.Pos, 0)
					b.N++
					ts++
				}
				b.Trailing = ts - 1
				b.SetKeys([]int{0})
				if err := j.Process(b); err != nil {
					t.Fatal(err)
				}
				if live := j.Buffered(); live > keep {
					t.Fatalf("%d records are kept, though only %d ms are", live, keep)
				}
				for s, st := range j.stores {
					if st.N > 2*keep+minDead+rows || st.N-st.dead != int(j.ledger[s].Open) {
						t.Fatalf("side %d: the table holds %d records, %d of them gone; %d are kept", s, st.N, st.dead, j.ledger[s].Open)
					}
				}
				if len(j.keys) > min(keep, keys) || len(j.queue) > 2*len(j.keys) {
					t.Fatalf("%d keys, %d in the queue", len(j.keys), len(j.queue))
				}
				for _, k := range j.keys {
					for s := range k.sides {
						if n := cap(k.sides[s].entries); n > 8*keep {
							t.Fatalf("a list has room for %d records", n)
						}
					}
				}
			}
			if j.stores[0].N == 0 && j.stores[1].N == 0 {
				t.Error("nothing is left, so that nothing was tested")
			}
		})
	}
}
