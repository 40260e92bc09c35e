// Command pointer declares an accumulator that cannot lie in a frame.
package main

import tidemark "tidemark/sdk/go"

type names struct{ all []string }

func (*names) Add(tidemark.Row) error     { return nil }
func (*names) Merge(*names) error         { return nil }
func (*names) Result(*tidemark.Out) error { return nil }

var plugin = tidemark.FixedAggregate[names](tidemark.Spec{
	Name: "pointer", Outputs: []tidemark.Output{tidemark.OutInt64("n")},
})

func main() {}
