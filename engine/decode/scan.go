package decode

import (
	"fmt"
	"unicode/utf8"

	"tidemark/engine/stream"
	"tidemark/engine/timestamp"
)

// scan checks one JSON text against RFC 8259 and takes out the values of the
// projection, in one pass. Places are indexes into the blob d, in which every text
// ends in a newline: that byte is valid nowhere inside a text on one line, so each
// loop stops at it and none has to look for the end of the slice.
//
// A failure is written down once, and a negative place is passed up.
type scan struct {
	row      row
	maxDepth int
	out      []byte // the blob, to append unescaped text to
	name     []byte // scratch: a name with escapes
	num      number // scratch

	failAt      int
	failReason  Reason
	failMessage string
}

// fault notes why the text is bad.
func (s *scan) fault(at int, reason Reason, message string) int {
	s.failAt, s.failReason, s.failMessage = at, reason, message
	return -1
}

// unexpected notes that something else stands where want should.
func (s *scan) unexpected(d []byte, at int, want string) int {
	found := "the end of the line"
	if d[at] != '\n' {
		r, _ := utf8.DecodeRune(d[at:])
		found = fmt.Sprintf("%q", r)
	}
	return s.fault(at, InvalidJSON, "expected "+want+", found "+found)
}

// space skips blanks.
func space(d []byte, i int) int {
	for d[i] == ' ' || d[i] == '\t' || d[i] == '\r' {
		i++
	}
	return i
}

// object scans the rest of an object that was opened before d[i], at the given
// depth, and returns the place behind it.
func (s *scan) object(d []byte, i int, n *node, depth int) int {
	if i = space(d, i); d[i] == '}' {
		return i + 1
	}
	for k := 0; ; k++ {
		e, past := n.expected(d, i, k)
		if past < 0 {
			if d[i] != '"' {
				return s.unexpected(d, i, "a name in quotes")
			}
			end, escaped := s.text(d, i+1)
			if end < 0 {
				return end
			}
			name := d[i+1 : end]
			if escaped {
				s.name = unescape(s.name[:0], name)
				name = s.name
			}
			if past = end + 1; d[past] != ':' {
				if past = space(d, past); d[past] != ':' {
					return s.unexpected(d, past, "a colon")
				}
			}
			past++
			e = n.find(name)
			n.expect(d[i:past], k, e)
		}
		if i = past; d[i] <= ' ' {
			i = space(d, i)
		}
		if e != nil {
			i = s.entry(d, i, e, depth)
		} else {
			i = s.skip(d, i, depth)
		}
		if i < 0 {
			return i
		}
		if d[i] <= ' ' {
			i = space(d, i)
		}
		if d[i] != ',' {
			if d[i] == '}' {
				return i + 1
			}
			return s.unexpected(d, i, "a comma or a closing brace")
		}
		if i++; d[i] <= ' ' {
			i = space(d, i)
		}
	}
}

// array scans the rest of an array, of which nothing is taken out.
func (s *scan) array(d []byte, i, depth int) int {
	if i = space(d, i); d[i] == ']' {
		return i + 1
	}
	for {
		if i = s.skip(d, i, depth); i < 0 {
			return i
		}
		i = space(d, i)
		if d[i] == ']' {
			return i + 1
		}
		if d[i] != ',' {
			return s.unexpected(d, i, "a comma or a closing bracket")
		}
		i = space(d, i+1)
	}
}

// skip checks a value inside a container of the given depth.
func (s *scan) skip(d []byte, i, depth int) int {
	switch c := d[i]; {
	case c == '"':
		end, _ := s.text(d, i+1)
		if end < 0 {
			return end
		}
		return end + 1
	case c == '-' || c-'0' <= 9:
		return s.skipNumber(d, i)
	case c == '{':
		if depth++; depth > s.maxDepth {
			return s.tooDeep(i)
		}
		return s.object(d, i+1, nil, depth)
	case c == '[':
		if depth++; depth > s.maxDepth {
			return s.tooDeep(i)
		}
		return s.array(d, i+1, depth)
	case c == 't':
		return s.literal(d, i, "true")
	case c == 'f':
		return s.literal(d, i, "false")
	case c == 'n':
		return s.literal(d, i, "null")
	}
	return s.unexpected(d, i, "a value")
}

func (s *scan) tooDeep(i int) int {
	return s.fault(i, TooDeep, fmt.Sprintf("nested deeper than %d levels", s.maxDepth))
}

// literal checks one of the three words.
func (s *scan) literal(d []byte, i int, word string) int {
	for k := range len(word) {
		if d[i+k] != word[k] {
			return s.unexpected(d, i+k, word)
		}
	}
	return i + len(word)
}

// entry scans a value that the projection wants, inside an object of the given
// depth.
func (s *scan) entry(d []byte, i int, e *entry, depth int) int {
	for _, f := range e.below { // an earlier value of this name does not count
		s.row.cells[f].state = absent
	}
	start := i
	c := d[i]
	switch {
	case c == '"':
		end, escaped := s.text(d, i+1)
		if end < 0 {
			return end
		}
		i = end + 1
		for _, f := range e.fields {
			s.takeText(d, f, start, i, escaped)
		}
	case c == '-' || c-'0' <= 9:
		if i = s.number(d, i, &s.num); i < 0 {
			return i
		}
		for _, f := range e.fields {
			s.takeNumber(d, f, start, i)
		}
	case c == '{':
		if depth++; depth > s.maxDepth {
			return s.tooDeep(i)
		}
		if i = s.object(d, i+1, e.inner, depth); i < 0 {
			return i
		}
		s.takeOther(e, start, i, misObject)
		return i
	default:
		if i = s.skip(d, i, depth); i < 0 {
			return i
		}
		switch c {
		case '[':
			s.takeOther(e, start, i, misArray)
		case 'n':
			s.takeNull(e, start, i)
			return i
		default:
			s.takeBool(e, start, i, c == 't')
		}
	}
	for _, f := range e.below {
		s.row.fail(f, misNotObject, piece(start, i))
	}
	return i
}

func piece(start, end int) stream.Str {
	return stream.Str{Off: uint32(start), Len: uint32(end - start)}
}

// takeText gives field f a string; d[start:end] has its quotes.
func (s *scan) takeText(d []byte, f, start, end int, escaped bool) {
	c := &s.row.cells[f]
	switch s.row.kinds[f] {
	case stream.String:
		*c = cell{state: present, text: s.unquoted(d, start, end, escaped)}
	case stream.Token:
		*c = cell{state: present, text: piece(start, end)}
	case stream.Timestamp:
		t, err := timestamp.ParseRFC3339(s.unquoted(d, start, end, escaped).Bytes(s.out))
		if err != nil {
			s.row.fail(f, misDate, piece(start, end))
			return
		}
		*c = cell{state: present, num: uint64(t)}
	default:
		s.row.fail(f, misString, piece(start, end))
	}
}

// unquoted returns the text of a string, which lies in the blob or is put there.
func (s *scan) unquoted(d []byte, start, end int, escaped bool) stream.Str {
	if !escaped {
		return piece(start+1, end-1)
	}
	off := len(s.out)
	s.out = unescape(s.out, d[start+1:end-1])
	return piece(off, len(s.out))
}

// takeNumber gives field f the number in s.num.
func (s *scan) takeNumber(d []byte, f, start, end int) {
	c := &s.row.cells[f]
	switch s.row.kinds[f] {
	case stream.Float64:
		v, ok := s.num.float64(d[start:end])
		if !ok {
			s.row.fail(f, misRange, piece(start, end))
			return
		}
		c.setFloat(v)
	case stream.Int64, stream.Timestamp:
		if !s.num.whole {
			s.row.fail(f, misFraction, piece(start, end))
			return
		}
		v, ok := s.num.int64()
		if !ok {
			s.row.fail(f, misRange, piece(start, end))
			return
		}
		c.state, c.num = present, uint64(v)
	case stream.Token:
		c.state, c.text = present, piece(start, end)
	default:
		s.row.fail(f, misNumber, piece(start, end))
	}
}

// takeBool gives e's fields a boolean.
func (s *scan) takeBool(e *entry, start, end int, v bool) {
	for _, f := range e.fields {
		c := &s.row.cells[f]
		switch s.row.kinds[f] {
		case stream.Bool:
			*c = cell{state: present}
			if v {
				c.num = 1
			}
		case stream.Token:
			*c = cell{state: present, text: piece(start, end)}
		default:
			s.row.fail(f, misBool, piece(start, end))
		}
	}
}

// takeNull gives e's fields a null; those inside it have been made absent.
func (s *scan) takeNull(e *entry, start, end int) {
	for _, f := range e.fields {
		if s.row.kinds[f] == stream.Token {
			s.row.cells[f] = cell{state: present, text: piece(start, end)}
		} else {
			s.row.cells[f].state = null
		}
	}
}

// takeOther gives e's fields an object or an array. As a token it stands as it is,
// for the timestamp assigner to refuse.
func (s *scan) takeOther(e *entry, start, end int, m misfit) {
	for _, f := range e.fields {
		if s.row.kinds[f] == stream.Token {
			s.row.cells[f] = cell{state: present, text: piece(start, end)}
		} else {
			s.row.fail(f, m, piece(start, end))
		}
	}
}
