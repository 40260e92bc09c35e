package state_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// randomRows makes a batch with everything that rows may have.
func randomRows(r *rand.Rand, n int) *stream.Batch {
	b := &stream.Batch{}
	b.Reset([]stream.Kind{stream.Int64, stream.Float64, stream.Bool, stream.String, stream.Timestamp})
	b.Source, b.Input, b.Partial = stream.SourceID(r.IntN(1000)), uint8(r.IntN(256)), r.IntN(2) == 0
	tied, keyed := r.IntN(2) == 0, r.IntN(2) == 0
	text := func() stream.Str {
		s := fmt.Sprint("x", r.IntN(1000))
		b.Blob = append(b.Blob, s...)
		return stream.Str{Off: uint32(len(b.Blob) - len(s)), Len: uint32(len(s))}
	}
	for range n {
		for c := range b.Cols {
			switch col := &b.Cols[c]; {
			case r.IntN(4) == 0:
				col.AppendNull()
			case col.Kind == stream.Float64:
				col.AppendFloat(r.Float64())
			case col.Kind == stream.Bool:
				col.AppendBool(r.IntN(2) == 0)
			case col.Kind == stream.String:
				col.AppendStr(text())
			default:
				col.AppendInt(r.Int64())
			}
		}
		b.Raw, b.Pos, b.Split = append(b.Raw, text()), append(b.Pos, r.Int64()), append(b.Split, stream.SplitID(r.Uint32()))
		b.Time, b.WM, b.High = append(b.Time, stream.Time(r.Int64())), append(b.WM, stream.MinTime), append(b.High, stream.MaxTime)
		if tied {
			b.Tie = append(b.Tie, text())
		}
		if keyed {
			b.Key = append(b.Key, text())
			b.Hash = append(b.Hash, stream.KeyHash(b.Key[len(b.Key)-1].Bytes(b.Blob)))
		}
		b.N++
	}
	return b
}

// cells is all that rows say, from one on.
func cells(b *stream.Batch, first int) string {
	var out bytes.Buffer
	fmt.Fprintln(&out, b.N-first, b.Source, b.Input, b.Partial)
	for i := first; i < b.N; i++ {
		for c := range b.Cols {
			switch col := &b.Cols[c]; {
			case col.Null(i):
				fmt.Fprint(&out, col.Kind, " null ")
			case col.Kind == stream.Float64:
				fmt.Fprint(&out, col.Floats[i], " ")
			case col.Kind == stream.Bool:
				fmt.Fprint(&out, col.Bools[i], " ")
			case col.Kind == stream.String, col.Kind == stream.JSON, col.Kind == stream.Token:
				fmt.Fprintf(&out, "%q ", col.Strs[i].Bytes(b.Blob))
			default:
				fmt.Fprint(&out, col.Kind, col.Ints[i], " ")
			}
		}
		fmt.Fprintf(&out, "%d %d %d %d %d %q", b.Split[i], b.Pos[i], b.Time[i], b.WM[i], b.High[i], b.Raw[i].Bytes(b.Blob))
		if len(b.Tie) > 0 {
			fmt.Fprintf(&out, " tie %q", b.Tie[i].Bytes(b.Blob))
		}
		if len(b.Key) > 0 {
			fmt.Fprintf(&out, " key %q %x", b.Key[i].Bytes(b.Blob), b.Hash[i])
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

// Rows come back as they were, from any row on, and behind them what was written there.
func TestRowsComeBackAsTheyWere(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := r.IntN(20)
		b := randomRows(r, n)
		first := r.IntN(n + 1)
		want := cells(b, first)
		var w state.Writer
		w.Batch(b, first)
		w.U32(4711)
		if got := cells(b, first); got != want {
			t.Fatalf("seed %d: writing has changed the rows", seed)
		}
		in, got := state.NewReader(w.Buf), new(stream.Batch)
		in.Batch(got)
		if end := in.U32(); in.Err() != nil || end != 4711 || !in.Done() {
			t.Fatalf("seed %d: %v, %d behind the rows", seed, in.Err(), end)
		}
		if text := cells(got, 0); text != want {
			t.Fatalf("seed %d, from row %d of %d: got\n%s\nwant\n%s", seed, first, n, text, want)
		}
	}
}

// Damaged rows are an error, or other rows, and never more than they have bytes for.
func FuzzDamagedRows(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		var w state.Writer
		w.Batch(randomRows(r, 1+r.IntN(4)), 0)
		f.Add(w.Buf)
		f.Add(w.Buf[:r.IntN(len(w.Buf))])
		for range 20 {
			damaged := bytes.Clone(w.Buf)
			damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
			f.Add(damaged)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, b := state.NewReader(data), new(stream.Batch)
		in.Batch(b)
		if in.Err() != nil {
			return
		}
		if b.N > len(data) {
			t.Errorf("%d rows of %d bytes", b.N, len(data))
		}
		_ = cells(b, 0) // all of it can be read
		var w state.Writer
		w.Batch(b, 0)
		again, c := state.NewReader(w.Buf), new(stream.Batch)
		again.Batch(c)
		if again.Err() != nil || cells(c, 0) != cells(b, 0) {
			t.Errorf("what was read and written is other rows: %v", again.Err())
		}
	})
}
