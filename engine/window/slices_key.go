package window

import (
	"math"
	"slices"
	"sort"
)

// sliceKey is what the slice operator knows of one key: its slices in order of time,
// and which of them the windows have come to.
//
//	cells    | | | | | | | | | | | | |     only slices with records
//	         0       first     entered
//	                 |- window -|- open: later windows end with them
//
// A slice enters when the watermark reaches the end of the first window that ends with
// it or behind it, and with it go on the sums of its block.
type sliceKey struct {
	cells   []sliceCell
	entered int
	first   int // cells before it lie before the last window fired; a lower bound

	// What the key's cell in Slices.panes is the sum of: the suffix that begins with a
	// slice and the prefix that ends with one, noSlice where there is none.
	from, to int64
	// staleFrom to staleTo are slices that changed after they had entered: sums with
	// them are to be made again. noSlice: none.
	staleFrom, staleTo int64

	active bool // listed in Slices.active
}

func newSliceKey() *sliceKey {
	return &sliceKey{from: noSlice, to: noSlice, staleFrom: noSlice, staleTo: noSlice}
}

// sliceCell is one slice of one key.
type sliceCell struct {
	slice int64
	cell  uint32 // in Slices.cells: the records of the slice
	// In Slices.sums: the slices of the block up to this one, and from this one on.
	// noSum: not made, or not needed any more.
	prefix, suffix uint32
}

const (
	noSlice = math.MinInt64 // no slice has this number: see maxWindowNumber
	noSum   = math.MaxUint32
)

// near is how many slices are looked at one by one before the search is by halves:
// records come to the newest slices.
const near = 8

// find returns the place of a slice, or where it would go.
func (k *sliceKey) find(slice int64) (int, bool) {
	i := len(k.cells)
	for end := max(0, i-near); i > end; i-- {
		if c := k.cells[i-1].slice; c <= slice {
			if c == slice {
				return i - 1, true
			}
			return i, false
		}
	}
	return k.search(0, i, slice)
}

func (k *sliceKey) search(lo, hi int, slice int64) (int, bool) {
	i := lo + sort.Search(hi-lo, func(i int) bool { return k.cells[lo+i].slice >= slice })
	return i, i < len(k.cells) && k.cells[i].slice == slice
}

// insert puts a slice in its place. If it belongs to those that have entered it is the
// caller's to mark it as changed.
func (k *sliceKey) insert(at int, c sliceCell, entered bool, lo int64) {
	k.cells = slices.Insert(k.cells, at, c)
	if entered {
		k.entered++
		if at <= k.first && c.slice < lo {
			k.first++
		}
	}
}

// remove takes a slice out.
func (k *sliceKey) remove(at int) {
	if at == 0 {
		k.cells = k.cells[1:] // the rest is moved when the array is full, once for many
	} else {
		k.cells = slices.Delete(k.cells, at, at+1)
	}
	if len(k.cells) == 0 {
		k.cells = nil
	}
	if at < k.entered {
		k.entered--
	}
	if at < k.first {
		k.first--
	}
}

// change marks a slice that has entered as changed.
func (k *sliceKey) change(slice int64) {
	if k.staleFrom == noSlice {
		k.staleFrom, k.staleTo = slice, slice
	}
	k.staleFrom, k.staleTo = min(k.staleFrom, slice), max(k.staleTo, slice)
}

// parts returns the slices of the suffix and the prefix that make up a window whose
// slices of this key are cells[i:j]. next is the first slice of the block behind the one
// that the window begins in, whole says that the window is that block.
func (k *sliceKey) parts(i, j int, next int64, whole bool) (from, to int64) {
	from, to = noSlice, noSlice
	first, last := k.cells[i].slice, k.cells[j-1].slice
	if !whole && first < next {
		from = first
	}
	if whole || last >= next {
		to = last
	}
	return from, to
}

// sliceBucket lists the keys that have a slice: all that a window is told when it comes
// to the slice or leaves it behind. A key stands there once, or twice if its slice was
// taken back and came again.
type sliceBucket struct {
	slice int64
	ids   []uint32
}

// sliceBuckets holds the buckets of all slices that are known, in order of time.
type sliceBuckets struct {
	known   []sliceBucket
	entered int // known[:entered] have entered
	spare   [][]uint32
}

// add notes that a key has a slice. entered says on which side it is.
func (s *sliceBuckets) add(slice int64, id uint32, entered bool) {
	i := len(s.known)
	if i > 0 && s.known[i-1].slice >= slice {
		i = sort.Search(i, func(i int) bool { return s.known[i].slice >= slice })
	}
	if i == len(s.known) || s.known[i].slice != slice {
		b := sliceBucket{slice: slice}
		if n := len(s.spare); n > 0 {
			b.ids, s.spare = s.spare[n-1], s.spare[:n-1]
		}
		s.known = slices.Insert(s.known, i, b)
		if entered {
			s.entered++
		}
	}
	s.known[i].ids = append(s.known[i].ids, id)
}

// pending returns the first slice that has not entered.
func (s *sliceBuckets) pending() (slice int64, ok bool) {
	if s.entered == len(s.known) {
		return 0, false
	}
	return s.known[s.entered].slice, true
}

// enter returns the keys of the first slice that has not entered if that is at or before
// last, and counts it as entered.
func (s *sliceBuckets) enter(last int64) (b *sliceBucket, ok bool) {
	if slice, ok := s.pending(); !ok || slice > last {
		return nil, false
	}
	s.entered++
	return &s.known[s.entered-1], true
}

// leave removes and returns the oldest bucket if it is at or before last. The caller
// gives its list back to spare.
func (s *sliceBuckets) leave(last int64) (sliceBucket, bool) {
	if len(s.known) == 0 || s.known[0].slice > last {
		return sliceBucket{}, false
	}
	b := s.known[0]
	s.known[0] = sliceBucket{}
	s.known = s.known[1:]
	s.entered--
	return b, true
}
