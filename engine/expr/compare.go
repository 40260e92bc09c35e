package expr

import (
	"bytes"
	"cmp"
	"math"
)

// ordering is < <= > or >=. With a null it is false.
type ordering struct {
	out
	op   string
	l, r node
}

func (o *ordering) eval(c *chunk) *vector {
	x, y, n := o.l.eval(c), o.r.eval(c), c.n()
	v := o.reset(n)
	o.blame(n, x, y)
	switch l, r := o.l.kind(), o.r.kind(); {
	case l == floatKind && r == floatKind:
		order(v.bools, x.floats, y.floats, o.op)
	case l == floatKind:
		for i := range v.bools {
			v.bools[i] = holds(o.op, -compareNumbers(y.ints[i], x.floats[i]))
		}
	case r == floatKind:
		for i := range v.bools {
			v.bools[i] = holds(o.op, compareNumbers(x.ints[i], y.floats[i]))
		}
	case l == textKind:
		for i := range v.bools {
			v.bools[i] = holds(o.op, bytes.Compare(x.texts[i], y.texts[i]))
		}
	case l == boolKind:
		for i := range v.bools {
			v.bools[i] = holds(o.op, compareBools(x.bools[i], y.bools[i]))
		}
	default:
		order(v.bools, x.ints, y.ints, o.op)
	}
	falseIfNull(v, x, y)
	return v
}

func falseIfNull(v *vector, operands ...*vector) {
	for _, x := range operands {
		for i, null := range x.null {
			if null {
				v.bools[i] = false
			}
		}
	}
}

// order compares numbers of one type: the operator is looked at once a chunk.
func order[T int64 | float64](dst []bool, x, y []T, op string) {
	switch op {
	case "<":
		for i := range dst {
			dst[i] = x[i] < y[i]
		}
	case "<=":
		for i := range dst {
			dst[i] = x[i] <= y[i]
		}
	case ">":
		for i := range dst {
			dst[i] = x[i] > y[i]
		}
	default:
		for i := range dst {
			dst[i] = x[i] >= y[i]
		}
	}
}

// holds tells what an operator says of operands that compare as order.
func holds(op string, order int) bool {
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// compareNumbers compares an integer with a float exactly: converting the integer would
// round it above 2^53.
func compareNumbers(x int64, y float64) int {
	switch {
	case y >= 1<<63:
		return -1
	case y < -1<<63:
		return 1
	}
	whole := math.Floor(y)
	if c := cmp.Compare(x, int64(whole)); c != 0 {
		return c
	}
	return cmp.Compare(whole, y)
}

// compareBools puts false before true.
func compareBools(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}

// equality is == or !=. Null is a value here: it equals null and nothing else.
type equality struct {
	out
	not  bool
	l, r node
}

func (e *equality) eval(c *chunk) *vector {
	x, y, n := e.l.eval(c), e.r.eval(c), c.n()
	v := e.reset(n)
	e.blame(n, x, y)
	switch e.l.kind() {
	case floatKind:
		equal(v.bools, x.floats, y.floats)
	case boolKind:
		equal(v.bools, x.bools, y.bools)
	case textKind:
		for i := range v.bools {
			v.bools[i] = bytes.Equal(x.texts[i], y.texts[i])
		}
	default:
		equal(v.bools, x.ints, y.ints)
	}
	if x.null != nil || y.null != nil {
		for i := range v.bools {
			if x.isNull(i) || y.isNull(i) {
				v.bools[i] = x.isNull(i) && y.isNull(i)
			}
		}
	}
	if e.not {
		for i := range v.bools {
			v.bools[i] = !v.bools[i]
		}
	}
	return v
}

func equal[T comparable](dst []bool, x, y []T) {
	for i := range dst {
		dst[i] = x[i] == y[i]
	}
}

// nullTest is x == null or x != null.
type nullTest struct {
	out
	not bool
	x   node
}

func (t *nullTest) eval(c *chunk) *vector {
	x, n := t.x.eval(c), c.n()
	v := t.reset(n)
	t.blame(n, x)
	for i := range v.bools {
		v.bools[i] = x.isNull(i) != t.not
	}
	return v
}

// member is x in [constants]. A null is in the list if null stands there.
type member struct {
	out
	x      node
	ints   map[int64]bool
	floats map[float64]bool
	texts  map[string]bool
	bools  [2]bool // false, true
	null   bool
}

func (m *member) eval(c *chunk) *vector {
	x, n := m.x.eval(c), c.n()
	v := m.reset(n)
	m.blame(n, x)
	switch m.x.kind() {
	case floatKind:
		for i := range v.bools {
			v.bools[i] = m.floats[x.floats[i]]
		}
	case boolKind:
		for i := range v.bools {
			v.bools[i] = !x.bools[i] && m.bools[0] || x.bools[i] && m.bools[1]
		}
	case textKind:
		for i := range v.bools {
			v.bools[i] = m.texts[string(x.texts[i])]
		}
	default:
		for i := range v.bools {
			v.bools[i] = m.ints[x.ints[i]]
		}
	}
	for i, null := range x.null {
		if null {
			v.bools[i] = m.null
		}
	}
	return v
}
