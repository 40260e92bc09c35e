package state

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync/atomic"
)

// Journal is a Backing that notes which of an operator's names are changed, so that a cut
// tells what has changed on disk since an earlier one. It notes it in the backing itself,
// with the change: names in memory would be as many as the state on disk has.
//
// Names that are noted begin with a kind (1 byte) and a key group (2 bytes, big endian); an
// operator has one such kind, and other names which follow from those. Each cut begins an
// epoch:
//
//	j | epoch (8 bytes, big endian) | n | name          of a name that was changed in it
//	j | epoch                       | r | from | to     of a range that went; the value says how long from is
//
// Nothing is noted before the first cut, since nothing is there that changes could build on,
// nor kept of the time before the cut that was published last.
//
// The goroutine of the operator uses it; Published and what is frozen are for any.
type Journal struct {
	backing
	kind      byte
	epoch     uint64        // that changes are noted in; 0: there was no cut
	kept      uint64        // the first epoch of which something may be noted
	published atomic.Uint64 // epoch that the last cut that was published has begun; 0: there is none
	err       error         // of letting old epochs go: the store has failed
}

// backing keeps what a Journal does not change out of its own names.
type backing = Backing

// Names of a journal begin with journalName, which operators do not use.
const (
	journalName = 'j'
	noted       = 'n'
	ranged      = 'r'
	// groupBytes is what names have before what they are called in their key group.
	groupBytes = 1 + 2
)

// NewJournal makes the journal of a backing that is empty.
func NewJournal(to Backing, kind byte) *Journal { return &Journal{backing: to, kind: kind} }

// Batch implements Backing.
func (j *Journal) Batch() Batch { return &notingBatch{Batch: j.backing.Batch(), of: j} }

type notingBatch struct {
	Batch
	of   *Journal
	name []byte
}

// begin begins a journal's name.
func (b *notingBatch) begin(what byte) {
	b.name = appendEpoch(b.name[:0], b.of.epoch)
	b.name = append(b.name, what)
}

func appendEpoch(name []byte, epoch uint64) []byte {
	return binary.BigEndian.AppendUint64(append(name, journalName), epoch)
}

func (b *notingBatch) note(name []byte) {
	if b.of.epoch > 0 && name[0] == b.of.kind {
		b.begin(noted)
		b.name = append(b.name, name...)
		b.Batch.Put(b.name, nil)
	}
}

// Put implements Batch.
func (b *notingBatch) Put(name, value []byte) {
	b.note(name)
	b.Batch.Put(name, value)
}

// Delete implements Batch.
func (b *notingBatch) Delete(name []byte) {
	b.note(name)
	b.Batch.Delete(name)
}

// DeleteRange implements Batch. A range lies in one key group.
func (b *notingBatch) DeleteRange(from, to []byte) {
	if b.of.epoch > 0 && from[0] == b.of.kind {
		if !bytes.HasPrefix(to, from[:groupBytes]) {
			panic("BUG: a range of names is of more than one key group")
		}
		b.begin(ranged)
		b.name = append(append(b.name, from...), to...)
		b.Batch.Put(b.name, binary.LittleEndian.AppendUint32(nil, uint32(len(from))))
	}
	b.Batch.DeleteRange(from, to)
}

// Commit implements Batch.
func (b *notingBatch) Commit() error {
	if b.of.err != nil {
		return b.of.err
	}
	return b.Batch.Commit()
}

// Cut keeps the contents as they are now, and begins an epoch. All batches are committed.
func (j *Journal) Cut() *JournalCut {
	since := j.published.Load()
	j.forget(max(since, 1))
	if since == 0 {
		j.forget(j.epoch + 1) // nothing builds on it
	}
	j.epoch++
	return &JournalCut{Frozen: j.Freeze(), of: j, since: since, epoch: j.epoch}
}

// forget lets go of what was noted before an epoch.
func (j *Journal) forget(epoch uint64) {
	if epoch <= j.kept || j.epoch == 0 {
		return
	}
	b := j.backing.Batch()
	b.DeleteRange(appendEpoch(nil, j.kept), appendEpoch(nil, epoch))
	if err := b.Commit(); err != nil {
		j.err = err
	}
	if err := b.Close(); err != nil && j.err == nil {
		j.err = err
	}
	j.kept = epoch
}

// JournalCut is the contents of a journal's backing as they were when a cut was taken. Close
// it as what it is, a Frozen.
type JournalCut struct {
	Frozen
	of           *Journal
	since, epoch uint64
}

// Published tells that the cut is in a checkpoint that counts: from the next cut on, changes
// are those since this one. Any goroutine may call it, before the operator's next cut.
func (c *JournalCut) Published() { c.of.published.Store(c.epoch) }

// RunForm is how an operator's runs look.
type RunForm struct {
	Header []byte // of its pieces
	// Value appends a run's value of a name, which is without kind and key group, from that
	// on disk.
	Value func(w *Writer, name, value []byte) error
}

// scan calls f for the names of a key group, without kind and group.
func (c *JournalCut) scan(group int, f func(name, value []byte) (bool, error)) error {
	first := c.group(nil, group)
	return c.Scan(first, Behind(first), func(name, value []byte) (bool, error) { return f(name[groupBytes:], value) })
}

func (c *JournalCut) group(name []byte, group int) []byte {
	return binary.BigEndian.AppendUint16(append(name, c.of.kind), uint16(group))
}

// Whole writes all that a key group has on disk as run 0, and reports whether that is
// anything.
func (c *JournalCut) Whole(group int, form RunForm, w *Writer) (bool, error) {
	r := beginRun(w, form.Header, nil)
	err := c.scan(group, func(name, value []byte) (bool, error) {
		return true, r.put(name, func(w *Writer) error { return form.Value(w, name, value) })
	})
	return r.some, err
}

// Change is what became of a key group on disk since the cut that was published last.
type Change int

const (
	Unknown Change = iota // nobody can tell, or it is more than was asked for
	None                  // nothing
	Written               // the run has it
)

// Changes writes what has changed of a key group as a run, of about limit bytes at most. What
// is written counts only if it says so.
func (c *JournalCut) Changes(group, limit int, form RunForm, w *Writer) (Change, error) {
	if c.since == 0 {
		return Unknown, nil
	}
	names, gone, err := c.noted(group, limit)
	if err != nil || names == nil {
		return Unknown, err
	}
	from := len(w.Buf)
	r := beginRun(w, form.Header, gone)
	left := inRanges(gone)
	full := c.group(nil, group)
	var found []byte
	for _, name := range names {
		value, ok, err := c.Get(append(full[:groupBytes], name...), found)
		if err != nil {
			return Unknown, err
		}
		found = value
		switch {
		case ok:
			err = r.put(name, func(w *Writer) error { return form.Value(w, name, value) })
		case !left.has(name):
			err = r.put(name, nil)
		}
		if err != nil {
			return Unknown, err
		}
		if len(w.Buf)-from > limit {
			break
		}
	}
	switch {
	case !r.some:
		return None, nil
	case len(w.Buf)-from > limit:
		return Unknown, nil
	}
	return Written, nil
}

// noted reads what is noted of a key group: names, each once, and ranges, both in their
// order. names is nil if they have more than limit bytes.
func (c *JournalCut) noted(group, limit int) (names [][]byte, gone []nameRange, err error) {
	names = [][]byte{}
	var own []byte // bytes of names
	prefix := c.group(nil, group)
	read := func(epoch uint64, what byte, f func(name, value []byte) (bool, error)) error {
		first := append(append(appendEpoch(nil, epoch), what), prefix...)
		return c.Scan(first, Behind(first), func(name, value []byte) (bool, error) { return f(name[len(first):], value) })
	}
	for epoch := c.since; epoch < c.epoch && err == nil; epoch++ {
		err = read(epoch, ranged, func(name, value []byte) (bool, error) {
			name = slices.Clone(name)
			n := int(binary.LittleEndian.Uint32(value)) - groupBytes
			gone = append(gone, nameRange{name[:n], name[n+groupBytes:]})
			return true, nil
		})
		if err != nil {
			break
		}
		sorted := len(names)
		err = read(epoch, noted, func(name, _ []byte) (bool, error) {
			at := len(own)
			if own = append(own, name...); len(own) > limit {
				names = nil
				return false, nil
			}
			names = append(names, own[at:len(own):len(own)])
			return true, nil
		})
		if names == nil {
			return nil, nil, err
		}
		if sorted > 0 {
			slices.SortFunc(names, bytes.Compare)
			names = slices.CompactFunc(names, bytes.Equal)
		}
	}
	return names, union(gone), err
}
