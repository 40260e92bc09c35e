// Command top_k is a plug-in: the k most frequent texts of a column with their counts,
// the most frequent first and of equally frequent ones the lower, as a JSON list in
// one text column.
//
// Counts are exact: it keeps all different texts, at most 1 MiB of them with their
// counts in one accumulator.
package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"

	tidemark "tidemark/sdk/go"
)

var (
	value = tidemark.String("value")
	top   = tidemark.OutString("top")
	k     = tidemark.ParamInt64("k").Default(10)
)

// table is the accumulator. Written, it is each different text in ascending order,
// its length before it and its count behind it.
type table struct {
	counts map[string]*uint64
}

// Reset makes the table empty and keeps its memory.
func (t *table) Reset() {
	if t.counts == nil {
		t.counts = map[string]*uint64{}
	}
	clear(t.counts)
}

// Add counts the record's text.
func (t *table) Add(r tidemark.Row) error {
	t.put(value.Bytes(r), 1)
	return nil
}

func (t *table) put(text []byte, n uint64) {
	if count := t.counts[string(text)]; count != nil {
		*count += n
		return
	}
	t.counts[string(text)] = &n
}

// Merge adds o's counts.
func (t *table) Merge(o *table) error {
	for text, n := range o.counts {
		t.put([]byte(text), *n)
	}
	return nil
}

// texts gives the different texts in ascending order.
func (t *table) texts() []string {
	texts := make([]string, 0, len(t.counts))
	for text := range t.counts {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

// Result writes the list.
func (t *table) Result(w *tidemark.Out) error {
	texts := t.texts()
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(*t.counts[b], *t.counts[a]) })
	out := []byte{'['}
	for i, text := range texts[:min(len(texts), int(k.Value()))] {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendQuoted(append(out, `{"value":`...), text)
		out = strconv.AppendUint(append(out, `,"count":`...), *t.counts[text], 10)
		out = append(out, '}')
	}
	top.SetBytes(w, append(out, ']'))
	return nil
}

// appendQuoted writes a text as JSON.
func appendQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', '0'+c>>4, "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// AppendBinary writes the table.
func (t *table) AppendBinary(b []byte) ([]byte, error) {
	for _, text := range t.texts() {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		b = binary.AppendUvarint(b, *t.counts[text])
	}
	return b, nil
}

var errDamaged = errors.New("accumulator is not a table of counts: its bytes are damaged")

// UnmarshalBinary reads what AppendBinary wrote.
func (t *table) UnmarshalBinary(b []byte) error {
	for len(b) > 0 {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return errDamaged
		}
		text := b[used : used+int(n)]
		b = b[used+int(n):]
		count, used := binary.Uvarint(b)
		if used <= 0 {
			return errDamaged
		}
		t.put(text, count)
		b = b[used:]
	}
	return nil
}

func configure() error {
	if k.Value() < 1 || k.Value() > 1000 {
		return errors.New("k is not from 1 to 1000")
	}
	return nil
}

var plugin = tidemark.VariableAggregate[table](tidemark.Spec{
	Name: "top_k", Version: "1.0.0",
	Inputs:           []tidemark.Input{value},
	Outputs:          []tidemark.Output{top},
	Params:           []tidemark.Param{k},
	OrderInsensitive: true,
	Exact:            true,
	Configure:        configure,
})

func main() {}
