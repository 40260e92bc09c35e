// Command pairs is a pair function for tests.
package main

import (
	"errors"
	"strings"

	tidemark "tidemark/sdk/go"
)

var (
	left  = tidemark.String("left")
	right = tidemark.Int64("right").Nullable()

	text = tidemark.OutString("text")
	at   = tidemark.OutTime("at")
	lt   = tidemark.OutTime("left_at")
)

// pair gives the left text once for each of the right number, once without one. Some texts
// are orders.
func pair(p *tidemark.Pair) error {
	s, n := left.Of(p.Left()), int64(1)
	if !right.Null(p.Right()) {
		n = right.Of(p.Right())
	}
	switch s {
	case "refuse":
		return errors.New("a pair that is refused")
	case "panic":
		panic("no luck with panic")
	case "large":
		s = strings.Repeat("x", 1<<19)
	}
	for range n {
		w := p.Emit()
		text.Set(w, s)
		at.Set(w, p.Time())
		if t, timed := p.LeftTime(); timed {
			lt.Set(w, t)
		}
	}
	return nil
}

var plugin = tidemark.Pairs(tidemark.PairSpec{
	Name: "pairs", Version: "1",
	Left: []tidemark.Input{left}, Right: []tidemark.Input{right}, Outputs: []tidemark.Output{text, at, lt},
}, pair)

func main() {}
