package stream

// A batch can be dealt out without copying its bytes: a share has some of its rows, with
// columns of its own and the blob of the whole, which is only read as long as one of its
// shares is in use. Each share has an owner of its own, on any goroutine.

// Share makes b the batch of the given rows of whole, in ascending order, with its sender
// and its progress. b has columns of its own and the blob of whole: what is appended to it
// goes elsewhere. The caller makes all shares of a whole before it gives one away, and
// gives whole to nobody.
func (b *Batch) Share(whole *Batch, rows []uint32) {
	whole.shares.Add(1)
	b.whole = whole
	b.Follow(whole)
	b.Partial = whole.Partial
	b.N, b.Blob = len(rows), whole.Blob[:len(whole.Blob):len(whole.Blob)]
	if missing := len(whole.Cols) - cap(b.Cols); missing > 0 {
		b.Cols = append(b.Cols[:cap(b.Cols)], make([]Column, missing)...)
	}
	b.Cols = b.Cols[:len(whole.Cols)]
	for i := range b.Cols {
		b.Cols[i].Reset(whole.Cols[i].Kind)
		b.Cols[i].Gather(&whole.Cols[i], rows)
	}
	b.Split, b.Pos, b.Raw = Gather(b.Split[:0], whole.Split, rows), Gather(b.Pos[:0], whole.Pos, rows), Gather(b.Raw[:0], whole.Raw, rows)
	b.Time, b.WM, b.High = Gather(b.Time[:0], whole.Time, rows), Gather(b.WM[:0], whole.WM, rows), Gather(b.High[:0], whole.High, rows)
	b.Key, b.Hash, b.Tie = Gather(b.Key[:0], whole.Key, rows), Gather(b.Hash[:0], whole.Hash, rows), Gather(b.Tie[:0], whole.Tie, rows)
}

// Unshare ends b's use as a share, and leaves it without bytes. It reports false, and does
// nothing, if b is none. last is the batch that it was a share of, if no other share is in
// use: it is the caller's now.
func (b *Batch) Unshare() (last *Batch, shared bool) {
	whole := b.whole
	if whole == nil {
		return nil, false
	}
	b.whole, b.Blob = nil, nil
	if whole.shares.Add(-1) > 0 {
		return nil, true
	}
	return whole, true
}

// Gather appends rows of src to the column, which has the same kind and the same blob.
func (c *Column) Gather(src *Column, rows []uint32) {
	switch c.Kind {
	case Int64, Timestamp:
		c.Ints = Gather(c.Ints, src.Ints, rows)
	case Float64:
		c.Floats = Gather(c.Floats, src.Floats, rows)
	case Bool:
		c.Bools = Gather(c.Bools, src.Bools, rows)
	default:
		c.Strs = Gather(c.Strs, src.Strs, rows)
	}
	if src.Valid == nil && c.Valid == nil {
		return
	}
	first := c.Len() - len(rows)
	if c.Valid == nil {
		c.Valid = AllSet(first)
	}
	for n, r := range rows {
		c.Valid = c.Valid.Append(first+n, !src.Null(int(r)))
	}
}

// Gather appends src[r] to dst for each of the rows; nothing if src has no rows at all, as
// a column that a batch does not have.
func Gather[T any](dst, src []T, rows []uint32) []T {
	if len(src) == 0 {
		return dst
	}
	n := len(dst)
	if cap(dst)-n < len(rows) {
		dst = append(dst, make([]T, len(rows))...)
	}
	dst = dst[:n+len(rows)]
	for i, r := range rows {
		dst[n+i] = src[r]
	}
	return dst
}
