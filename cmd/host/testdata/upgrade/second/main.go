// Command second counts records, and 5 more for each accumulator that its first version had
// begun: a test sees by the results which ones were upgraded.
package main

import tidemark "tidemark/sdk/go"

var n = tidemark.OutInt64("n")

type first struct{ n int64 }

// count lies in another order than first, and takes more room.
type count struct{ upgraded, n int64 }

func (c *count) Add(tidemark.Row) error { c.n++; return nil }

func (c *count) Merge(o *count) error {
	c.n += o.n
	c.upgraded += o.upgraded
	return nil
}

func (c *count) Result(w *tidemark.Out) error { n.Set(w, c.n+5*c.upgraded); return nil }

var plugin = tidemark.FixedAggregate[count](tidemark.Spec{
	Name: "counting", Version: "2.0.0", Outputs: []tidemark.Output{n}, OrderInsensitive: true, Exact: true,
	Schema: 2,
	Upgrades: []tidemark.Upgrade{tidemark.UpgradeFrom(1, func(old *first, now *count) error {
		*now = count{upgraded: 1, n: old.n}
		return nil
	})},
})

func main() {}
