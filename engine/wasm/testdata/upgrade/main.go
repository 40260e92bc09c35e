// Command upgrade is a plug-in whose accumulators were wider and narrower once.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var n = tidemark.OutInt64("n")

type first struct{ n int64 }

type second struct{ n, unused, more int64 }

type third struct{ schema, n int64 }

func (a *third) Add(tidemark.Row) error       { a.n++; return nil }
func (a *third) Merge(o *third) error         { a.n += o.n; return nil }
func (a *third) Result(w *tidemark.Out) error { n.Set(w, a.n); return nil }

// calls is what an instance has done, which must not show but for wearing it out.
var calls int

func upgrade(old *first, now *third) error {
	calls++
	switch {
	case old.n == -1:
		return errors.New("a count is below 0")
	case old.n == -2:
		panic("no luck with -2")
	case old.n == -3 && calls > 1:
		panic("worn out")
	}
	*now = third{1, old.n}
	return nil
}

var plugin = tidemark.FixedAggregate[third](tidemark.Spec{
	Name: "upgrade", Version: "3", Outputs: []tidemark.Output{n}, Schema: 3,
	Upgrades: []tidemark.Upgrade{
		tidemark.UpgradeFrom(1, upgrade),
		tidemark.UpgradeFrom(2, func(old *second, now *third) error {
			*now = third{2, old.n + old.more}
			return nil
		}),
	},
})

func main() {}
