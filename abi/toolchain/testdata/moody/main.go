// Command moody is a plug-in for tests: what it does with a record is what the record
// says. Otherwise it makes garbage.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	mood   = tidemark.String("mood")
	length = tidemark.OutInt64("length")
)

type moods struct{ last []byte }

var nothing []int

func (m *moods) Add(r tidemark.Row) error {
	switch mood.Of(r) {
	case "error":
		return errors.New("in no mood for this")
	case "panic":
		panic("a fit of temper")
	case "index":
		m.last[0] = byte(nothing[len(m.last)])
	case "deep":
		deep(1)
	}
	m.last = make([]byte, 64<<10)
	return nil
}

func deep(n int) int { return deep(n+1) + n }

func (m *moods) Merge(o *moods) error                  { return nil }
func (m *moods) Result(w *tidemark.Out) error          { length.Set(w, int64(len(m.last))); return nil }
func (m *moods) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (m *moods) UnmarshalBinary(b []byte) error        { return nil }

var plugin = tidemark.VariableAggregate[moods](tidemark.Spec{
	Name: "moody", Version: "1",
	Inputs: []tidemark.Input{mood}, Outputs: []tidemark.Output{length},
})

func main() {}
