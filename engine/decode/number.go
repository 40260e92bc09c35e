package decode

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unsafe"
)

// number is a number taken apart: ± mant × 10^exp. With more than 19 digits the
// mantissa has wrapped and only the text counts.
type number struct {
	mant   uint64
	exp    int
	digits int // of the mantissa, leading zeros included
	neg    bool
	whole  bool // neither fraction nor exponent
}

// maxExponent caps what an exponent is read as: beyond it a double is 0 or out of
// range whatever the digits are, given that a record has at most maxRecordLimit.
const maxExponent = 1 << 30

// number scans a number at d[i] and takes it apart. It returns the place behind it,
// or -1. The caller checks what follows.
func (s *scan) number(d []byte, i int, n *number) int {
	n.neg = d[i] == '-'
	if n.neg {
		i++
	}
	start := i
	var m uint64
	for c := d[i] - '0'; c <= 9; c = d[i] - '0' {
		m = m*10 + uint64(c)
		i++
	}
	n.digits = i - start
	if n.digits == 0 {
		return s.unexpected(d, i, "a digit")
	}
	if d[start] == '0' && n.digits > 1 {
		return s.unexpected(d, start+1, "no digit after a leading 0")
	}
	n.exp, n.whole = 0, true
	if d[i] == '.' {
		i++
		frac := i
		for c := d[i] - '0'; c <= 9; c = d[i] - '0' {
			m = m*10 + uint64(c)
			i++
		}
		if i == frac {
			return s.unexpected(d, i, "a digit after the point")
		}
		n.exp, n.whole = frac-i, false
		n.digits += i - frac
	}
	n.mant = m
	if d[i]|0x20 == 'e' {
		i++
		n.whole = false
		neg := d[i] == '-'
		if neg || d[i] == '+' {
			i++
		}
		first, e := i, 0
		for c := d[i] - '0'; c <= 9; c = d[i] - '0' {
			if e < maxExponent/10 {
				e = e*10 + int(c)
			}
			i++
		}
		if i == first {
			return s.unexpected(d, i, "a digit of the exponent")
		}
		if neg {
			e = -e
		}
		n.exp += e
	}
	return i
}

// skipNumber only checks a number at d[i].
func (s *scan) skipNumber(d []byte, i int) int {
	if d[i] == '-' {
		i++
	}
	start := i
	i = skipDigits(d, i)
	if i == start {
		return s.unexpected(d, i, "a digit")
	}
	if d[start] == '0' && i > start+1 {
		return s.unexpected(d, start+1, "no digit after a leading 0")
	}
	if d[i] == '.' {
		frac := i + 1
		if i = skipDigits(d, frac); i == frac {
			return s.unexpected(d, i, "a digit after the point")
		}
	}
	if d[i]|0x20 == 'e' {
		i++
		if d[i] == '-' || d[i] == '+' {
			i++
		}
		first := i
		if i = skipDigits(d, i); i == first {
			return s.unexpected(d, i, "a digit of the exponent")
		}
	}
	return i
}

// skipDigits returns the place behind the digits at d[i].
func skipDigits(d []byte, i int) int {
	for i+8 <= len(d) {
		w := binary.LittleEndian.Uint64(d[i:])
		// A byte is no digit if adding 0x46 carries into its high bit (above '9'),
		// subtracting 0x30 borrows (below '0'), or it is no ASCII.
		hit := ((w + lows*0x46) | (w - lows*0x30)) & highs
		if hit == 0 {
			i += 8
			continue
		}
		return i + bits.TrailingZeros64(hit)>>3
	}
	for d[i]-'0' <= 9 {
		i++
	}
	return i
}

// int64 returns the value, if it fits. Only for whole numbers.
func (n *number) int64() (int64, bool) {
	if n.digits > 19 { // 10^19 is above 2^63; 19 digits do not wrap
		return 0, false
	}
	if n.neg {
		return -int64(n.mant), n.mant <= 1<<63
	}
	return int64(n.mant), n.mant <= math.MaxInt64
}

// pow10 are the powers of ten that a double holds exactly.
var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// float64 returns the nearest double of the number, whose text is given, and
// whether it is finite.
func (n *number) float64(text []byte) (float64, bool) {
	// One operation on two exact doubles rounds once, hence correctly.
	if n.digits <= 19 && n.mant < 1<<53 && -22 <= n.exp && n.exp <= 22 {
		f := float64(n.mant)
		if n.exp < 0 {
			f /= pow10[-n.exp]
		} else {
			f *= pow10[n.exp]
		}
		if n.neg {
			f = -f
		}
		return f, true
	}
	// ParseFloat keeps no reference to its argument unless it fails, and its error
	// holds a copy.
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	return f, err == nil
}
