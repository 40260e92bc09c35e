// Command sparse is a watermark generator that speaks at every n-th record of a split: no
// record below the highest time so far is to come. It shows how the state of a generator is
// upgraded.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	n     = tidemark.ParamInt64("n").Default(2)
	state = tidemark.FixedState[split]()

	errN    = errors.New("n must be at least 1")
	errHigh = errors.New("the highest time is below 0")
)

// split is what the generator knows of a split, schema 2.
type split struct {
	high    tidemark.Timestamp
	records int64 // since it spoke last
}

// Schema 1 spoke at every record.
type highest struct{ high tidemark.Timestamp }

func follow(t *tidemark.Timed) error {
	s, there := state.Get(t)
	if !there || t.Time() > s.high {
		s.high = t.Time()
	}
	if s.records++; s.records >= n.Value() {
		t.Watermark(s.high - 1)
		s.records = 0
	}
	state.Set(t, s)
	return nil
}

func fromHighest(old *highest, now *split) error {
	if old.high < 0 {
		return errHigh
	}
	now.high = old.high
	return nil
}

var plugin = tidemark.Watermarks(tidemark.GeneratorSpec{
	Name: "sparse", Version: "2.0.0",
	Params:   []tidemark.Param{n},
	State:    state,
	Schema:   2,
	Upgrades: []tidemark.Upgrade{tidemark.UpgradeFrom(1, fromHighest)},
	Configure: func() error {
		if n.Value() < 1 {
			return errN
		}
		return nil
	},
}, follow)

func main() {}
