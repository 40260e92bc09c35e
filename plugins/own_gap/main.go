// Command own_gap is a window assigner for sessions whose gap stands in each record: a
// record keeps its session open for gap_ms behind its own time, or for as long as the
// parameter says where the record does not.
package main

import (
	"errors"
	"math"

	tidemark "tidemark/sdk/go"
)

var (
	gap = tidemark.Int64("gap_ms").Nullable()

	usual = tidemark.ParamInt64("gap_ms").Default(60_000)

	errGap = errors.New("gap_ms must be at least 1")
)

func assign(a *tidemark.Assigned) error {
	ms := usual.Value()
	if !gap.Null(a.Row()) {
		ms = gap.Of(a.Row())
	}
	if ms < 1 {
		return errGap
	}
	end := a.Time() + tidemark.Timestamp(ms)
	if end < a.Time() { // beyond the end of time
		end = math.MaxInt64
	}
	a.Window(a.Time(), end)
	return nil
}

var plugin = tidemark.Windows(tidemark.AssignerSpec{
	Name: "own_gap", Version: "1.0.0",
	Inputs: []tidemark.Input{gap},
	Params: []tidemark.Param{usual},
	Merges: true,
	Configure: func() error {
		if usual.Value() < 1 {
			return errGap
		}
		return nil
	},
}, assign)

func main() {}
