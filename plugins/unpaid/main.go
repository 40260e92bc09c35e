// Command unpaid is a plug-in for a join of orders with payments: it tells what of an order
// a payment leaves open.
package main

import (
	"errors"
	"math"

	tidemark "tidemark/sdk/go"
)

var (
	due  = tidemark.Float64("due")
	paid = tidemark.Float64("paid")

	tolerance = tidemark.ParamFloat64("tolerance").Default(0)

	open   = tidemark.OutFloat64("open") // below 0: too much was paid
	waited = tidemark.OutInt64("waited_ms")
)

var errNegative = errors.New("paid is below 0")

func settle(p *tidemark.Pair) error {
	if paid.Of(p.Right()) < 0 {
		return errNegative
	}
	rest := due.Of(p.Left()) - paid.Of(p.Right())
	if math.Abs(rest) <= tolerance.Value() {
		return nil
	}
	w := p.Emit()
	open.Set(w, rest)
	ordered, timed := p.LeftTime()
	if at, also := p.RightTime(); timed && also {
		waited.Set(w, int64(at-ordered))
	}
	return nil
}

var plugin = tidemark.Pairs(tidemark.PairSpec{
	Name: "unpaid", Version: "1.0.0",
	Left: []tidemark.Input{due}, Right: []tidemark.Input{paid},
	Outputs: []tidemark.Output{open, waited},
	Params:  []tidemark.Param{tolerance},
}, settle)

func main() {}
