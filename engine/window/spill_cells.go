package window

import (
	"cmp"
	"encoding/binary"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// coldCells is what an aligned operator has on disk: cells of a window and a key. They
// leave by tables, all cells of a window and a key group at once, those first that no
// record came to in the longest time, and come back one by one as records ask for them.
// When a window fires, its cells on disk are read through, key group by key group, and stay
// there.
type coldCells struct {
	Spill
	op *Aligned
	to *state.Journal

	SpilledState
	panes int64 // with contents
	turn  uint64

	batch state.Batch
	value state.Writer // scratch
	name  []byte
	found []byte
	cells []cell
}

// coldTables is what a bucket has of its key groups beside tables in memory.
type coldTables struct {
	cells []int64  // on disk
	asked []uint64 // turn in which a record came to the table in memory last
}

func newColdCells(o *Aligned, s *Spill) *coldCells {
	if s == nil {
		return nil
	}
	c := &coldCells{Spill: *s, op: o, to: state.NewJournal(s.Open(), cellName)}
	c.batch = c.to.Batch()
	return c
}

// of is what a bucket has, none being made yet for a new one.
func (c *coldCells) of(b *bucket) *coldTables {
	if b.cold == nil {
		b.cold = &coldTables{make([]int64, len(b.tables)), make([]uint64, len(b.tables))}
	}
	return b.cold
}

// tableName begins the names of a table's cells: those of a key group lie together, in
// order of their windows.
func (c *coldCells) tableName(group int, w stream.Window) []byte {
	c.name = appendTable(c.name[:0], group, w)
	return c.name
}

func appendTable(name []byte, group int, w stream.Window) []byte {
	return state.AppendTime(binary.BigEndian.AppendUint16(append(name, cellName), uint16(group)), w.Start)
}

const tableNameBytes = 1 + 2 + 8

// asked notes that a record has come to a slot, and brings in what is on disk of it if it
// was made just now.
func (c *coldCells) asked(b *bucket, group int, t *state.Cells, slot int, isNew bool) error {
	cold := c.of(b)
	cold.asked[group] = c.turn
	if !isNew || cold.cells[group] == 0 {
		return nil
	}
	key := t.Key(slot)
	name := append(c.tableName(group, b.window), key...)
	value, ok, err := c.to.Get(name, c.found)
	if err != nil || !ok {
		return err
	}
	c.found = value
	r := state.NewReader(value)
	r.Cell(t, slot)
	if err := r.Err(); err != nil {
		return err
	}
	c.batch.Delete(name)
	cold.cells[group]--
	c.count(-1, len(key), len(value), t.Rows(slot))
	return c.batch.Commit()
}

// count counts a cell that comes to the disk, or, with -1, leaves it.
func (c *coldCells) count(n int64, key, value int, rows uint64) {
	c.Pieces += n
	c.Bytes += n * int64(tableNameBytes+key+value)
	if rows > 0 {
		c.panes += n
	}
}

// shrink makes room if that is needed, between two batches.
func (c *coldCells) shrink() error {
	if c == nil {
		return nil
	}
	c.turn++
	p := c.op.process
	if c.op.Bytes() <= c.Memory {
		return p.settle()
	}
	give := func(may func() bool) error {
		for c.op.Bytes() > c.Room() && may() {
			if err := p.give(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := give(func() bool { return p.gives(c.op.Bytes()) }); err != nil {
		return err
	}
	type table struct {
		bucket *bucket
		group  int
		asked  uint64
		cells  int
	}
	var all []table
	for _, b := range c.op.windows.open {
		for g, t := range b.tables {
			if t != nil {
				all = append(all, table{b, g, c.of(b).asked[g], t.Len()})
			}
		}
	}
	slices.SortFunc(all, func(a, b table) int {
		return cmp.Or(cmp.Compare(a.asked, b.asked), cmp.Compare(b.cells, a.cells))
	})
	for _, t := range all {
		if c.op.Bytes() <= c.Room() {
			break
		}
		if err := c.write(t.bucket, t.group); err != nil {
			return err
		}
	}
	if err := give(p.canGive); err != nil {
		return err
	}
	if err := p.settle(); err != nil {
		return err
	}
	return c.batch.Commit()
}

// write has a table leave memory.
func (c *coldCells) write(b *bucket, group int) error {
	t := b.tables[group]
	for slot := range t.Len() {
		if err := c.put(b, group, t, slot); err != nil {
			return err
		}
	}
	c.of(b).cells[group] += int64(t.Len())
	b.tables[group] = nil
	c.op.memory.Drop([]*state.Cells{t})
	return nil
}

// put writes a cell as a snapshot does.
func (c *coldCells) put(b *bucket, group int, t *state.Cells, slot int) error {
	c.value.Buf = c.value.Buf[:0]
	c.value.Cell(t, slot)
	c.batch.Put(append(c.tableName(group, b.window), t.Key(slot)...), c.value.Buf)
	c.count(1, len(t.Key(slot)), len(c.value.Buf), t.Rows(slot))
	if c.batch.Size() < state.SpillBatch {
		return nil
	}
	return c.batch.Commit()
}

// scan calls f for the cells on disk of a table, in order of their keys. Arguments are
// borrowed. f may write to them.
func (c *coldCells) scan(b *bucket, group int, f func(key, value []byte) error) error {
	if c.of(b).cells[group] == 0 {
		return nil
	}
	name := slices.Clone(c.tableName(group, b.window))
	return c.to.Scan(name, state.Behind(name), func(name, value []byte) (bool, error) {
		err := f(name[tableNameBytes:], value)
		return err == nil, err
	})
}

// fire fires the cells on disk of a table, as many at once as in memory. They keep count
// of that if the window stays; if it goes at once, its account is settled here.
func (c *coldCells) fire(b *bucket, group int) error {
	if c.of(b).cells[group] == 0 {
		return nil
	}
	o := c.op
	goes := o.goes(b)
	t := o.memory.Table()
	defer func() { o.memory.Drop([]*state.Cells{t}) }()
	some := func() error {
		c.cells = c.cells[:0]
		for slot := range t.Len() {
			c.cells = append(c.cells, cell{table: t, slot: slot, window: b.window})
		}
		if err := o.fire(c.cells); err != nil {
			return err
		}
		for slot := range t.Len() {
			if goes {
				o.settle(t, slot)
			} else if err := c.put(b, group, t, slot); err != nil {
				return err
			}
		}
		o.memory.Drop([]*state.Cells{t})
		t = o.memory.Table()
		return nil
	}
	err := c.scan(b, group, func(key, value []byte) error {
		slot, r := t.Slot(stream.KeyHash(key), key, o.fresh), state.NewReader(value)
		if r.Cell(t, slot); r.Err() != nil {
			return r.Err()
		}
		c.count(-1, len(key), len(value), t.Rows(slot))
		if t.Len() < fireRows {
			return nil
		}
		return some()
	})
	if err == nil {
		err = some()
	}
	if err == nil && goes {
		c.delete(b, group)
	}
	if err != nil {
		return err
	}
	return c.batch.Commit()
}

func (c *coldCells) delete(b *bucket, group int) {
	name := slices.Clone(c.tableName(group, b.window))
	c.batch.DeleteRange(name, state.Behind(name))
	c.of(b).cells[group] = 0
}

// clean settles the ledger for the cells on disk of a window whose state goes.
func (c *coldCells) clean(b *bucket) error {
	if c == nil {
		return nil
	}
	o := c.op
	for group := range b.tables {
		if c.of(b).cells[group] == 0 {
			continue
		}
		err := c.scan(b, group, func(key, value []byte) error {
			r := state.NewReader(value)
			r.Bytes()
			rows, fired := r.U64(), r.U32()
			c.count(-1, len(key), len(value), rows)
			o.ledger.settle(int64(rows), fired > 0)
			if r.Failed() {
				return r.Err()
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.delete(b, group)
	}
	return c.batch.Commit()
}

// each calls f for the panes on disk that have contents; what cannot be read is left out.
func (c *coldCells) each(f func(key []byte, w stream.Window)) {
	if c == nil {
		return
	}
	for _, b := range c.op.windows.open {
		for group := range b.tables {
			_ = c.scan(b, group, func(key, value []byte) error {
				r := state.NewReader(value)
				if r.Bytes(); r.U64() > 0 {
					f(key, b.window)
				}
				return nil
			})
		}
	}
}

// freeze keeps what is on disk for a cut; nil: nothing is.
func (c *coldCells) freeze() *state.JournalCut {
	if c == nil || c.Pieces == 0 {
		return nil
	}
	return c.to.Cut()
}

// writeCells writes the cells of a table that were on disk, in order of their keys.
func writeCells(in state.Frozen, group int, window stream.Window, w *state.Writer) {
	name := appendTable(nil, group, window)
	err := in.Scan(name, state.Behind(name), func(name, value []byte) (bool, error) {
		w.Bytes(name[tableNameBytes:])
		w.Buf = append(w.Buf, value...)
		return true, nil
	})
	if err != nil {
		w.Fail(err)
	}
}

// restored makes room for a cell that was read.
func (c *coldCells) restored(r *state.Reader) {
	if c == nil || r.Failed() {
		return
	}
	if err := c.shrink(); err != nil {
		r.Fail(err)
	}
}

// filled counts the panes on disk that have contents.
func (c *coldCells) filled() int64 {
	if c == nil {
		return 0
	}
	return c.panes
}

// Spilled implements Operator.
func (o *Aligned) Spilled() SpilledState {
	if o.cold == nil {
		return SpilledState{}
	}
	return o.cold.SpilledState.Plus(o.process.spilled())
}

// goes reports whether a window's state goes with the current watermark.
func (o *Aligned) goes(b *bucket) bool {
	c := b.window.Cleanup(o.cfg.Lateness)
	return c <= o.wm && c != stream.MaxTime
}

// settle closes the account of a cell that goes.
func (o *Aligned) settle(t *state.Cells, slot int) {
	o.ledger.settle(int64(t.Rows(slot)), t.Fired(slot) > 0)
}

// settle closes the account of records whose only window goes.
func (l *Ledger) settle(records int64, fired bool) {
	l.Open -= records
	if fired {
		l.Fired += records
	} else {
		l.Unfired += records
	}
}
