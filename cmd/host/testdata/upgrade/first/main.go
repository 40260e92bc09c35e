// Command first counts records: the first version of a plug-in whose layout changes.
package main

import tidemark "tidemark/sdk/go"

var n = tidemark.OutInt64("n")

type count struct{ n int64 }

func (c *count) Add(tidemark.Row) error       { c.n++; return nil }
func (c *count) Merge(o *count) error         { c.n += o.n; return nil }
func (c *count) Result(w *tidemark.Out) error { n.Set(w, c.n); return nil }

var plugin = tidemark.FixedAggregate[count](tidemark.Spec{
	Name: "counting", Version: "1.0.0", Outputs: []tidemark.Output{n}, OrderInsensitive: true, Exact: true,
})

func main() {}
