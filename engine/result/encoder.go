package result

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"tidemark/engine/stream"
)

// Encoder writes the rows of one step as lines of JSON. One goroutine uses it.
type Encoder struct {
	prefix []byte // job and step, the start of what an id is a hash of
	head   []byte // `,"step":"…","key":`
	key    object
	values []valueObject
	format TimeFormat
	split  func(stream.SplitID) string // of rows that are pairs of an interval join

	// The row's window as text: rows of one firing share it.
	window     stream.Window
	windowText []byte
	scratch    []byte
	keyText    []byte
}

// valueObject writes one aggregate's member of `value`.
type valueObject struct {
	name   []byte // `{"name":` or `,"name":`
	fields object // nil: one output, written as a plain value
}

// NewEncoder makes an encoder. values has the outputs of each aggregate.
func NewEncoder(job, step string, key []stream.Field, aggregates []string, values [][]stream.Field, format TimeFormat) *Encoder {
	e := &Encoder{format: format, prefix: []byte(job + "\n" + step + "\n")}
	e.head = appendMember(nil, "step")
	e.head = appendText(e.head, step)
	e.head = appendMember(e.head, "key")
	if len(key) > 0 {
		e.key = newObject(names(key))
	}
	labels := newObject(aggregates)
	for i, outs := range values {
		v := valueObject{name: labels[i]}
		if len(outs) > 1 {
			v.fields = newObject(names(outs))
		}
		e.values = append(e.values, v)
	}
	return e
}

// NewPairEncoder makes an encoder of pairs of records: the fields of either side are an
// object of their own, however few they are. split returns the shown name of a split.
func NewPairEncoder(job, step string, key, left, right []stream.Field, split func(stream.SplitID) string, format TimeFormat) *Encoder {
	e := NewEncoder(job, step, key, []string{"left", "right"}, [][]stream.Field{nil, nil}, format)
	e.NamePairs(split)
	e.values[0].fields, e.values[1].fields = newObject(names(left)), newObject(names(right))
	return e
}

// NamePairs lets the encoder write rows of pairs of an interval join, which have the places
// of their records in their ids. split returns the shown name of a split.
func (e *Encoder) NamePairs(split func(stream.SplitID) string) { e.split = split }

// Append appends row i with its newline. Called per result row.
func (e *Encoder) Append(dst []byte, r *Rows, i int) []byte {
	dst = append(dst, `{"id":"`...)
	idAt := len(dst)
	dst = append(dst, "00000000000000000000000000000000\""...)
	dst = append(dst, e.head...)
	keyAt := len(dst)
	dst = e.appendKey(dst, &r.Key, i)
	e.appendID(dst[idAt:], e.idKey(dst[keyAt:], &r.Key, i), r, i)
	dst = appendMember(dst, "window")
	if len(e.windowText) == 0 || e.window != r.Window[i] {
		e.window = r.Window[i]
		e.windowText = appendWindow(e.windowText[:0], e.window, e.format)
	}
	dst = append(dst, e.windowText...)
	if k := r.Kind[i]; k != NoKind {
		dst = append(dst, `,"kind":"`...)
		dst = append(dst, k.String()...)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"revision":`...)
	dst = strconv.AppendUint(dst, uint64(r.Revision[i]), 10)
	if len(r.Of) > 0 {
		dst = appendOrdinal(dst, r.Ordinal[i], r.Of[i])
	}
	if r.Pairs != nil { // there is no window to tell it
		dst = appendTime(appendMember(dst, "time"), r.Pairs.Time[i], e.format)
	}
	if r.SinceLast[i] {
		dst = append(dst, `,"content":"since_last"`...)
	}
	if len(r.Replaces[i]) > 0 {
		dst = e.appendReplaces(dst, r.Replaces[i])
	}
	dst = append(dst, `,"value":`...)
	for a := range e.values {
		v := &e.values[a]
		dst = append(dst, v.name...)
		c := &r.Values[a]
		if v.fields != nil {
			dst = v.fields.append(dst, c, i, e.format)
		} else {
			dst = AppendValue(dst, &c.Cols[0], i, c.Blob, e.format)
		}
	}
	return append(dst, '}', '}', '\n')
}

// appendOrdinal writes which row of how many this is, where that is not their default.
func appendOrdinal(dst []byte, ordinal, of uint64) []byte {
	if ordinal > 0 {
		dst = strconv.AppendUint(appendMember(dst, "ordinal"), ordinal, 10)
	}
	if of != 1 {
		dst = strconv.AppendUint(appendMember(dst, "rows"), of, 10)
	}
	return dst
}

func (e *Encoder) appendReplaces(dst []byte, windows []stream.Window) []byte {
	dst = append(dst, `,"replaces":[`...)
	for i, w := range windows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendWindow(dst, w, e.format)
	}
	return append(dst, ']')
}

func (e *Encoder) appendKey(dst []byte, key *stream.Columns, i int) []byte {
	if e.key == nil {
		return append(dst, "null"...)
	}
	return e.key.append(dst, key, i, e.format)
}

// appendID writes the id into the place kept for it: the first 16 bytes of a SHA-256
// over job, step, key, window and ordinal, so that anyone can compute it from the row.
// A pair of an interval join has the places of its two records instead of a window.
func (e *Encoder) appendID(dst []byte, key []byte, r *Rows, i int) {
	s := append(e.scratch[:0], e.prefix...)
	s = append(s, key...)
	s = append(s, '\n')
	switch w := r.Window[i]; {
	case r.Pairs != nil:
		s = e.appendPlace(s, r.Pairs.Left[i])
		s = append(s, '\n')
		s = e.appendPlace(s, r.Pairs.Right[i])
	case w == stream.Global:
		s = append(s, "null\nnull"...)
	default:
		s = strconv.AppendInt(s, int64(w.Start), 10)
		s = append(s, '\n')
		s = strconv.AppendInt(s, int64(w.End), 10)
	}
	s = append(s, '\n')
	ordinal := uint64(0)
	if len(r.Ordinal) > 0 {
		ordinal = r.Ordinal[i]
	}
	e.scratch = strconv.AppendUint(s, ordinal, 10)
	sum := sha256.Sum256(e.scratch)
	hex.Encode(dst, sum[:16])
}

func (e *Encoder) appendPlace(dst []byte, p Place) []byte {
	dst = append(dst, e.split(p.Split)...)
	dst = append(dst, '\n')
	return strconv.AppendInt(dst, p.Pos, 10)
}

// idKey returns the key's text that the id is a hash of: the one with RFC 3339 times,
// so that two sinks of one step give a row the same id.
func (e *Encoder) idKey(written []byte, key *stream.Columns, i int) []byte {
	if e.format == RFC3339 || e.key == nil {
		return written
	}
	e.keyText = e.key.append(e.keyText[:0], key, i, RFC3339)
	return e.keyText
}
