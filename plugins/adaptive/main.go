// Command adaptive is a watermark generator that finds out by itself how far records are
// out of order: it lags behind the highest time by twice the most that any record so far
// has been behind, and at least by slack. A record that says that it ends a stretch, such
// as a flush at the end of a file, moves time up to itself at once.
//
// A job that knows its bound should say so: this one pays for each new extreme with late
// records.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	kind = tidemark.String("kind").Nullable()

	slack = tidemark.ParamInt64("slack").Default(1000)
	flush = tidemark.ParamString("flush").Default("flush")

	state    = tidemark.FixedState[seen]()
	errSlack = errors.New("slack must not be negative")
)

// seen is what the generator knows of a split.
type seen struct {
	high  tidemark.Timestamp
	worst int64 // the most that a record was behind, in ms
}

func follow(t *tidemark.Timed) error {
	s, there := state.Get(t)
	at := t.Time()
	switch {
	case !there || at > s.high:
		s.high = at
	default:
		s.worst = max(s.worst, int64(s.high-at))
	}
	state.Set(t, s)
	if !kind.Null(t.Row()) && string(kind.Bytes(t.Row())) == flush.Value() {
		t.Watermark(at)
		return nil
	}
	t.Watermark(s.high - tidemark.Timestamp(max(slack.Value(), 2*s.worst)) - 1)
	return nil
}

var plugin = tidemark.Watermarks(tidemark.GeneratorSpec{
	Name: "adaptive", Version: "1.0.0",
	Inputs: []tidemark.Input{kind},
	Params: []tidemark.Param{slack, flush},
	State:  state,
	Configure: func() error {
		if slack.Value() < 0 {
			return errSlack
		}
		return nil
	},
}, follow)

func main() {}
