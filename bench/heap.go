package main

import (
	"context"
	"fmt"
	"runtime"

	"tidemark/engine/agg"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
)

// What state costs: the operator of tumbling windows with as many open cells, one for each window
// and key, of 24 bytes of accumulator and 8 bytes of key. Beside those there is what finds them, what the
// operator knows of each, and the room that tables have to grow in. How much of that is empty depends on
// how many keys a window has: the worst of some is what counts.
const (
	heapCells  = 1_000_000
	heapSize   = stream.Time(10_000) // ms, of a window
	heapGroups = 128                 // key groups, the job file's default
)

// heapWindows are the numbers of windows that cells are spread over.
func heapWindows() []int { return []int{1, 3, 4, 5, 6} }

func measureHeap(context.Context, *settings) ([]Row, error) {
	worst := 0.0
	for _, windows := range heapWindows() {
		before := liveHeap()
		keys := heapCells / windows
		op, err := openCells(windows, keys)
		if err != nil {
			return nil, err
		}
		held, cells := liveHeap()-before, op.Panes()
		if want := int64(windows * keys); cells != want {
			return nil, fmt.Errorf("%d cells are open in %d windows, want %d", cells, windows, want)
		}
		if err := op.Close(); err != nil {
			return nil, err
		}
		worst = max(worst, float64(held)/float64(cells))
	}
	return []Row{{Group: "memory", Measure: "live heap of a window and key, 24-byte accumulator, 1 M cells", Unit: Bytes,
		Must: 100, Goal: 72, Measured: worst}}, nil
}

// liveHeap is what is left after a collection; the second one takes what finalizers held, and
// pools.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// openCells returns an operator that has seen a record for each window and key, the watermark behind
// all of them.
func openCells(windows, keys int) (window.Operator, error) {
	op, err := newCountSumMax(silent{})
	if err != nil {
		return nil, err
	}
	var b stream.Batch
	for from := 0; from < windows*keys; from += decodeRows {
		b.Reset([]stream.Kind{stream.String, stream.Float64})
		for i := from; i < min(from+decodeRows, windows*keys); i++ {
			key := stream.Str{Off: uint32(len(b.Blob)), Len: 8}
			b.Blob = append(b.Blob, 'k')
			b.Blob = appendPadded(b.Blob, uint64(i%keys), 7)
			b.Cols[0].AppendStr(key)
			b.Cols[1].AppendFloat(float64(i%maxQuarters) / 4)
			at := stream.Time(firstTime) + heapSize*stream.Time(i/keys)
			b.Time, b.WM, b.High = append(b.Time, at), append(b.WM, stream.MinTime), append(b.High, at)
			b.Split, b.Pos, b.Raw = append(b.Split, 0), append(b.Pos, int64(i)), append(b.Raw, stream.Str{})
			b.N++
		}
		b.SetKeys([]int{0})
		if err := op.Process(&b); err != nil {
			return nil, err
		}
	}
	return op, nil
}

// newCountSumMax makes the operator of a step with the aggregates of most workloads over lines
// with a key and an amount.
func newCountSumMax(out window.Output) (window.Operator, error) {
	windows, err := window.NewTumbling(heapSize, 0, false)
	if err != nil {
		return nil, err
	}
	cfg := window.Config{Windows: windows, Key: []stream.Field{{Name: "key", Kind: stream.String}}, Groups: heapGroups}
	width := 0
	for _, a := range countSumMax() {
		f := window.Function{Name: a.name}
		var kinds []stream.Kind
		if a.column != "" {
			f.Cols, kinds = []int{1}, []stream.Kind{stream.Float64}
		}
		if f.Agg, err = agg.New(a.function, kinds); err != nil {
			return nil, err
		}
		width += f.Agg.Info().Width
		cfg.Functions = append(cfg.Functions, f)
	}
	if width != 24 {
		return nil, fmt.Errorf("accumulators have %d bytes, want 24", width)
	}
	return window.NewAligned(cfg, out)
}

// silent takes no notice of what an operator gives.
type silent struct{}

func (silent) Rows(*result.Rows) error                                       { return nil }
func (silent) Late(*stream.Batch, int, stream.Window, stream.Time) error     { return nil }
func (silent) Refused(*stream.Batch, int, stream.Window, *udf.Failure) error { return nil }
func (silent) RefusedPane([]byte, stream.Window, *udf.Failure) error         { return nil }
