package result

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/engine/stream"
)

// Origin names the places that records come from; it is the same for a whole job.
type Origin struct {
	Sources []string // by stream.SourceID
	JSON    []bool   // by stream.SourceID: a record is a JSON value and is written as one
	// Split returns the shown name of a split.
	Split func(stream.SplitID) string
}

// RecordEncoder writes the records that a step set aside, late or failed, as lines
// of JSON: the record as it stood, its place, and why it is here.
type RecordEncoder struct {
	origin Origin
	step   []byte // `{"step":"…"`
	key    object
	fields []stream.Field
	format TimeFormat

	cols stream.Columns // scratch for the key
}

// NewRecordEncoder makes an encoder for a step with a key of these fields.
func NewRecordEncoder(origin Origin, step string, key []stream.Field, format TimeFormat) *RecordEncoder {
	e := &RecordEncoder{origin: origin, fields: key, format: format}
	e.step = appendText([]byte(`{"step":`), step)
	if len(key) > 0 {
		e.key = newObject(names(key))
	}
	return e
}

// Late appends row i of b, which window w refused at watermark wm. behind_ms counts
// from the highest time of the record's own split, late_by_ms from the watermark to the
// end of the window, or, where there is none, to the record's own time (S112).
func (e *RecordEncoder) Late(dst []byte, b *stream.Batch, i int, w stream.Window, wm stream.Time) []byte {
	dst = e.place(dst, b, i, w)
	end := w.MaxTimestamp()
	if w == stream.Global {
		end = b.Time[i]
	}
	dst = appendMember(dst, "late_by_ms")
	dst = strconv.AppendInt(dst, int64(wm.Sub(end)), 10)
	dst = appendMember(dst, "behind_ms")
	dst = strconv.AppendInt(dst, int64(b.High[i].Sub(b.Time[i])), 10)
	dst = e.record(dst, b, i)
	return append(dst, '}', '\n')
}

// Failed appends row i of b, which user code refused.
func (e *RecordEncoder) Failed(dst []byte, b *stream.Batch, i int, w stream.Window, module, message string) []byte {
	dst = e.place(dst, b, i, w)
	dst = e.failure(dst, module, message)
	dst = e.record(dst, b, i)
	return append(dst, '}', '\n')
}

// FailedPane appends a pane whose result could not be computed. The pane stays.
func (e *RecordEncoder) FailedPane(dst []byte, key []byte, w stream.Window, module, message string) []byte {
	dst = append(dst, e.step...)
	dst = e.appendKey(dst, key)
	dst = appendMember(dst, "window")
	dst = appendWindow(dst, w, e.format)
	dst = e.failure(dst, module, message)
	return append(dst, '}', '\n')
}

func (e *RecordEncoder) place(dst []byte, b *stream.Batch, i int, w stream.Window) []byte {
	dst = append(dst, e.step...)
	line := b.Pos[i]
	if len(b.Tie) > 0 { // a step's result: its place is a number, and no line
		line = 0
	}
	dst = appendPlace(dst, e.origin.Sources[b.Source], e.origin.Split(b.Split[i]), line)
	dst = appendMember(dst, "time")
	dst = appendTime(dst, b.Time[i], e.format)
	var key []byte
	if e.key != nil { // before the exchange a record has none
		key = b.Key[i].Bytes(b.Blob)
	}
	dst = e.appendKey(dst, key)
	dst = appendMember(dst, "window")
	return appendWindow(dst, w, e.format)
}

func appendPlace(dst []byte, source, split string, line int64) []byte {
	dst = appendMember(dst, "source")
	dst = appendText(dst, source)
	dst = appendMember(dst, "split")
	dst = appendText(dst, split)
	dst = appendMember(dst, "line")
	return strconv.AppendInt(dst, line, 10)
}

// KeyText is an encoded key as JSON, for messages.
func (e *RecordEncoder) KeyText(key []byte) string {
	return strings.TrimPrefix(string(e.appendKey(nil, key)), `,"key":`)
}

// appendKey appends the key member. The key was encoded by this process or came
// from a checkpoint whose checksum was right.
func (e *RecordEncoder) appendKey(dst []byte, key []byte) []byte {
	dst = appendMember(dst, "key")
	if e.key == nil {
		return append(dst, "null"...)
	}
	resetColumns(&e.cols, e.fields)
	blob, err := stream.DecodeKey(key, e.cols.Cols, e.cols.Blob)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	e.cols.Blob = blob
	return e.key.append(dst, &e.cols, 0, e.format)
}

func (e *RecordEncoder) failure(dst []byte, module, message string) []byte {
	dst = appendMember(dst, "message")
	dst = appendText(dst, message)
	dst = appendMember(dst, "plugin")
	if module == "" {
		return append(dst, "null"...)
	}
	return appendText(dst, module)
}

func (e *RecordEncoder) record(dst []byte, b *stream.Batch, i int) []byte {
	dst = appendMember(dst, "record")
	raw := b.Raw[i].Bytes(b.Blob)
	if e.origin.JSON[b.Source] {
		return append(dst, raw...) // checked by the decoder, and one line
	}
	return AppendString(dst, raw)
}

// Bad is a record that never became one: undecodable, without a usable time, or
// quarantined because its clock is ahead.
type Bad struct {
	Source, Split string
	Line          int64  // from 1
	Offset        int64  // bytes into the split, decompressed
	Reason        string // one of a fixed list of codes
	Message       string
	Raw           []byte
	// Time and AheadBy are set for quarantined records.
	Quarantined bool
	Time        stream.Time
	AheadBy     stream.Time // ms
}

// AppendBad appends a bad record as a line of JSON.
func AppendBad(dst []byte, b *Bad, f TimeFormat) []byte {
	dst = append(dst, `{"source":`...)
	dst = appendText(dst, b.Source)
	dst = appendMember(dst, "split")
	dst = appendText(dst, b.Split)
	dst = appendMember(dst, "line")
	dst = strconv.AppendInt(dst, b.Line, 10)
	dst = appendMember(dst, "offset")
	dst = strconv.AppendInt(dst, b.Offset, 10)
	dst = appendMember(dst, "reason")
	dst = appendText(dst, b.Reason)
	dst = appendMember(dst, "message")
	dst = appendText(dst, b.Message)
	if b.Quarantined {
		dst = appendMember(dst, "time")
		dst = appendTime(dst, b.Time, f)
		dst = appendMember(dst, "ahead_by_ms")
		dst = strconv.AppendInt(dst, int64(b.AheadBy), 10)
	}
	if utf8.Valid(b.Raw) {
		dst = appendMember(dst, "raw")
		dst = AppendString(dst, b.Raw)
	} else {
		dst = appendMember(dst, "raw_base64")
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, b.Raw)
		dst = append(dst, '"')
	}
	return append(dst, '}', '\n')
}
