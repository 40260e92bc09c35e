package expr

import (
	"math"
	"math/bits"
)

// arithmetic is an operator of two numbers of one type, or of times and durations,
// which are integers too.
type arithmetic struct {
	out
	op   byte // + - * / %
	l, r node
}

func (a *arithmetic) eval(c *chunk) *vector {
	x, y, n := a.l.eval(c), a.r.eval(c), c.n()
	v := a.reset(n)
	a.strict(n, x, y)
	if a.k == floatKind {
		a.floats(v, x.floats, y.floats)
	} else {
		a.integers(v, x.ints, y.ints)
	}
	return v
}

func (a *arithmetic) floats(v *vector, x, y []float64) {
	dst := v.floats
	switch a.op {
	case '+':
		for i := range dst {
			dst[i] = x[i] + y[i]
		}
	case '-':
		for i := range dst {
			dst[i] = x[i] - y[i]
		}
	case '*':
		for i := range dst {
			dst[i] = x[i] * y[i]
		}
	case '/':
		for i := range dst {
			dst[i] = x[i] / y[i]
		}
	}
	for i, f := range dst {
		if f-f != 0 && !a.skip(i) {
			why := notFinite
			if a.op == '/' && y[i] == 0 {
				why = zeroDivision
			}
			a.setBad(i, len(dst), why)
		}
	}
}

func (a *arithmetic) integers(v *vector, x, y []int64) {
	dst := v.ints
	refuse := func(i int, why reason) {
		if !a.skip(i) {
			a.setBad(i, len(dst), why)
		}
	}
	switch a.op {
	case '+':
		for i := range dst {
			dst[i] = x[i] + y[i]
			if (x[i]^dst[i])&(y[i]^dst[i]) < 0 { // both signs differ from the sum's
				refuse(i, overflow)
			}
		}
	case '-':
		for i := range dst {
			dst[i] = x[i] - y[i]
			if (x[i]^y[i])&(x[i]^dst[i]) < 0 {
				refuse(i, overflow)
			}
		}
	case '*':
		for i := range dst {
			var ok bool
			if dst[i], ok = product(x[i], y[i]); !ok {
				refuse(i, overflow)
			}
		}
	default:
		for i := range dst {
			switch {
			case y[i] == 0:
				refuse(i, zeroDivision)
			case x[i] == math.MinInt64 && y[i] == -1:
				refuse(i, overflow)
			case a.op == '/':
				dst[i] = x[i] / y[i]
			default:
				dst[i] = x[i] % y[i]
			}
		}
	}
}

// product multiplies with overflow check.
func product(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	if (x < 0) != (y < 0) {
		return int64(-lo), hi == 0 && lo <= 1<<63
	}
	return int64(lo), hi == 0 && lo < 1<<63
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// negation is the minus sign.
type negation struct {
	out
	x node
}

func (g *negation) eval(c *chunk) *vector {
	x, n := g.x.eval(c), c.n()
	v := g.reset(n)
	g.strict(n, x)
	if g.k == floatKind {
		for i := range v.floats {
			v.floats[i] = -x.floats[i]
		}
		return v
	}
	for i := range v.ints {
		if v.ints[i] = -x.ints[i]; x.ints[i] == math.MinInt64 && !g.skip(i) {
			g.setBad(i, n, overflow)
		}
	}
	return v
}
