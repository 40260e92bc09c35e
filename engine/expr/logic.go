package expr

// logic is && or ||. As in CEL the side that decides hides what is wrong with the other:
// x != 0 && 10 / x > 1 is false for x = 0, in this order and the other.
type logic struct {
	out
	decides bool // the value of a side that decides: false for &&, true for ||
	l, r    node
}

func (g *logic) eval(c *chunk) *vector {
	x, y, n := g.l.eval(c), g.r.eval(c), c.n()
	v := g.reset(n)
	if x.null == nil && y.null == nil && x.bad == nil && y.bad == nil { // nearly always
		for i, a := range x.bools[:n] {
			if a != g.decides {
				a = y.bools[i]
			}
			v.bools[i] = a
		}
		return v
	}
	for i := range v.bools {
		a, b := x.truth(i), y.truth(i)
		if g.decides {
			v.bools[i] = a || b
		} else {
			v.bools[i] = a && b
		}
		xBad, yBad := x.why(i), y.why(i)
		switch {
		case xBad == fine && a == g.decides, yBad == fine && b == g.decides:
			v.bools[i] = g.decides
		case xBad != fine:
			g.setBad(i, n, xBad)
		case yBad != fine:
			g.setBad(i, n, yBad)
		}
	}
	return v
}

// not is the exclamation mark.
type not struct {
	out
	x node
}

func (g *not) eval(c *chunk) *vector {
	x, n := g.x.eval(c), c.n()
	v := g.reset(n)
	g.blame(n, x)
	for i := range v.bools {
		v.bools[i] = !x.truth(i)
	}
	return v
}

// conditional is cond ? yes : no. Only the side that was chosen can be wrong.
type conditional struct {
	out
	cond, yes, no node
}

func (o *conditional) eval(c *chunk) *vector {
	cond, yes, no, n := o.cond.eval(c), o.yes.eval(c), o.no.eval(c), c.n()
	v := o.reset(n)
	o.blame(n, cond)
	for i := range n {
		if cond.why(i) != fine {
			continue
		}
		from, k := no, o.no.kind()
		if cond.truth(i) {
			from, k = yes, o.yes.kind()
		}
		switch why := from.why(i); {
		case why != fine:
			o.setBad(i, n, why)
		case k == nullKind || from.isNull(i):
			o.setNull(i, n)
		case o.k == floatKind:
			v.floats[i] = from.floats[i]
		case o.k == boolKind:
			v.bools[i] = from.bools[i]
		case o.k == textKind:
			v.texts[i] = from.texts[i]
		default:
			v.ints[i] = from.ints[i]
		}
	}
	return v
}
