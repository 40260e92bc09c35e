// Command history is schema 1 of the standard plug-in of that name: it ends each text with
// a line feed.
package main

import (
	"bytes"

	tidemark "tidemark/sdk/go"
)

var (
	value = tidemark.String("value")
	count = tidemark.OutInt64("count")
	last  = tidemark.OutString("last")
)

type list struct{ texts []byte }

func (l *list) Add(r tidemark.Row) error {
	l.texts = append(append(l.texts, value.Bytes(r)...), '\n')
	return nil
}

func (l *list) Merge(o *list) error {
	l.texts = append(l.texts, o.texts...)
	return nil
}

func (l *list) Result(w *tidemark.Out) error {
	all := bytes.Split(l.texts, []byte("\n"))
	count.Set(w, int64(len(all)-1))
	if len(all) > 1 {
		last.SetBytes(w, all[len(all)-2])
	}
	return nil
}

func (l *list) AppendBinary(b []byte) ([]byte, error) { return append(b, l.texts...), nil }

func (l *list) UnmarshalBinary(b []byte) error {
	l.texts = append(l.texts, b...)
	return nil
}

var plugin = tidemark.VariableAggregate[list](tidemark.Spec{
	Name: "history", Version: "1.0.0", Inputs: []tidemark.Input{value}, Outputs: []tidemark.Output{count, last}, Exact: true,
})

func main() {}
