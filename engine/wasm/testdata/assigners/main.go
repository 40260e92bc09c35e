// Command assigners are built-in assigners of windows that stay apart as a plug-in, for the
// tests of hosts: with a slide of the size they tumble. A record whose gap is 13 is refused,
// one of 14 ends the instance, one of 15 gives a window that has no length, and one of 16
// more windows than there may be, if the arguments say so.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	gap = tidemark.Int64("gap_ms").Nullable()

	size   = tidemark.ParamInt64("size").Required()
	slide  = tidemark.ParamInt64("slide").Required()
	offset = tidemark.ParamInt64("offset")
	moody  = tidemark.ParamBool("moody")

	errLuck = errors.New("unlucky")
	errSize = errors.New("size and slide must be above 0")
)

func assign(a *tidemark.Assigned) error {
	if moody.Value() && !gap.Null(a.Row()) {
		switch gap.Of(a.Row()) {
		case 13:
			a.Window(0, 1)
			return errLuck
		case 14:
			panic("out of luck")
		case 15:
			a.Window(a.Time(), a.Time())
			return nil
		case 16:
			for i := range tidemark.Timestamp(1001) {
				a.Window(i, i+1)
			}
			return nil
		}
	}
	at, every := int64(a.Time()), slide.Value()
	into := (at - offset.Value()) % every
	if into < 0 {
		into += every
	}
	for start := at - into; start > at-size.Value(); start -= every {
		a.Window(tidemark.Timestamp(start), tidemark.Timestamp(start+size.Value()))
	}
	return nil
}

var plugin = tidemark.Windows(tidemark.AssignerSpec{
	Name: "assigners", Version: "1.0.0",
	Inputs: []tidemark.Input{gap},
	Params: []tidemark.Param{size, slide, offset, moody},
	Configure: func() error {
		if size.Value() < 1 || slide.Value() < 1 {
			return errSize
		}
		return nil
	},
}, assign)

func main() {}
