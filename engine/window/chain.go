package window

// chain is things in an order in which each came to its end: by when they were written, or
// asked for. They are linked by fields of their own; a thing is in a chain once or not.
type chain[T any] struct {
	newest, oldest *T
	link           func(*T) *link[T]
}

type link[T any] struct{ newer, older *T }

// push makes x, which is not in the chain, the newest.
func (c *chain[T]) push(x *T) {
	if c.link(x).older = c.newest; c.newest != nil {
		c.link(c.newest).newer = x
	} else {
		c.oldest = x
	}
	c.newest = x
}

// remove takes x out if it is there.
func (c *chain[T]) remove(x *T) {
	l := c.link(x)
	if l.older != nil {
		c.link(l.older).newer = l.newer
	} else if c.oldest == x {
		c.oldest = l.newer
	}
	if l.newer != nil {
		c.link(l.newer).older = l.older
	} else if c.newest == x {
		c.newest = l.older
	}
	*l = link[T]{}
}
