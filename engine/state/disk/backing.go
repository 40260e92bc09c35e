package disk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/engine/state"
	"tidemark/internal/fault"
)

// backing is the names of an operator: those with its prefix.
type backing struct {
	store    *Store
	operator string
	prefix   []byte
	written  uint64 // since room was looked at
	name     []byte // scratch
}

// error is one of the disk, of what the operator wanted.
func (b *backing) error(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fault.As(fault.ErrExternal, fmt.Errorf("state of %s on disk: %s %s: %w; make room there, choose another directory, or raise the memory for state", b.operator, doing, b.store.dir, err))
}

func (b *backing) named(name []byte) []byte {
	b.name = append(append(b.name[:0], b.prefix...), name...)
	return b.name
}

// Get implements state.Backing.
func (b *backing) Get(name, buf []byte) ([]byte, bool, error) {
	return b.get(b.store.db, b.named(name), buf)
}

func (b *backing) get(in pebble.Reader, full, buf []byte) ([]byte, bool, error) {
	if err := b.store.failure(); err != nil {
		return nil, false, b.error("writing to", err)
	}
	v, closer, err := in.Get(full)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, b.error("reading from", err)
	}
	buf = append(buf[:0], v...)
	return buf, true, b.error("reading from", closer.Close())
}

// Scan implements state.Backing.
func (b *backing) Scan(from, to []byte, f func(name, value []byte) (bool, error)) error {
	return b.scan(b.store.db, from, to, f)
}

func (b *backing) scan(in pebble.Reader, from, to []byte, f func(name, value []byte) (bool, error)) error {
	if err := b.store.failure(); err != nil {
		return b.error("writing to", err)
	}
	it, err := in.NewIter(&pebble.IterOptions{LowerBound: slices.Concat(b.prefix, from), UpperBound: slices.Concat(b.prefix, to)})
	if err != nil {
		return b.error("reading from", err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(b.error("reading from", err), it.Close())
		}
		if more, err := f(it.Key()[len(b.prefix):], value); err != nil || !more {
			return errors.Join(err, b.error("reading from", it.Close()))
		}
	}
	return b.error("reading from", it.Close())
}

// Batch implements state.Backing.
func (b *backing) Batch() state.Batch { return &batch{of: b, changes: b.store.db.NewBatch()} }

// Freeze implements state.Backing.
func (b *backing) Freeze() state.Frozen {
	f := &frozen{of: b, snapshot: b.store.db.NewSnapshot()}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.frozen[f] = true
	return f
}

type batch struct {
	of      *backing
	changes *pebble.Batch
	err     error // the first one of collecting
	name    []byte
}

func (c *batch) named(name []byte) []byte {
	c.name = append(append(c.name[:0], c.of.prefix...), name...)
	return c.name
}

func (c *batch) note(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *batch) Put(name, value []byte) { c.note(c.changes.Set(c.named(name), value, nil)) }
func (c *batch) Delete(name []byte)     { c.note(c.changes.Delete(c.named(name), nil)) }
func (c *batch) DeleteRange(from, to []byte) {
	c.note(c.changes.DeleteRange(slices.Concat(c.of.prefix, from), slices.Concat(c.of.prefix, to), nil))
}
func (c *batch) Size() int    { return c.changes.Len() }
func (c *batch) Close() error { return c.of.error("writing to", c.changes.Close()) }

// Commit implements state.Batch.
func (c *batch) Commit() error {
	b := c.of
	err := b.store.failure()
	if err == nil {
		err = c.err
	}
	if err == nil && !c.changes.Empty() {
		b.written += uint64(c.changes.Len())
		err = c.changes.Commit(pebble.NoSync)
		c.changes.Reset()
	}
	if err == nil && b.written > b.store.memory/2 {
		b.written = 0
		err = b.store.room()
	}
	return b.error("writing to", err)
}

type frozen struct {
	of       *backing
	snapshot *pebble.Snapshot
	name     []byte // scratch
}

// Get implements state.Frozen.
func (f *frozen) Get(name, buf []byte) ([]byte, bool, error) {
	f.name = append(append(f.name[:0], f.of.prefix...), name...)
	return f.of.get(f.snapshot, f.name, buf)
}

func (f *frozen) Scan(from, to []byte, do func(name, value []byte) (bool, error)) error {
	return f.of.scan(f.snapshot, from, to, do)
}

// Close implements state.Frozen.
func (f *frozen) Close() error {
	s := f.of.store
	s.mu.Lock()
	delete(s.frozen, f)
	s.mu.Unlock()
	return f.of.error("reading from", f.snapshot.Close())
}
