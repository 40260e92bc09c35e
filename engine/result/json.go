package result

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"tidemark/engine/stream"
)

// AppendString appends s, which is valid UTF-8, as a JSON string. Only what JSON
// demands is escaped: results are read by programs and people, not pasted into HTML.
func AppendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i, c := range s {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// TimeFormat is how times are written.
type TimeFormat uint8

const (
	RFC3339 TimeFormat = iota // UTC with milliseconds, as a string
	Millis                    // integer
)

// The years that RFC 3339 can write.
var (
	minRFC3339 = stream.Time(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	maxRFC3339 = stream.Time(time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli())
)

// appendTime appends t. A time outside the years 0 to 9999, which RFC 3339 cannot
// write, is an integer in either format.
func appendTime(dst []byte, t stream.Time, f TimeFormat) []byte {
	if f == Millis || t < minRFC3339 || t > maxRFC3339 {
		return appendInt(dst, int64(t))
	}
	at := time.UnixMilli(int64(t)).UTC()
	year, month, day := at.Date()
	hour, minute, second := at.Clock()
	dst = append(dst, '"')
	dst = appendTwo(appendTwo(dst, year/100), year%100)
	dst = appendTwo(append(dst, '-'), int(month))
	dst = appendTwo(append(dst, '-'), day)
	dst = appendTwo(append(dst, 'T'), hour)
	dst = appendTwo(append(dst, ':'), minute)
	dst = appendTwo(append(dst, ':'), second)
	milli := at.Nanosecond() / 1e6
	dst = appendTwo(append(dst, '.', byte('0'+milli/100)), milli%100)
	return append(dst, 'Z', '"')
}

// AppendValue appends row i of a column as a JSON value. Text of the column lies in
// blob.
func AppendValue(dst []byte, c *stream.Column, i int, blob []byte, f TimeFormat) []byte {
	if c.Null(i) {
		return append(dst, "null"...)
	}
	switch c.Kind {
	case stream.Int64:
		return appendInt(dst, c.Ints[i])
	case stream.Timestamp:
		return appendTime(dst, stream.Time(c.Ints[i]), f)
	case stream.Float64:
		return appendFloat(dst, c.Floats[i])
	case stream.Bool:
		return strconv.AppendBool(dst, c.Bools[i])
	case stream.String:
		return AppendString(dst, c.Strs[i].Bytes(blob))
	case stream.JSON:
		return append(dst, c.Strs[i].Bytes(blob)...)
	}
	panic(fmt.Sprintf("BUG: result column of kind %s", c.Kind))
}

// object holds the names of an object's members, ready to be written.
type object [][]byte

// newObject prepares the members' names: `{"a":`, `,"b":`.
func newObject(names []string) object {
	o := make(object, len(names))
	for i, n := range names {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		o[i] = append(AppendString([]byte{sep}, []byte(n)), ':')
	}
	return o
}

// append appends row i of the columns as an object.
func (o object) append(dst []byte, c *stream.Columns, i int, f TimeFormat) []byte {
	if len(o) == 0 {
		return append(dst, "{}"...)
	}
	for m := range o {
		dst = append(dst, o[m]...)
		dst = AppendValue(dst, &c.Cols[m], i, c.Blob, f)
	}
	return append(dst, '}')
}

// appendMember appends `,"name":` for a member that is not the first.
func appendMember(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendText appends a member whose value is text that may not be valid UTF-8, such
// as a message or a name from outside: broken bytes become U+FFFD.
func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return AppendString(dst, []byte(s))
}

func appendWindow(dst []byte, w stream.Window, f TimeFormat) []byte {
	if w == stream.Global {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"start":`...)
	dst = appendTime(dst, w.Start, f)
	dst = append(dst, `,"end":`...)
	dst = appendTime(dst, w.End, f)
	return append(dst, '}')
}

func names(fields []stream.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// TimeText is a time for people, as in messages.
func TimeText(t stream.Time) string {
	return string(bytes.Trim(appendTime(nil, t, RFC3339), `"`))
}
