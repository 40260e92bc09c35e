package expr

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// concat is + of two texts.
type concat struct {
	out
	l, r node
}

func (t *concat) eval(c *chunk) *vector {
	x, y, n := t.l.eval(c), t.r.eval(c), c.n()
	v := t.reset(n)
	t.strict(n, x, y)
	for i := range v.texts {
		if t.skip(i) {
			continue
		}
		if !c.room(i, len(x.texts[i])+len(y.texts[i])) {
			t.setBad(i, n, longText)
			continue
		}
		at := len(c.text)
		c.text = append(c.text, x.texts[i]...)
		c.text = append(c.text, y.texts[i]...)
		v.texts[i] = c.text[at:len(c.text):len(c.text)]
	}
	return v
}

// room takes size bytes from what may be made for record i.
func (c *chunk) room(i, size int) bool {
	if size > maxText-int(c.used[i]) {
		return false
	}
	c.used[i] += uint32(size)
	return true
}

// textTest is contains, startsWith or endsWith. With a null it is false.
type textTest struct {
	out
	test func(text, part []byte) bool
	l, r node
}

func (t *textTest) eval(c *chunk) *vector {
	x, y, n := t.l.eval(c), t.r.eval(c), c.n()
	v := t.reset(n)
	t.blame(n, x, y)
	for i := range v.bools {
		v.bools[i] = !x.isNull(i) && !y.isNull(i) && t.test(x.texts[i], y.texts[i])
	}
	return v
}

func textTestOf(name string) func(text, part []byte) bool {
	switch name {
	case "contains":
		return bytes.Contains
	case "startsWith":
		return bytes.HasPrefix
	case "endsWith":
		return bytes.HasSuffix
	}
	return nil
}

// match is matches with a constant pattern. Its time is linear in the text: RE2.
type match struct {
	out
	x  node
	re *regexp.Regexp
}

func (m *match) eval(c *chunk) *vector {
	x, n := m.x.eval(c), c.n()
	v := m.reset(n)
	m.blame(n, x)
	for i := range v.bools {
		v.bools[i] = !x.isNull(i) && x.why(i) == fine && m.re.Match(x.texts[i])
	}
	return v
}

// size is the number of characters of a text.
type size struct {
	out
	x node
}

func (s *size) eval(c *chunk) *vector {
	x, n := s.x.eval(c), c.n()
	v := s.reset(n)
	s.strict(n, x)
	for i := range v.ints {
		if !s.skip(i) {
			v.ints[i] = int64(utf8.RuneCount(x.texts[i]))
		}
	}
	return v
}

// toText is string(x).
type toText struct {
	out
	x node
}

func (t *toText) eval(c *chunk) *vector {
	x, n := t.x.eval(c), c.n()
	v := t.reset(n)
	t.strict(n, x)
	for i := range v.texts {
		if t.skip(i) {
			continue
		}
		at := len(c.text)
		switch t.x.kind() {
		case intKind:
			c.text = strconv.AppendInt(c.text, x.ints[i], 10)
		case floatKind:
			c.text = strconv.AppendFloat(c.text, x.floats[i], 'g', -1, 64)
		case boolKind:
			c.text = strconv.AppendBool(c.text, x.bools[i])
		default:
			c.text = appendInstant(c.text, x.ints[i])
		}
		if !c.room(i, len(c.text)-at) {
			c.text = c.text[:at]
			t.setBad(i, n, longText)
			continue
		}
		v.texts[i] = c.text[at:len(c.text):len(c.text)]
	}
	return v
}
