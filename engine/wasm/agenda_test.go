package wasm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/abi/guest"
	"tidemark/engine/job"
	rows "tidemark/engine/result"
	"tidemark/engine/stream"
	builtin "tidemark/engine/trigger"
	"tidemark/engine/window"
	"tidemark/internal/wasmtest"
)

// written keeps the rows of an operator as text.
type written struct {
	window.Output
	lines []string
}

func (w *written) Rows(r *rows.Rows) error {
	for i := range r.N {
		w.lines = append(w.lines, fmt.Sprintf("%s %v %v r%d: %v %v", r.EncodedKey[i], r.Window[i], r.Kind[i], r.Revision[i], r.Values[0].Cols[0].Ints[i], r.Values[0].Cols[1].Floats[i]))
	}
	return nil
}

// A batch in which a plug-in decides when windows fire, and another one adds up, takes two
// calls, one of each, however often windows fire in it (E4, E6): in every language. The rows
// are those of records that come one by one.
func TestABatchTakesTwoCalls(t *testing.T) {
	tiles, err := window.NewTumbling(1<<40, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	const batches, size = 4, 500
	r := rand.New(rand.NewPCG(11, 1))
	var records [][2]int64
	for range batches * size {
		records = append(records, [2]int64{min(int64(r.IntN(40)), int64(r.IntN(40))), int64(r.IntN(1000))})
	}
	var want []string
	for _, lang := range append([]string{"go"}, wasmtest.Languages()...) {
		for _, each := range []int{1, size} {
			calls := map[guest.Func]int{}
			open := func(name string) (*Plugins, *job.Plugin) {
				ps := host(t, map[string][]byte{"plug": moduleIn(t, lang, name)})
				ps.Observe(func(c Call) { calls[c.Func]++ })
				p := &job.Plugin{Name: "plug"}
				if _, err := ps.Describe(p); err != nil {
					t.Fatal(err)
				}
				return ps, p
			}
			ps, p := open("count_or_timeout")
			decides, err := ps.Trigger(t.Context(), p, &job.Trigger{Plugin: "plug", Args: []job.Arg{number("n", 3), number("after_ms", 1<<50), truth("by_the_clock", false)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			ps, p = open("stats")
			sums, err := ps.Aggregate(t.Context(), p, &job.Aggregate{Plugin: "plug"}, []stream.Kind{stream.Float64})
			if err != nil {
				t.Fatal(err)
			}
			out := &written{}
			op, err := window.NewGeneral(window.GeneralConfig{Assigner: tiles, Trigger: builtin.NewUser(decides, nil), GapCol: -1, ValueCol: -1,
				Key: []stream.Field{{Name: "k", Kind: stream.Int64}}, Functions: []window.Function{{Name: "s", Agg: sums, Cols: []int{1}}}}, out)
			if err != nil {
				t.Fatal(err)
			}
			clear(calls) // what starting took
			for part := range slices.Chunk(records, each) {
				b := &stream.Batch{}
				b.Reset([]stream.Kind{stream.Int64, stream.Float64})
				for _, rec := range part {
					b.Cols[0].AppendInt(rec[0])
					b.Cols[1].AppendFloat(float64(rec[1]) / 8)
					b.Time, b.WM, b.High = append(b.Time, 5), append(b.WM, stream.MinTime), append(b.High, 5)
					b.Split, b.Pos, b.Raw = append(b.Split, 0), append(b.Pos, 0), append(b.Raw, stream.Str{})
					b.N++
				}
				b.Trailing = stream.MinTime
				b.SetKeys([]int{0})
				if err := op.Process(b); err != nil {
					t.Fatal(err)
				}
			}
			if err := op.Close(); err != nil {
				t.Fatal(err)
			}
			if each == size && (len(calls) != 2 || calls[guest.Trigger] != batches || calls[guest.Apply] != batches) {
				t.Errorf("%s: calls %v for %d batches, want one of tm_trigger and one of tm_aggregate_apply for each", lang, calls, batches)
			}
			if len(want) == 0 {
				want = out.lines // record by record, in Go
			} else if !slices.Equal(out.lines, want) {
				t.Errorf("%s, batches of %d: %d rows are not the %d that come record by record", lang, each, len(out.lines), len(want))
			}
		}
	}
	if len(want) < batches*size/4 {
		t.Errorf("%d rows are too few to show anything", len(want))
	}
}
