// Package timestamp decides what event time a record has: it reads a token in the
// unit that the job declares, checks whether the first values make sense in that
// unit, and whether a record is too far ahead of its arrival or of its split.
//
// It is pure: no goroutine, no clock, no I/O (zones come from the binary where the
// machine has none). A value that cannot be read is an error, never now and never
// 1970. The source task calls it, and the decoder for fields of type timestamp.
package timestamp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones are there on machines without a zone database too

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Reason says in one word why a record has no usable time. Written to bad outputs
// and used as a metric's label: never change one.
type Reason string

const (
	MissingTime Reason = "missing_time" // absent, null or empty
	BadTime     Reason = "bad_time"
	Future      Reason = "future"
	Jump        Reason = "jump"
)

// Error is why a token gives no time.
type Error struct {
	Reason  Reason
	Message string // names the field
}

func (e *Error) Error() string { return e.Message }

// Assigner reads the event time of records. It is immutable and safe for
// concurrent use.
type Assigner struct {
	field  string
	unit   string
	parse  func(text []byte) (stream.Time, string) // the text of a token; why not
	number bool                                    // a unit of numbers
	shift  int                                     // of a number: milliseconds = value × 10^shift
}

// shifts are the units of numbers.
var shifts = map[string]int{"s": 3, "ms": 0, "us": -3, "ns": -6}

// farthest is how many milliseconds from 1970 an event may be, either way. Windows,
// lateness and timers are laid out around it with room to the ends of 64 bits, where
// their sums would saturate; and what lies beyond is a wrong unit or a placeholder.
// It also keeps the two times out that mean something else (S2, S13).
const farthest = stream.Time(1) << 62

const whyFar = "more than 146 million years from 1970, where no window can be laid out"

// New returns the assigner for a job's time. A layout is tried on a sample date, so
// that one which loses the year or half of the day is refused here (ErrUser).
func New(spec job.TimeSpec) (*Assigner, error) {
	a := &Assigner{field: strings.Join(spec.Path, "."), unit: spec.Unit}
	shift, number := shifts[spec.Unit]
	switch {
	case number:
		a.number, a.shift = true, shift
		a.parse = func(text []byte) (stream.Time, string) { return parseNumber(text, shift) }
	case spec.Unit == "rfc3339":
		a.parse = parseRFC3339
	case spec.Unit == "layout":
		l, err := newLayout(spec.Layout, spec.Zone)
		if err != nil {
			return nil, fmt.Errorf("time of field %s: %w", a.field, err)
		}
		a.parse = l.parse
	default:
		return nil, fault.Userf("time of field %s: unknown unit %q, there are s, ms, us, ns, rfc3339 and layout", a.field, spec.Unit)
	}
	return a, nil
}

// Parse reads a token: a number or text as it stands in the record, JSON text in
// its quotes. Numbers may stand in quotes too. The time is at most 2^62 ms from 1970.
// The error is an *Error. token is borrowed. Called per record; it allocates only for a layout, for text with
// escapes and on error.
func (a *Assigner) Parse(token []byte) (stream.Time, error) {
	if a.number && a.shift == 0 {
		if t, ok := plainMillis(token); ok {
			return t, nil
		}
	}
	text := token
	if len(token) > 0 && token[0] == '"' {
		if len(token) < 2 || token[len(token)-1] != '"' {
			return 0, a.bad(token, "a closing quote is missing")
		}
		text = token[1 : len(token)-1]
		if len(text) == 0 {
			return 0, &Error{MissingTime, "time field " + a.field + " is empty"}
		}
		if bytes.IndexByte(text, '\\') >= 0 {
			var s string
			if err := json.Unmarshal(token, &s); err != nil {
				return 0, a.bad(token, "the escapes cannot be read")
			}
			text = []byte(s)
		}
	} else if len(token) == 0 {
		return 0, &Error{MissingTime, "time field " + a.field + " is missing"}
	} else if string(token) == "null" {
		return 0, &Error{MissingTime, "time field " + a.field + " is null"}
	}
	t, why := a.parse(text)
	if why != "" {
		return 0, a.bad(token, why)
	}
	if t < -farthest || t > farthest {
		return 0, a.bad(token, whyFar)
	}
	return t, nil
}

func (a *Assigner) bad(token []byte, why string) *Error {
	const most = 48 // enough to recognise a value, short enough for one line
	shown := string(token[:min(len(token), most)])
	if len(token) > most {
		shown += "…"
	}
	return &Error{BadTime, fmt.Sprintf("time field %s: %s is no time in %s: %s", a.field, shown, a.unit, why)}
}

// Date shows a time in messages, also where the year has more than four digits.
func Date(t stream.Time) string {
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05.000Z")
}
