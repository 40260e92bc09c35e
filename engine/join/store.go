package join

import (
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// store holds the records of one side for all keys of the subtask, in order of arrival:
// one table, so that pairs are numbers and a snapshot is columns. Records that have gone
// stay in it until compact copies the others.
type store struct {
	stream.Columns
	time  []stream.Time
	split []stream.SplitID
	pos   []int64
	text  []uint32 // bytes in the blob
	dead  int      // records that are in no buffer
	lent  bool     // a cut may read what it holds
}

func newStore(kinds []stream.Kind) *store {
	s := new(store)
	s.Reset(kinds)
	return s
}

// appendFrom appends row i of a table with a time and a place.
func (s *store) appendFrom(c *stream.Columns, i int, t stream.Time, split stream.SplitID, pos int64) (row uint32) {
	before := len(s.Blob)
	s.AppendRow(c, i)
	s.time = append(s.time, t)
	s.split = append(s.split, split)
	s.pos = append(s.pos, pos)
	s.text = append(s.text, uint32(len(s.Blob)-before))
	return uint32(s.N - 1)
}

// textOf is how much text the rows of c would add.
func textOf(c *stream.Columns) int {
	n := 0
	for i := range c.Cols {
		for _, s := range c.Cols[i].Strs {
			n += int(s.Len)
		}
	}
	return n
}

// maxRows bounds a store: rows are numbered with 32 bits.
const maxRows = 1<<32 - 1

// fits reports whether a table can be appended.
func (s *store) fits(c *stream.Columns) bool {
	return s.N+c.N <= maxRows && len(s.Blob)+textOf(c) <= state.MaxText
}

// compact moves the records that are still in the buffers of keys to a new store.
// Between batches only: pairs that wait refer to rows by number.
func (s *store) compact(kinds []stream.Kind, keys []*keyState, side uint8) *store {
	to := newStore(kinds)
	for _, k := range keys {
		list := k.sides[side].list()
		for i := range list {
			e := &list[i]
			e.row = to.appendFrom(&s.Columns, int(e.row), s.time[e.row], s.split[e.row], s.pos[e.row])
		}
	}
	return to
}

// null reports whether a column that must not be null is so in a row.
func (s *store) null(row uint32, notNull []int) bool {
	for _, c := range notNull {
		if s.Cols[c].Null(int(row)) {
			return true
		}
	}
	return false
}

func (s *store) place(row uint32) Place { return Place{s.split[row], s.pos[row]} }

// clear returns a store without records, in the memory of this one if nobody reads that.
func (s *store) clear(kinds []stream.Kind) *store {
	if s.lent {
		return newStore(kinds)
	}
	s.Reset(kinds)
	s.time, s.split, s.pos, s.text, s.dead = s.time[:0], s.split[:0], s.pos[:0], s.text[:0], 0
	return s
}

// frozen is the store as it is now, for others to read: rows that are appended lie behind its
// own.
func (s *store) frozen() *store {
	s.lent = true
	f := *s
	f.Cols = slices.Clone(s.Cols)
	for i := range f.Cols {
		f.Cols[i].Valid = slices.Clone(f.Cols[i].Valid) // one word has bits of several rows
	}
	return &f
}

// textOfRow is how much text a row has.
func (s *store) textOfRow(row int) (n uint32) {
	for k := range s.Cols {
		if c := &s.Cols[k]; len(c.Strs) > 0 {
			n += c.Strs[row].Len
		}
	}
	return n
}

// appendColumns gives records their columns, which were read after them.
func (s *store) appendColumns(c *stream.Columns) {
	for i := range c.N {
		row := s.N
		s.AppendRow(c, i)
		s.text = append(s.text, s.textOfRow(row))
	}
}
