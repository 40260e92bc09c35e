package expr

import (
	"math"
	"strconv"
)

// toInt is int(x): a float loses its fraction, a timestamp becomes seconds since 1970.
type toInt struct {
	out
	x node
}

func (t *toInt) eval(c *chunk) *vector {
	x, n := t.x.eval(c), c.n()
	v := t.reset(n)
	t.strict(n, x)
	for i := range v.ints {
		if t.skip(i) {
			continue
		}
		switch t.x.kind() {
		case floatKind:
			f := x.floats[i]
			if f <= math.MinInt64 || f >= math.MaxInt64 { // as CEL has it: the ends are not in
				t.setBad(i, n, overflow)
				continue
			}
			v.ints[i] = int64(f)
		case textKind:
			var err error
			if v.ints[i], err = strconv.ParseInt(string(x.texts[i]), 10, 64); err != nil {
				t.setBad(i, n, notNumber)
			}
		default:
			v.ints[i] = floorDiv(x.ints[i], 1000)
		}
	}
	return v
}

// floorDiv divides by a positive number and rounds down, also before 1970.
func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y < 0 {
		q--
	}
	return q
}

// toFloat is double(x).
type toFloat struct {
	out
	x node
}

func (t *toFloat) eval(c *chunk) *vector {
	x, n := t.x.eval(c), c.n()
	v := t.reset(n)
	t.strict(n, x)
	for i := range v.floats {
		switch {
		case t.skip(i):
		case t.x.kind() == intKind:
			v.floats[i] = float64(x.ints[i])
		default:
			f, err := strconv.ParseFloat(string(x.texts[i]), 64)
			if err != nil || f-f != 0 {
				t.setBad(i, n, notNumber)
			}
			v.floats[i] = f
		}
	}
	return v
}
