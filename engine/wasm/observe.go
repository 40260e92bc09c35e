package wasm

import (
	"bytes"

	"tidemark/abi/guest"
)

// Call is one call of a guest, as the tools for authors show and judge it.
type Call struct {
	Func             guest.Func
	Records, Answers int // records, firings or pairs shown, and accumulators
	guest.Usage
	Printed string // to standard output and standard error, shortened in the middle
	// Touched: a call for results has changed the accumulators in the guest's memory,
	// which the law forbids (SPEC section 6). The host's own are another copy.
	Touched bool
}

// Observe has f told of every call that guests make from now on, on the goroutine that
// makes it. Without an observer calls are not looked at. Call it before the first function
// is made.
func (ps *Plugins) Observe(f func(Call)) { ps.observe = f }

// observed tells of the call that has just ended.
func (a *worker) observed(fn guest.Func, f *frame, before []byte) {
	c := Call{Func: fn, Records: int(f.h.Rows), Answers: int(f.h.Groups), Usage: a.inst.Usage(), Printed: a.inst.Printed()}
	if before != nil {
		after := a.inst.Arena()[f.h.Acc:]
		c.Touched = !bytes.Equal(before, after[:len(before)])
	}
	a.observe(c)
}

// accumulators copies those of a call that must not change them.
func (a *worker) accumulators(fn guest.Func, f *frame) []byte {
	if fn != guest.Result {
		return nil
	}
	return bytes.Clone(f.buf[f.h.Acc:f.h.OutCols]) // the output columns lie behind them
}
