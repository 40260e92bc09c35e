// Command odd is a plug-in for tests: it counts texts, and some texts are orders to
// do what a plug-in should not.
package main

import (
	"errors"
	"os"
	"strings"
	"time"

	tidemark "tidemark/sdk/go"
)

var (
	text = tidemark.String("text")
	n    = tidemark.OutInt64("n")
)

type counter struct{ n int64 }

func (c *counter) Add(r tidemark.Row) error {
	switch s := text.Of(r); s {
	case "panic":
		panic("no luck with " + s)
	case "index":
		_ = s[strings.Count(s, "z")+9]
	case "error":
		return errors.New("a text that is refused")
	case "exit":
		os.Exit(3)
	case "sleep":
		time.Sleep(time.Hour)
	case "hoard":
		var all [][]byte
		for { // until the memory is full
			all = append(all, make([]byte, 1<<20))
		}
	}
	c.n++
	return nil
}

func (c *counter) Merge(o *counter) error { c.n += o.n; return nil }

func (c *counter) Result(w *tidemark.Out) error { n.Set(w, c.n); return nil }

var plugin = tidemark.FixedAggregate[counter](tidemark.Spec{
	Name: "odd", Version: "1.0.0",
	Inputs:  []tidemark.Input{text},
	Outputs: []tidemark.Output{n},
})

func main() {}
