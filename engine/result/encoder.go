package result

import (
	"fmt"
	"slices"

	"tidemark/engine/stream"
)

// Encoder writes the rows of one step as lines of JSON. One goroutine uses it.
//
// A row is text that is the same in all rows, with what differs in between. The constant
// pieces are put together once, as long as they go, and what describes a firing, most of a
// row, once for the rows that share it (BenchmarkEncoder).
type Encoder struct {
	head    []byte // from the row's first byte to its key, with zeros for the id
	key     object
	members []member
	tail    []byte // what is behind the last value
	format  TimeFormat
	split   func(stream.SplitID) string // of rows that are pairs of an interval join
	frame   frame

	ids      *ids
	keyText  []byte // working memory: the key as the id has it, where the row has it otherwise
	keyTimes bool   // the key has a time, which is written in the row's format
}

// member is one value of a row: a column of the outputs of an aggregate.
type member struct {
	before         []byte // from the value before it: `,"name":`, with braces where objects end and begin
	aggregate, col int
}

// frame is the part of a row between key and value. Rows of one firing share it.
type frame struct {
	window   stream.Window
	kind     Kind
	revision uint32
	text     []byte // `,"window":…,"kind":…,"revision":…`
	behind   int    // where in text the window ends; 0: nothing is made yet
}

// idAt is where in a row its id is.
const idAt = len(`{"id":"`)

// NewEncoder makes an encoder. values has the outputs of each aggregate.
func NewEncoder(job, step string, key []stream.Field, aggregates []string, values [][]stream.Field, format TimeFormat) *Encoder {
	return newEncoder(job, step, key, aggregates, values, format, func(outputs []stream.Field) bool { return len(outputs) != 1 })
}

// NewPairEncoder makes an encoder of pairs of records: the fields of either side are an
// object of their own, however few they are. split returns the shown name of a split.
func NewPairEncoder(job, step string, key, left, right []stream.Field, split func(stream.SplitID) string, format TimeFormat) *Encoder {
	e := newEncoder(job, step, key, []string{"left", "right"}, [][]stream.Field{left, right}, format, func([]stream.Field) bool { return true })
	e.NamePairs(split)
	return e
}

// newEncoder makes an encoder. nested says of which outputs an object is made; others are
// one plain value.
func newEncoder(job, step string, key []stream.Field, aggregates []string, values [][]stream.Field, format TimeFormat, nested func([]stream.Field) bool) *Encoder {
	e := &Encoder{format: format, ids: newIDs(job, step)}
	e.head = fmt.Appendf(nil, `{"id":"%0*d"`, idDigits, 0)
	e.head = appendText(appendMember(e.head, "step"), step)
	e.head = appendMember(e.head, "key")
	if len(key) > 0 {
		e.key = newObject(names(key))
		e.keyTimes = slices.ContainsFunc(key, func(f stream.Field) bool { return f.Kind == stream.Timestamp })
	}
	text := appendMember(nil, "value")
	labels := newObject(aggregates)
	for a, outputs := range values {
		text = append(text, labels[a]...)
		if !nested(outputs) {
			e.members = append(e.members, member{before: text, aggregate: a})
			text = nil
			continue
		}
		for c, label := range newObject(names(outputs)) {
			e.members = append(e.members, member{before: append(text, label...), aggregate: a, col: c})
			text = nil
		}
		if len(outputs) == 0 {
			text = append(text, '{')
		}
		text = append(text, '}')
	}
	e.tail = append(text, '}', '}', '\n')
	return e
}

// NamePairs lets the encoder write rows of pairs of an interval join, which have the places
// of their records in their ids. split returns the shown name of a split.
func (e *Encoder) NamePairs(split func(stream.SplitID) string) { e.split = split }

// Append appends row i with its newline. Called per result row.
func (e *Encoder) Append(dst []byte, r *Rows, i int) []byte {
	f := &e.frame
	if f.window != r.Window[i] || f.behind == 0 {
		f.setWindow(r.Window[i], e.format)
		if r.Pairs == nil {
			e.ids.setWindow(r.Window[i])
		}
	}
	if f.kind != r.Kind[i] || f.revision != r.Revision[i] || len(f.text) == f.behind {
		f.setFiring(r.Kind[i], r.Revision[i])
	}
	row := len(dst)
	dst = append(dst, e.head...)
	key := len(dst)
	dst = e.appendKey(dst, &r.Key, i)
	behind := len(dst)
	dst = append(dst, f.text...)
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
	for n := range e.members {
		m := &e.members[n]
		dst = append(dst, m.before...)
		c := &r.Values[m.aggregate]
		dst = AppendValue(dst, &c.Cols[m.col], i, c.Blob, e.format)
	}
	dst = append(dst, e.tail...)
	// At last, when the bytes of the key, which are read, were not written just now.
	e.putID(dst[row+idAt:], e.idKey(dst[key:behind], &r.Key, i), r, i)
	return dst
}

// setWindow begins a frame.
func (f *frame) setWindow(w stream.Window, format TimeFormat) {
	f.window = w
	f.text = appendWindow(appendMember(f.text[:0], "window"), w, format)
	f.behind = len(f.text)
}

// setFiring completes it.
func (f *frame) setFiring(k Kind, revision uint32) {
	f.kind, f.revision = k, revision
	f.text = f.text[:f.behind]
	if k != NoKind {
		f.text = append(append(f.text, `,"kind":"`...), k.String()...)
		f.text = append(f.text, '"')
	}
	f.text = appendUint(appendMember(f.text, "revision"), uint64(revision))
}

// appendOrdinal writes which row of how many this is, where that is not their default.
func appendOrdinal(dst []byte, ordinal, of uint64) []byte {
	if ordinal > 0 {
		dst = appendUint(appendMember(dst, "ordinal"), ordinal)
	}
	if of != 1 {
		dst = appendUint(appendMember(dst, "rows"), of)
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

// putID writes the id of row i into the place kept for it.
func (e *Encoder) putID(dst []byte, key []byte, r *Rows, i int) {
	rest := append(append(e.ids.rest[:0], key...), '\n')
	if r.Pairs != nil {
		rest = append(e.appendPlace(rest, r.Pairs.Left[i]), '\n')
		rest = append(e.appendPlace(rest, r.Pairs.Right[i]), '\n')
	}
	ordinal := uint64(0)
	if len(r.Ordinal) > 0 {
		ordinal = r.Ordinal[i]
	}
	e.ids.put(dst, appendUint(rest, ordinal))
}

func (e *Encoder) appendPlace(dst []byte, p Place) []byte {
	dst = append(dst, e.split(p.Split)...)
	dst = append(dst, '\n')
	return appendInt(dst, p.Pos)
}

// idKey returns the key's text that the id is a hash of: the one with RFC 3339 times,
// so that two sinks of one step give a row the same id.
func (e *Encoder) idKey(written []byte, key *stream.Columns, i int) []byte {
	if e.format == RFC3339 || !e.keyTimes {
		return written
	}
	e.keyText = e.key.append(e.keyText[:0], key, i, RFC3339)
	return e.keyText
}
