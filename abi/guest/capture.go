package guest

import "tidemark/abi"

// capture keeps both ends of what a guest prints: a message stands first, or, behind
// a long stack trace, last.
type capture struct {
	head  []byte
	tail  []byte // of what came after head: a ring once it is full
	next  int    // where the ring goes on
	total int    // bytes that went to tail
}

func (c *capture) reset() { c.head, c.tail, c.next, c.total = c.head[:0], c.tail[:0], 0, 0 }

func (c *capture) write(p []byte) {
	n := min(len(p), abi.MaxCapture-len(c.head))
	c.head = append(c.head, p[:n]...)
	p = p[n:]
	c.total += len(p)
	if len(p) > abi.MaxCapture {
		p = p[len(p)-abi.MaxCapture:]
	}
	n = min(len(p), abi.MaxCapture-len(c.tail))
	c.tail = append(c.tail, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		n = copy(c.tail[c.next:], p)
		c.next = (c.next + n) % abi.MaxCapture
	}
}

// text returns what is kept, with a mark where something was left out.
func (c *capture) text() string {
	s := string(c.head)
	if c.total > len(c.tail) {
		s += "\n[…]\n"
	}
	return s + string(c.tail[c.next:]) + string(c.tail[:c.next])
}
