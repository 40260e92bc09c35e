package exchange

import (
	"sync"

	"tidemark/engine/stream"
)

// poolMax bounds the batches that a pool keeps: more than ever wait between two
// tasks at the default depth, and few enough to be forgotten.
const poolMax = 64

// Pool keeps emptied batches for reuse. Safe for concurrent use.
type Pool struct {
	mu   sync.Mutex
	free []*stream.Batch
}

// Get returns an empty batch with the columns of like; with nil, one without columns
// that carries only a watermark.
func (p *Pool) Get(like *stream.Batch) *stream.Batch {
	p.mu.Lock()
	var b *stream.Batch
	if n := len(p.free); n > 0 {
		b = p.free[n-1]
		p.free = p.free[:n-1]
	}
	p.mu.Unlock()
	if b == nil {
		b = new(stream.Batch)
	}
	if like == nil {
		b.Reset(nil)
		return b
	}
	kinds := make([]stream.Kind, len(like.Cols))
	for i := range kinds {
		kinds[i] = like.Cols[i].Kind
	}
	b.Reset(kinds)
	b.Source, b.Input, b.Partial = like.Source, like.Input, like.Partial
	return b
}

// Put takes back a batch that nobody uses any more.
func (p *Pool) Put(b *stream.Batch) {
	if b.Heavy() { // memory that one large record has asked for
		b.Blob = nil
	}
	p.mu.Lock()
	if len(p.free) < poolMax {
		p.free = append(p.free, b)
	}
	p.mu.Unlock()
}

// Copy returns a copy of a batch, for a task with several readers.
func (p *Pool) Copy(b *stream.Batch) *stream.Batch {
	c := p.Get(b)
	c.Follow(b)
	for i := range b.N {
		c.AppendRow(b, i)
	}
	return c
}
