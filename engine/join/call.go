package join

import (
	"errors"
	"fmt"
	"math"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Caller calls a pair function for many pairs at once and finds out which pair is to
// blame where it fails.
type Caller struct {
	fn   udf.Pair
	info udf.PairInfo
	bars func(pair int) *udf.Failure // why a pair is not shown; nil: all are
}

// NewCaller makes a caller of fn, which it does not close.
func NewCaller(fn udf.Pair) Caller { return Caller{fn: fn, info: fn.Info()} }

// Call appends the rows of all pairs to out, Of counted from the first pair of in. A
// call that fails is cut at the pair that failed, or in the middle where that is unknown,
// until one for a single pair fails; only that condemns a pair, and what broke an
// instance is tried once more on a fresh one (E8). refused hears of condemned pairs, and
// what it returns ends the call.
func (c *Caller) Call(in *udf.Pairs, out *udf.Emitted, refused func(pair int, f *udf.Failure) error) error {
	return c.call(in, 0, in.N(), out, refused)
}

// call shows the function the pairs from lo to hi, but for those that are barred by now.
func (c *Caller) call(in *udf.Pairs, lo, hi int, out *udf.Emitted, refused func(int, *udf.Failure) error) error {
	if c.bars == nil {
		return c.show(in, lo, hi, out, refused)
	}
	for lo < hi {
		end := lo
		var barred *udf.Failure
		for end < hi && barred == nil {
			if barred = c.bars(end); barred == nil {
				end++
			}
		}
		if err := c.show(in, lo, end, out, refused); err != nil {
			return err
		}
		if lo = end; barred == nil {
			break
		}
		if err := refused(lo, barred); err != nil {
			return err
		}
		lo++
	}
	return nil
}

func (c *Caller) show(in *udf.Pairs, lo, hi int, out *udf.Emitted, refused func(int, *udf.Failure) error) error {
	if lo == hi {
		return nil
	}
	f, err := c.try(in, lo, hi, out)
	if err != nil || f == nil {
		return err
	}
	if hi-lo == 1 {
		if f.Trap {
			if f, err = c.try(in, lo, hi, out); err != nil || f == nil {
				return err
			}
		}
		return refused(lo, f)
	}
	cuts := []int{lo, lo + (hi-lo)/2, hi}
	if at := lo + f.Op; f.Op >= 0 && at < hi {
		cuts = []int{lo, at, at + 1, hi}
	}
	for i := range cuts[1:] {
		if err := c.call(in, cuts[i], cuts[i+1], out, refused); err != nil {
			return err
		}
	}
	return nil
}

// try makes one call. A failure leaves out as it was.
func (c *Caller) try(in *udf.Pairs, lo, hi int, out *udf.Emitted) (*udf.Failure, error) {
	rows, blob := out.N, len(out.Blob)
	part := in.Slice(lo, hi)
	err := c.fn.Call(&part, out)
	if err == nil {
		out.N = len(out.Of)
		err = finite(c.info.Outputs, out, rows)
	}
	if err != nil {
		out.Truncate(rows, blob)
		var f *udf.Failure
		if errors.As(err, &f) {
			return f, nil
		}
		return nil, fmt.Errorf("pair function: %w", err)
	}
	for i := rows; i < out.N; i++ {
		out.Of[i] += uint32(lo)
	}
	return nil, nil
}

// finite refuses results that are not numbers: none leaves the engine.
func finite(outputs []stream.Field, out *udf.Emitted, from int) error {
	for n, f := range outputs {
		if f.Kind != stream.Float64 {
			continue
		}
		for i, v := range out.Cols[n].Floats[from:] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return &udf.Failure{Op: int(out.Of[from+i]), Message: fmt.Sprintf("result %s is %v, which is not a number that can be written", f.Name, v)}
			}
		}
	}
	return nil
}
