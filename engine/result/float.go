package result

import (
	"fmt"
	"math"
	"strconv"
)

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
	dst = strconv.AppendUint(dst, n/1000, 10)
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
