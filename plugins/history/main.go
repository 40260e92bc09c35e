// Command history is a plug-in: how many texts there were, and which was the last. It keeps
// all of them, in order, and shows how accumulators that vary in size are upgraded.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	value = tidemark.String("value")
	count = tidemark.OutInt64("count")
	last  = tidemark.OutString("last")

	errDamaged = errors.New("accumulator is not a list: its bytes are damaged")
	errEnd     = errors.New("a text does not end")
)

// list is the accumulator. Written, schema 2, it is each text behind its length.
type list struct{ texts []byte }

func put(to, text []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func (l *list) Add(r tidemark.Row) error {
	l.texts = put(l.texts, value.Bytes(r))
	return nil
}

func (l *list) Merge(o *list) error {
	l.texts = append(l.texts, o.texts...)
	return nil
}

func (l *list) Result(w *tidemark.Out) error {
	n, text := int64(0), []byte(nil)
	for left := l.texts; len(left) > 0; n++ {
		size, used := binary.Uvarint(left)
		if used <= 0 || size > uint64(len(left)-used) {
			return errDamaged
		}
		text, left = left[used:][:size], left[used:][size:]
	}
	count.Set(w, n)
	if n > 0 {
		last.SetBytes(w, text)
	}
	return nil
}

func (l *list) AppendBinary(b []byte) ([]byte, error) { return append(b, l.texts...), nil }

func (l *list) UnmarshalBinary(b []byte) error {
	l.texts = append(l.texts, b...)
	return nil
}

// Schema 1 ended each text with a line feed.
func fromLines(old []byte, _ tidemark.Kept) (now []byte, err error) {
	for len(old) > 0 {
		text, rest, ends := bytes.Cut(old, []byte("\n"))
		if !ends {
			return nil, errEnd
		}
		now, old = put(now, text), rest
	}
	return now, nil
}

var plugin = tidemark.VariableAggregate[list](tidemark.Spec{
	Name: "history", Version: "2.0.0",
	Inputs:   []tidemark.Input{value},
	Outputs:  []tidemark.Output{count, last},
	Exact:    true,
	Schema:   2,
	Upgrades: []tidemark.Upgrade{tidemark.UpgradeBytes(1, fromLines)},
})

func main() {}
