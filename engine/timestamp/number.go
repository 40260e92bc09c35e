package timestamp

import (
	"math"

	"tidemark/engine/stream"
)

const (
	whyDigits   = "not a number"
	whyWhole    = "a whole number is needed"
	whyOverflow = "out of range"
)

// parseNumber reads value × 10^shift milliseconds, exactly, floored towards minus
// infinity. Fractions and exponents are for seconds and milliseconds only: what
// produces us and ns has integers, and a double has lost their end already.
func parseNumber(text []byte, shift int) (stream.Time, string) {
	if shift == 0 && 0 < len(text) && len(text) <= 18 { // by far the most common
		var v int64
		for _, c := range text {
			c -= '0'
			if c > 9 {
				return parseDecimal(text, shift)
			}
			v = v*10 + int64(c)
		}
		return stream.Time(v), ""
	}
	return parseDecimal(text, shift)
}

// parseDecimal is parseNumber for every other form: [-]digits[.digits][e[±]digits].
func parseDecimal(text []byte, shift int) (stream.Time, string) {
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
