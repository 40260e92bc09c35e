package wasm

import (
	"encoding/binary"
	"fmt"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// assigner is a guest's window assigner (SPEC section 3, frames of tm_assign).
type assigner struct {
	worker
	info  udf.AssignerInfo
	shown singles
}

var _ udf.Assigner = (*assigner)(nil)

// What SPEC.md allows and what the engine takes is one number: anything else does not compile.
var _ = [1]struct{}{}[abi.MaxWindows-udf.MaxWindows]

// Info implements udf.Assigner.
func (a *assigner) Info() udf.AssignerInfo { return a.info }

func (a *assigner) bind(d *abi.Assigner, with *job.Window, kinds []stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no window assigner")
	}
	a.info = udf.AssignerInfo{Name: a.name, Merges: d.Merges}
	if a.info.Inputs, err = a.shown.bind(d.Inputs, kinds); err != nil {
		return err
	}
	a.params, err = newParams(d.Params, with.Args)
	return err
}

// Assign implements udf.Assigner. Records go in as many frames as their size asks for.
func (a *assigner) Assign(rows *udf.Rows, out *udf.Assigned) error {
	a.shown.choose(a.info.Inputs, rows)
	return a.each(a.shown.call(guest.Assign, rows, "the record", "the windows of the record", func(base, n int, answer []byte) (int, error) {
		return a.take(base, n, answer, out)
	}))
}

// take takes the answers of the first n records of a frame, whose first is number base of
// the call.
func (a *assigner) take(base, n int, answer []byte, out *udf.Assigned) (int, error) {
	return eachEntry(n, answer, func(item int, what uint32, body []byte) error {
		switch {
		case what != 0:
			return fmt.Errorf("an entry is of kind %#x, and all that a window assigner answers is windows, which are 0", what)
		case len(body) != abi.WindowBytes:
			return fmt.Errorf("a window has %d bytes, it must have %d", len(body), abi.WindowBytes)
		}
		time := func(at int) stream.Time { return stream.Time(binary.LittleEndian.Uint64(body[at:])) }
		out.Windows = append(out.Windows, stream.Window{Start: time(0), End: time(8)})
		out.Of = append(out.Of, a.shown.indexes[base+item])
		return nil
	})
}
