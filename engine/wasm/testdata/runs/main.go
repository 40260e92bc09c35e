// Command runs is an aggregate with accumulators of fixed size whose result is long: the
// last text, written out as often as there were records.
package main

import (
	"errors"
	"strings"

	tidemark "tidemark/sdk/go"
)

var (
	size = tidemark.Int64("size")

	count = tidemark.OutInt64("count")
	text  = tidemark.OutString("text")

	errSize = errors.New("size is negative")
)

type last struct {
	n, size int64
}

func (l *last) Add(r tidemark.Row) error {
	if size.Of(r) < 0 {
		return errSize
	}
	l.n++
	l.size = size.Of(r)
	return nil
}

func (l *last) Merge(o *last) error {
	l.n += o.n
	if o.n > 0 {
		l.size = o.size
	}
	return nil
}

func (l *last) Result(w *tidemark.Out) error {
	count.Set(w, l.n)
	text.Set(w, strings.Repeat("x", int(l.size)))
	return nil
}

var plugin = tidemark.FixedAggregate[last](tidemark.Spec{
	Name: "runs", Version: "1.0.0",
	Inputs: []tidemark.Input{size}, Outputs: []tidemark.Output{count, text}, Exact: true,
})

func main() {}
