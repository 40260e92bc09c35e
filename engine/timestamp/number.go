package timestamp

import (
	"encoding/binary"
	"math"

	"tidemark/engine/stream"
)

const (
	whyDigits   = "not a number"
	whyWhole    = "a whole number is needed"
	whyOverflow = "out of range"
)

// plainMillis reads 8 to 18 digits, which is how nearly every time in milliseconds
// looks; ok is false for anything else. Eight digits are read at once. Called per
// record.
func plainMillis(text []byte) (t stream.Time, ok bool) {
	if len(text) < 8 || len(text) > 18 {
		return 0, false
	}
	w := binary.LittleEndian.Uint64(text)
	// Each byte is a digit if its upper half is 3, also after adding 6.
	if w&0xf0f0f0f0f0f0f0f0|(w+0x0606060606060606)&0xf0f0f0f0f0f0f0f0>>4 != 0x3333333333333333 {
		return 0, false
	}
	// The first digit is in the lowest byte. Neighbours join to pairs, pairs to fours,
	// fours to eight.
	w -= 0x3030303030303030
	w = (w*10 + w>>8) & 0x00ff00ff00ff00ff
	w = (w*100 + w>>16) & 0x0000ffff0000ffff
	v := int64((w*10000 + w>>32) & 0xffffffff)
	for _, c := range text[8:] {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	return stream.Time(v), true
}

// parseNumber reads value × 10^shift milliseconds, exactly, floored towards minus
// infinity. Fractions and exponents are for seconds and milliseconds only: what
// produces us and ns has integers, and a double has lost their end already.
//
// The form is [-]digits[.digits][e[±]digits].
func parseNumber(text []byte, shift int) (stream.Time, string) {
	rest := text
	neg := len(rest) > 0 && rest[0] == '-'
	if neg {
		rest = rest[1:]
	}
	whole := digits(rest)
	rest = rest[len(whole):]
	if len(whole) == 0 {
		return 0, whyDigits
	}
	var frac []byte
	if len(rest) > 0 && rest[0] == '.' {
		frac = digits(rest[1:])
		if rest = rest[1+len(frac):]; len(frac) == 0 {
			return 0, whyDigits
		}
	}
	exp := 0
	scientific := len(rest) > 0 && rest[0]|0x20 == 'e'
	if scientific {
		rest = rest[1:]
		sign := 1
		if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
			if rest[0] == '-' {
				sign = -1
			}
			rest = rest[1:]
		}
		ds := digits(rest)
		if rest = rest[len(ds):]; len(ds) == 0 {
			return 0, whyDigits
		}
		for _, c := range ds {
			exp = min(exp*10+int(c-'0'), maxExponent)
		}
		exp *= sign
	}
	if len(rest) > 0 {
		return 0, whyDigits
	}
	if shift < 0 && (frac != nil || scientific) {
		return 0, whyWhole
	}

	// The digits of whole and frac form one number; the first n of them, filled up
	// with zeros, are the milliseconds, and what is behind decides the floor.
	n := len(whole) + exp + shift
	limit := uint64(math.MaxInt64)
	if neg {
		limit++
	}
	var v uint64
	rounded := false
	for i := range len(whole) + len(frac) {
		c := byte(0)
		if i < len(whole) {
			c = whole[i] - '0'
		} else {
			c = frac[i-len(whole)] - '0'
		}
		if i >= n {
			rounded = rounded || c != 0
			continue
		}
		if v > (math.MaxUint64-9)/10 {
			return 0, whyOverflow
		}
		v = v*10 + uint64(c)
	}
	for i := len(whole) + len(frac); i < n && v > 0; i++ {
		if v > math.MaxUint64/10 {
			return 0, whyOverflow
		}
		v *= 10
	}
	if neg && rounded {
		v++
	}
	if v > limit {
		return 0, whyOverflow
	}
	if neg {
		return stream.Time(-int64(v)), ""
	}
	return stream.Time(v), ""
}

// maxExponent is beyond every exponent that a value in range can have, given that
// no record has as many digits as that.
const maxExponent = 1 << 30

// digits returns the digits that text starts with.
func digits(text []byte) []byte {
	n := 0
	for n < len(text) && text[n]-'0' <= 9 {
		n++
	}
	return text[:n:n]
}
