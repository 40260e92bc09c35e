package window

import (
	"cmp"
	"slices"

	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Local is the sender's half of windows whose records come together at one task: those over
// all keys (P4), and those of a few keys with a great part of all records. Each sender adds
// its records up first, and sends sums of them, partials, in their place:
//
//	source task              the task of a key
//	split a ── Local ──┐
//	                   ├── partials, and records as they are ──> Aligned or Slices
//	split b ── Local ──┘                                         (partial.go)
//
// A partial is the records of one split in one slice; of tumbling windows a slice is a
// window. It leaves when the sender's watermark reaches the end of the first window that
// holds the slice, and before that watermark does. What is in it thus follows from the
// records of the split alone, not from batches nor from how splits are dealt out to
// tasks: sums of floats have the same bits at any parallelism.
//
// Only records ahead of the sender's watermark are added up. Those behind it go as they
// are, since only the step's task can judge lateness; with them go those of keys that have
// no sum in their slice (local_keys.go).
//
// The sender's goroutine uses it.
type Local struct {
	contents
	cuts    cuts
	key     []int          // columns of the key; none: over all keys
	hot     int            // how many keys of a slice have sums
	nulls   []stream.Field // of the key, where records with a null in it are left out
	cells   *state.Cells
	splits  []localSplit // by split
	due     stream.Time  // the watermark before which the next partial must leave
	told    stream.Time  // the sender's watermark so far
	floor   stream.Time  // records at or below it go as they are; see Restore
	ordered bool
	idle    bool   // records may come all the same (S11)
	joins   uint64 // how often the sender came back from being idle; see Downstream

	singles []uint32 // rows of the batch in work that go as they are, since the last that left
	leaving []leaver
	out     []*stream.Batch
}

// localSplit is the slices of one split that have records, in order.
type localSplit []localSlice

// slice is where a record is added up.
type slice struct {
	number int64         // up with time
	due    stream.Time   // the end of the first window that holds it
	last   stream.Window // the last one that does
}

// cuts says what the slices are: those of overlapping windows, or windows that do not.
type cuts interface {
	// cut returns the slice that holds a time, which is not MIN; false where no window does.
	cut(ts stream.Time) (slice, bool)
	// windows calls f for the windows that hold a slice.
	windows(s slice, f func(stream.Window))
}

func cutsOf(a Assigner) (cuts, error) {
	if t := tilingOf(a); t != nil {
		return &tiled{tiling: t}, nil
	}
	g := a.(*grid)
	grid, err := newSliceGrid(g.size, g.slide, g.offset)
	return overlapping{grid}, err
}

// overlapping is windows that share slices.
type overlapping struct{ sliceGrid }

func (g overlapping) cut(ts stream.Time) (slice, bool) {
	n := g.slice(ts)
	first, last := g.sliceGrid.windows(n)
	if first > last || last < g.min || last > g.max {
		return slice{}, false
	}
	return slice{n, g.window(first).MaxTimestamp(), g.window(last)}, true
}

func (g overlapping) windows(s slice, f func(stream.Window)) {
	first, last := g.sliceGrid.windows(s.number)
	for k := first; k <= last; k++ {
		f(g.window(k))
	}
}

// tiled is a tiling; each window is a slice.
type tiled struct {
	tiling
	last stream.Window
}

func (t *tiled) cut(ts stream.Time) (slice, bool) {
	if ts < t.last.Start || ts >= t.last.End {
		t.last = t.tile(ts)
	}
	return slice{int64(t.last.Start), t.last.MaxTimestamp(), t.last}, true
}

func (t *tiled) windows(s slice, f func(stream.Window)) { f(s.last) }

// leaver is a slice that leaves, and where it stands in the order of a replay (T6).
type leaver struct {
	localSlice
	wm    stream.Time
	split stream.SplitID
	pos   int64
}

// partialSplit is the split that partials stand at: at their watermark, the last before the
// end of a window, they come behind all records. Their places are the splits that they are
// of. Only the end of a sender is behind it.
const partialSplit = stream.LastSplit - 1

// maxLocalSlices bounds the slices of one split that are held at once. A split with more,
// whose times lie far ahead of its watermark, sends them all.
const maxLocalSlices = 1024

// Downstream is what a Local knows of where its batches go, and where their memory comes
// from.
type Downstream interface {
	Get(like *stream.Batch) *stream.Batch
	Put(*stream.Batch)
	// Joined returns how many times this sender had come back from being idle when the
	// receiver last saw it abreast of its own time. A sender that has not yet got there
	// again may lag, so that a record ahead of its watermark is late all the same (S18):
	// until then records go as they are.
	Joined() uint64
}

// NewLocal makes the half of one sender, of a step for which Plan says so. The functions
// are its own. key has the columns of the step's key in the sender's batches. ordered says that batches are merged in the order of a replay (T6): then
// partials of several senders must stand in an order that all share. refused takes the
// records that a function refuses, as Output does.
func NewLocal(s Spec, key []int, ordered bool, refused func(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error) (*Local, error) {
	cuts, err := cutsOf(s.Assigner)
	if err != nil {
		return nil, err
	}
	l := &Local{cuts: cuts, key: key, hot: 1, ordered: ordered, due: stream.MaxTime, told: stream.MinTime, floor: stream.MinTime}
	if len(key) > 0 {
		l.hot = s.HotKeys
	}
	if s.DropNullKey {
		l.nulls = s.Key
	}
	if err := l.init(s.Functions, nil, senderOutput{refused}); err != nil {
		return nil, err
	}
	l.cells = state.NewCells(l.width, l.varying)
	return l, nil
}

// Added counts the records that were added up, which never goes down.
func (l *Local) Added() int64 { return l.ledger.Counted }

// Each calls f for each key and window of the records that are added up and have not left,
// more than once where several slices have some.
func (l *Local) Each(f func(key []byte, w stream.Window)) {
	for _, s := range l.splits {
		for _, x := range s {
			for _, sum := range x.sums {
				l.cuts.windows(x.slice, func(w stream.Window) { f([]byte(sum.key), w) })
			}
		}
	}
}

// Process takes a batch of the sender over and returns those that its receiver is to get
// in its place, at least one. The list is good until the next call.
func (l *Local) Process(b *stream.Batch, to Downstream) ([]*stream.Batch, error) {
	l.out = l.out[:0]
	if b.Status == stream.BecameActive {
		l.idle = false
		l.joins++
	}
	l.start(b)
	l.singles = l.singles[:0]
	if len(l.key) > 0 {
		b.SetKeys(l.key)
	}
	if l.idle || l.joins != to.Joined() {
		err := l.leave(to, l.reached(stream.MaxTime))
		l.told = max(l.told, b.Trailing)
		return append(l.out, b), err
	}
	for i := range b.N {
		if w := b.WM[i]; w > l.told {
			if err := l.leave(to, l.reached(w)); err != nil {
				return nil, err
			}
			l.told = w
		}
		var s slice
		ok := b.Time[i] > max(l.told, l.floor)
		if ok {
			s, ok = l.cuts.cut(b.Time[i])
		}
		if !ok {
			l.singles = append(l.singles, uint32(i))
			continue
		}
		at, ok := l.find(b.Split[i], s.number)
		if !ok {
			if len(l.splits[b.Split[i]]) == maxLocalSlices {
				if err := l.leave(to, l.all(b, i)); err != nil {
					return nil, err
				}
				at = 0
			}
			l.insert(b.Split[i], at, l.newSlice(s, b.Time[i]))
		}
		if slot, ok := l.slot(&l.splits[b.Split[i]][at], b, i); ok {
			l.seg.add(uint32(i), cell{table: l.cells, slot: slot, window: s.last})
		} else {
			l.singles = append(l.singles, uint32(i))
		}
	}
	trailing, until := b.Trailing, b.Trailing
	if b.Status == stream.BecameIdle { // the receiver's time goes on without this sender
		l.idle = true
		until = stream.MaxTime
	}
	err := l.end(to, l.reached(until))
	l.told = max(l.told, trailing)
	return l.out, err
}

// find returns the place of a slice of a split, or where it would go.
func (l *Local) find(split stream.SplitID, number int64) (at int, ok bool) {
	for int(split) >= len(l.splits) {
		l.splits = append(l.splits, nil)
	}
	s := l.splits[split]
	if n := len(s); n > 0 && s[n-1].number == number { // nearly always
		return n - 1, true
	}
	return slices.BinarySearchFunc(s, number, func(x localSlice, number int64) int { return cmp.Compare(x.number, number) })
}

// newSlice makes a slice without sums.
func (l *Local) newSlice(s slice, first stream.Time) localSlice {
	x := localSlice{slice: s, time: first}
	if len(l.key) > 0 {
		x.places = map[string]int{}
	}
	return x
}

// slot returns where a row is added up, if it is.
func (l *Local) slot(s *localSlice, b *stream.Batch, i int) (int, bool) {
	var key []byte
	if len(l.key) > 0 {
		key = b.Key[i].Bytes(b.Blob)
	}
	if sum, ok := s.find(key); ok {
		return sum.slot, true
	}
	if len(s.sums) == l.hot || l.nulls != nil && stream.KeyHasNull(key, l.nulls) {
		return 0, false
	}
	sum := localSum{string(key), l.cells.Alloc(l.fresh)}
	s.add(sum)
	return sum.slot, true
}

func (l *Local) insert(split stream.SplitID, at int, x localSlice) {
	l.splits[split] = slices.Insert(l.splits[split], at, x)
	l.due = min(l.due, x.due)
}

// reached takes the slices that must leave before watermark w; MAX for all.
func (l *Local) reached(w stream.Time) []leaver {
	l.leaving = l.leaving[:0]
	if w < l.due {
		return l.leaving
	}
	l.due = stream.MaxTime
	for split, s := range l.splits {
		n := 0
		for ; n < len(s); n++ {
			due := s[n].due
			if due > w {
				l.due = min(l.due, due)
				break
			}
			wm := l.told
			if l.ordered {
				wm = due - 1
			}
			l.leaving = append(l.leaving, leaver{s[n], wm, partialSplit, int64(split)})
		}
		l.splits[split] = slices.Delete(s, 0, n)
	}
	slices.SortStableFunc(l.leaving, func(a, b leaver) int { return cmp.Or(cmp.Compare(a.wm, b.wm), cmp.Compare(a.pos, b.pos)) })
	return l.leaving
}

// all takes the slices of the split of row i, to leave before it.
func (l *Local) all(b *stream.Batch, i int) []leaver {
	l.leaving = l.leaving[:0]
	for _, s := range l.splits[b.Split[i]] {
		l.leaving = append(l.leaving, leaver{s, l.told, b.Split[i], b.Pos[i]})
	}
	l.splits[b.Split[i]] = l.splits[b.Split[i]][:0]
	return l.leaving // due stays: too early does no harm
}

// leave lets the rows so far go that go as they are, and then partials of what has been
// added up.
func (l *Local) leave(to Downstream, leaving []leaver) error {
	if len(leaving) == 0 {
		return nil
	}
	src := l.seg.batch
	if err := l.flush(); err != nil {
		return err
	}
	if len(l.singles) > 0 {
		b := l.rows(src, to)
		next := leaving[0]
		b.Trailing, b.Next, b.NextPos = next.wm, next.split, next.pos
		l.out = append(l.out, b)
	}
	var b *stream.Batch
	for i := range leaving {
		x := &leaving[i]
		for n, sum := range x.sums {
			if b == nil {
				b = to.Get(nil)
				b.Source, b.Input, b.Partial = src.Source, src.Input, true
			}
			l.append(b, x, sum)
			b.Trailing, b.Next, b.NextPos = x.wm, x.split, x.pos
			if n+1 == len(x.sums) {
				b.NextPos++
			}
			if b.Heavy() || b.N == maxPartials {
				l.out = append(l.out, b)
				b = nil
			}
		}
	}
	if b != nil {
		l.out = append(l.out, b)
	}
	return nil
}

// append moves a sum to a batch of partials.
func (l *Local) append(b *stream.Batch, x *leaver, sum localSum) {
	at := len(b.Blob)
	w := state.Writer{Buf: append(b.Blob, sum.key...)}
	w.Cell(l.cells, sum.slot)
	b.Blob = w.Buf
	end := at + len(sum.key)
	b.Key = append(b.Key, stream.Str{Off: uint32(at), Len: uint32(end - at)})
	b.Raw = append(b.Raw, stream.Str{Off: uint32(end), Len: uint32(len(b.Blob) - end)})
	b.Time, b.WM, b.High = append(b.Time, x.time), append(b.WM, x.wm), append(b.High, x.time)
	b.Split, b.Pos = append(b.Split, x.split), append(b.Pos, x.pos)
	b.N++
	l.ledger.Open -= int64(l.cells.Rows(sum.slot))
	l.cells.Free(sum.slot)
}

// rows copies the rows that go as they are.
func (l *Local) rows(src *stream.Batch, to Downstream) *stream.Batch {
	b := to.Get(src)
	for _, i := range l.singles {
		b.AppendRow(src, int(i))
	}
	l.singles = l.singles[:0]
	return b
}

// end lets go what is left of a batch: all of it where nothing was added up, else the rows
// that go as they are, and in any case how far the sender has come.
func (l *Local) end(to Downstream, leaving []leaver) error {
	src := l.seg.batch
	if err := l.leave(to, leaving); err != nil {
		return err
	}
	if err := l.flush(); err != nil {
		return err
	}
	if len(l.singles) == src.N {
		l.out = append(l.out, src)
		return nil
	}
	if len(l.singles) > src.N/4 { // copying rows costs more than memory that is not used
		src.KeepWhole(l.singles)
		l.out = append(l.out, src)
		return nil
	}
	b := l.rows(src, to)
	b.Follow(src)
	to.Put(src)
	l.out = append(l.out, b)
	return nil
}

// senderOutput is the Output of a Local, which fires nothing.
type senderOutput struct {
	refused func(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error
}

func (o senderOutput) Refused(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error {
	return o.refused(b, i, w, f)
}

func (senderOutput) Rows(*result.Rows) error { panic("BUG: a sender does not fire") }
func (senderOutput) Late(*stream.Batch, int, stream.Window, stream.Time) error {
	panic("BUG: a sender does not judge lateness")
}
func (senderOutput) RefusedPane([]byte, stream.Window, *udf.Failure) error {
	panic("BUG: a sender does not fire")
}
