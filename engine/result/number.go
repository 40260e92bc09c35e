package result

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// appendInt appends n in decimal.
func appendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return appendUint(append(dst, '-'), -uint64(n))
	}
	return appendUint(dst, uint64(n))
}

// appendUint appends n in decimal. strconv writes digits into a buffer by twos and copies
// them from there in larger words, for which a processor waits (BenchmarkAppendUint).
func appendUint(dst []byte, n uint64) []byte {
	if n < 10 {
		return append(dst, byte('0'+n))
	}
	at := len(dst) + digits(n)
	dst = slices.Grow(dst, 20)[:at]
	for n >= 10 {
		at -= 2
		appendTwo(dst[:at], int(n%100))
		n /= 100
	}
	if n > 0 {
		dst[at-1] = byte('0' + n)
	}
	return dst
}

// digits is the number of decimal digits of n, which is not 0.
func digits(n uint64) int {
	d := bits.Len64(n) * 1233 >> 12 // times log 2: d or d+1 digits
	if n >= powers[d] {
		d++
	}
	return d
}

// powers has those of ten.
var powers = func() (p [20]uint64) {
	for i, n := 0, uint64(1); i < len(p); i, n = i+1, n*10 {
		p[i] = n
	}
	return p
}()

// appendTwo appends a number below 100 with two digits.
func appendTwo(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// appendFloat appends the shortest decimal that reads back as f, as encoding/json
// writes it. f must be finite: aggregates are held to that before a row is built.
func appendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	if n, ok := thousandths(abs); ok {
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return appendThousandths(dst, n)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic(fmt.Sprintf("BUG: result value %v", f))
	}
	if abs < 1e-6 || abs >= 1e21 {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1] // e-09 is e-9
			dst = dst[:n-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// thousandths returns abs, which is not negative, in thousandths, if it is what a decimal
// of at most three places and 15 digits reads as. That one is the shortest, and need not
// be searched for: two such decimals never read as the same float, so no other one does.
// Counts, prices and sums of many of them are like that (BenchmarkAppendFloat).
func thousandths(abs float64) (n uint64, ok bool) {
	if abs >= 1e12 {
		return 0, false
	}
	n = uint64(abs*1000 + 0.5)       // the product is off by less than a quarter
	return n, float64(n)/1000 == abs // a division rounds as reading the decimal does
}

// appendThousandths appends n / 1000 without zeros at the end.
func appendThousandths(dst []byte, n uint64) []byte {
	dst = appendUint(dst, n/1000)
	switch r := n % 1000; {
	case r == 0:
		return dst
	case r%100 == 0:
		return append(dst, '.', byte('0'+r/100))
	case r%10 == 0:
		return append(dst, '.', byte('0'+r/100), byte('0'+r/10%10))
	default:
		return append(dst, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
	}
}

// hexDigits returns the eight digits of n, the first one in the highest byte: all of them
// at once, as an id of 32 shows in a row (BenchmarkEncoder).
func hexDigits(n uint32) uint64 {
	d := uint64(n)
	d = (d | d<<16) & 0x0000ffff0000ffff
	d = (d | d<<8) & 0x00ff00ff00ff00ff
	d = (d | d<<4) & 0x0f0f0f0f0f0f0f0f // a digit a byte
	letter := (d + 0x0606060606060606) >> 4 & 0x0101010101010101
	return d + 0x3030303030303030 + letter*('a'-'9'-1)
}
