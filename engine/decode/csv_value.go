package decode

import (
	"tidemark/engine/stream"
	"tidemark/engine/timestamp"
)

// text returns what a field says. Doubled quotes are undone at the end of dst.
func (sp span) text(dst, d []byte) []byte {
	if !sp.doubled {
		return d[sp.start:sp.end]
	}
	off := len(dst)
	for i := sp.start; i < sp.end; i++ {
		dst = append(dst, d[i])
		if d[i] == '"' {
			i++ // its twin
		}
	}
	return dst[off:]
}

// value gives field f the text of sp. Called per record and field.
func (c *csvRecords) value(d []byte, f int, sp span) {
	at := piece(sp.start, sp.end)
	if sp.doubled {
		off := len(c.out)
		c.out = append(c.out, sp.text(nil, d)...)
		at = piece(off, len(c.out))
	}
	cl := &c.row.cells[f]
	kind := c.row.kinds[f]
	if kind == stream.String {
		*cl = cell{state: present, text: at}
		return
	}
	if at.Len == 0 {
		cl.state = null
		return
	}
	text := at.Bytes(c.out)
	switch kind {
	case stream.Token:
		*cl = cell{state: present, text: at}
		return
	case stream.Bool:
		switch string(text) {
		case "true", "True", "TRUE":
			*cl = cell{state: present, num: 1}
		case "false", "False", "FALSE":
			*cl = cell{state: present}
		default:
			c.row.fail(f, misText, at)
		}
		return
	}
	var n number
	if !n.read(text) {
		if kind == stream.Timestamp {
			if t, err := timestamp.ParseRFC3339(text); err == nil {
				*cl = cell{state: present, num: uint64(t)}
				return
			}
		}
		c.row.fail(f, misText, at)
		return
	}
	if kind == stream.Float64 {
		v, ok := n.float64(text)
		if !ok {
			c.row.fail(f, misRange, at)
			return
		}
		cl.setFloat(v)
		return
	}
	if !n.whole {
		c.row.fail(f, misFraction, at)
		return
	}
	v, ok := n.int64()
	if !ok {
		c.row.fail(f, misRange, at)
		return
	}
	cl.state, cl.num = present, uint64(v)
}

// read takes apart a number as CSV has them: like JSON's, but a sign + and leading
// zeros are fine, and one side of the point may be empty.
func (n *number) read(text []byte) bool {
	*n = number{whole: true}
	i := 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		n.neg = text[i] == '-'
		i++
	}
	some := false
	add := func() {
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			n.mant = n.mant*10 + uint64(text[i]-'0')
			if n.mant > 0 {
				n.digits++
			}
			some = true
		}
	}
	add()
	if i < len(text) && text[i] == '.' {
		i++
		first := i
		add()
		n.exp, n.whole = first-i, false
	}
	if !some {
		return false
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		n.whole = false
		i++
		neg := false
		if i < len(text) && (text[i] == '-' || text[i] == '+') {
			neg = text[i] == '-'
			i++
		}
		first, e := i, 0
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			if e < maxExponent/10 {
				e = e*10 + int(text[i]-'0')
			}
		}
		if i == first {
			return false
		}
		if neg {
			e = -e
		}
		n.exp += e
	}
	return i == len(text)
}
