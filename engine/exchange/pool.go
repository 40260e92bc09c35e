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
	mu     sync.Mutex
	free   []*stream.Batch
	shares []*stream.Batch // that were shares of others: without bytes
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

// Share returns a batch with some rows of whole: see stream.Batch.Share. Behind the last
// of its shares, whole comes back to a pool, too.
func (p *Pool) Share(whole *stream.Batch, rows []uint32) *stream.Batch {
	p.mu.Lock()
	var b *stream.Batch
	if n := len(p.shares); n > 0 {
		b = p.shares[n-1]
		p.shares = p.shares[:n-1]
	}
	p.mu.Unlock()
	if b == nil {
		b = new(stream.Batch)
	}
	b.Share(whole, rows)
	return b
}

// Put takes back a batch that nobody uses any more.
func (p *Pool) Put(b *stream.Batch) {
	whole, shared := b.Unshare()
	if !shared {
		whole, b = b, nil
	}
	if whole != nil && whole.Heavy() { // memory that one large record has asked for
		whole.Blob = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if whole != nil && len(p.free) < poolMax {
		p.free = append(p.free, whole)
	}
	if b != nil && len(p.shares) < poolMax {
		p.shares = append(p.shares, b)
	}
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
