package state

import "iter"

// Chain is things in an order in which each came to its end: by when they were asked for, or
// written. They are linked by a field of their own; a thing is in a chain once or not.
type Chain[T any] struct {
	newest, oldest *T
	link           func(*T) *Link[T]
}

// Link is the place of a thing in a Chain; it lies in the thing itself.
type Link[T any] struct{ newer, older *T }

// NewChain makes an empty chain of things whose links link tells.
func NewChain[T any](link func(*T) *Link[T]) Chain[T] { return Chain[T]{link: link} }

// Push makes x, which is not in the chain, the newest.
func (c *Chain[T]) Push(x *T) {
	if c.link(x).older = c.newest; c.newest != nil {
		c.link(c.newest).newer = x
	} else {
		c.oldest = x
	}
	c.newest = x
}

// Touch makes x, which may be in the chain, the newest.
func (c *Chain[T]) Touch(x *T) {
	if c.newest != x {
		c.Remove(x)
		c.Push(x)
	}
}

// Remove takes x out if it is there.
func (c *Chain[T]) Remove(x *T) {
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
	*l = Link[T]{}
}

// Oldest is what came to its end first; nil: the chain is empty.
func (c *Chain[T]) Oldest() *T { return c.oldest }

// All gives what there is, the newest first. The chain does not change meanwhile.
func (c *Chain[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for x := c.newest; x != nil && yield(x); x = c.link(x).older {
		}
	}
}
