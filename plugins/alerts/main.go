// Command alerts is a plug-in that looks at the results of an aggregate: it tells when a
// key has had a count of limit or more in several windows in a row, with every further
// window of the run, and in a side output when the run is over.
//
// A window that a late record corrects is not looked at again. A window without records
// never fires, so a run also ends where the next window that does is not the next one; it
// has been told of by then, or not at all.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	count = tidemark.Int64("count")

	limit = tidemark.ParamInt64("limit").Default(10)
	after = tidemark.ParamInt64("after").Default(3)

	windows = tidemark.OutInt64("windows")
	total   = tidemark.OutInt64("total")
	since   = tidemark.OutTime("since")

	over     = tidemark.OutTime("over")
	lasted   = tidemark.OutInt64("lasted_ms")
	calm     = tidemark.Side("calm", lasted, over)
	state    = tidemark.FixedState[run]()
	errLimit = errors.New("limit and after must be above 0")
)

// run is what the function keeps of a key: the windows in a row with limit or more.
type run struct {
	windows, total int64
	since, end     tidemark.Timestamp // of the first window, and of the last one
}

func alert(f *tidemark.Firing) error {
	if f.Revision() > 0 {
		return nil
	}
	r, _ := state.Get(f)
	if r.windows > 0 && r.end != f.Start() {
		r = finish(f, r, r.end)
	}
	n := count.Of(f.Row())
	if n < limit.Value() {
		if r.windows > 0 {
			finish(f, r, f.Start())
		}
		state.Clear(f)
		return nil
	}
	if r.windows == 0 {
		r.since = f.Start()
	}
	r.windows, r.total, r.end = r.windows+1, r.total+n, f.End()
	state.Set(f, r)
	if r.windows >= after.Value() {
		w := f.Emit()
		windows.Set(w, r.windows)
		total.Set(w, r.total)
		since.Set(w, r.since)
	}
	return nil
}

// finish tells that a run is over, if there was word of it.
func finish(f *tidemark.Firing, r run, at tidemark.Timestamp) run {
	if r.windows >= after.Value() {
		w := calm.Emit(f)
		lasted.Set(w, int64(at-r.since))
		over.Set(w, at)
	}
	return run{}
}

var plugin = tidemark.Process(tidemark.ProcessSpec{
	Name: "alerts", Version: "1.0.0",
	Inputs:   []tidemark.Input{count},
	Outputs:  []tidemark.Output{windows, total, since},
	Side:     []*tidemark.SideOutput{calm},
	Params:   []tidemark.Param{limit, after},
	KeyState: state,
	Configure: func() error {
		if limit.Value() <= 0 || after.Value() <= 0 {
			return errLimit
		}
		return nil
	},
}, alert)

func main() {}
