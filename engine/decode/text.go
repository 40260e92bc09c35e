package decode

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is scanned eight bytes at a time: in a word, the lowest byte that is
// special is found by arithmetic on all eight at once. Borrows only run upwards,
// so the lowest hit is exact, and that is the one that counts.
const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of w that end or interrupt a string: quote, backslash,
// control characters.
func special(w uint64) uint64 {
	quote := w ^ lows*'"'
	slash := w ^ lows*'\\'
	return ((quote - lows) &^ quote & highs) | ((slash - lows) &^ slash & highs) | ((w - lows*0x20) &^ w & highs)
}

// text scans a string whose first byte (behind the quote) is d[i]. It returns the
// place of the closing quote and whether there are escapes, or -1. Escapes and
// UTF-8 are checked.
func (s *scan) text(d []byte, i int) (end int, escaped bool) {
	start := i
	var high uint64
	for i+8 <= len(d) {
		w := binary.LittleEndian.Uint64(d[i:])
		hit := special(w)
		if hit == 0 {
			high |= w
			i += 8
			continue
		}
		n := bits.TrailingZeros64(hit) &^ 7 // bits before the hit
		high |= w & (1<<n - 1)
		i += n >> 3
		break
	}
	// At the very end of the blob, byte by byte.
	for d[i] >= 0x20 && d[i] != '"' && d[i] != '\\' {
		high |= uint64(d[i])
		i++
	}
	if d[i] == '"' {
		if high&highs != 0 && !utf8.Valid(d[start:i]) {
			return s.fault(i, InvalidUTF8, "text that is not UTF-8"), false
		}
		return i, false
	}
	return s.escapedText(d, start, i)
}

// escapedText goes on at i, where text met something unusual.
func (s *scan) escapedText(d []byte, start, i int) (end int, escaped bool) {
	for {
		switch c := d[i]; {
		case c == '"':
			if !utf8.Valid(d[start:i]) {
				return s.fault(i, InvalidUTF8, "text that is not UTF-8"), false
			}
			return i, true
		case c < 0x20:
			return s.unexpected(d, i, "text or a closing quote"), false
		case c != '\\':
			i++
		default:
			switch d[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				r, ok := hex4(d, i+2)
				if !ok {
					return s.unexpected(d, i+2, "four hexadecimal digits after \\u"), false
				}
				if !utf16.IsSurrogate(r) {
					i += 6
					continue
				}
				low := rune(0)
				if r < 0xDC00 && d[i+6] == '\\' && d[i+7] == 'u' {
					low, _ = hex4(d, i+8)
				}
				if low < 0xDC00 || low > 0xDFFF {
					return s.fault(i, InvalidUTF8, "an escape for half of a surrogate pair"), false
				}
				i += 12
			default:
				return s.unexpected(d, i+1, "an escape sequence"), false
			}
		}
	}
}

// hex4 reads four hexadecimal digits. Nothing behind the line end is looked at.
func hex4(d []byte, i int) (rune, bool) {
	var r rune
	for range 4 {
		c := d[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = (c | 0x20) - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
		i++
	}
	return r, true
}

// unescape appends the text of a string that escapedText has checked.
func unescape(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		c := src[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		i += 2
		switch src[i-1] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(src, i)
			i += 4
			if utf16.IsSurrogate(r) {
				low, _ := hex4(src, i+2)
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
		default: // quote, backslash, slash
			dst = append(dst, src[i-1])
		}
	}
	return dst
}
