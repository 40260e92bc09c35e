package join

import (
	"errors"
	"fmt"

	"tidemark/engine/breaker"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// IntervalConfig is what an interval join is made of.
type IntervalConfig struct {
	// Lower and Upper bound in ms how far a right record may lie after a left one of the
	// same key: below 0 is before it. A bound that is not inclusive counts as the next
	// millisecond towards the other one (S110).
	Lower, Upper                   stream.Time
	LowerInclusive, UpperInclusive bool

	Key         []stream.Field
	DropNullKey bool
	// Pair makes rows of a pair; the join closes it. LeftCols and RightCols are the
	// columns of either side's batches that are its inputs, in order: only these are kept.
	Pair                udf.Pair
	LeftCols, RightCols []int
	// Breaker disables Pair, which is the plug-in of a name, in those of Groups key groups
	// in which it keeps failing; nil: never.
	Breaker *breaker.Breaker
	Plugin  string
	Groups  int
	// Spill is where state goes that has no room in memory; nil: it has.
	Spill *state.Spill
}

// Output hears what a join produces, in order, before the call into the join returns.
// Arguments are borrowed for the call. An error stops the job.
type Output interface {
	// Pairs takes rows; they precede the watermark that follows their records (S69).
	Pairs(*Rows) error
	// Late takes row i of b, which the join refused at watermark wm (S112).
	Late(b *stream.Batch, i int, side uint8, wm stream.Time) error
	// Refused takes a pair that user code does not accept: number pair of in, made when
	// row i of b arrived. It decides by the step's policy: nil goes on without the pair;
	// its records stay, for others.
	Refused(b *stream.Batch, i int, in *udf.Pairs, pair int, f *udf.Failure) error
}

// Rows are joined rows as columns.
type Rows struct {
	N      int
	Values *stream.Columns // the outputs of the pair function
	Key    stream.Columns  // one column for each field of the key
	Time   []stream.Time   // the later one of the two (S111)
	WM     []stream.Time   // the join's watermark when the row was made: it does not go down
	// Left and Right are the two records: with the row's place among those of its pair,
	// they name it the same in every run, whichever record came first.
	Left, Right []Place
	Ordinal     []uint32 // counts the rows of a pair from 0
	Of          []uint32 // how many rows the pair has
}

// Place is where a record was read.
type Place struct {
	Split stream.SplitID
	Pos   int64
}

// Ledger counts what became of the records of one side. Each counter has its own
// increment:
//
//	records in = Filtered + Late + Counted
//	Counted    = Open + Fired + Unfired
type Ledger struct {
	Filtered, Late, Counted int64
	Open                    int64 // still kept
	Fired, Unfired          int64 // gone, with and without having met a partner
	Behind                  int64 // at or below the watermark on arrival
}

// ErrNoTimestamp: an interval join was given a record without time (S2).
var ErrNoTimestamp = errors.New("the record has no timestamp")

// A call of the pair function carries at most so many pairs, enough to spread its cost,
// and about so much text: that of all rows must stay far below 4 GiB, where one pair may
// have 128 MiB.
const (
	callPairs = 1024
	callText  = 16 << 20
)

// Interval pairs records of two inputs that have the same key and are close in event
// time (S110–S114), for the key groups of one subtask. One goroutine uses it: Process in
// any number, Freeze between them, Close once, last; Restore only on a new one of the same
// configuration.
type Interval struct {
	cfg          IntervalConfig
	out          Output
	lower, upper stream.Time    // both inclusive
	retain       [2]stream.Time // how long a record is kept behind its time (S113)
	cols         [2][]int
	kinds        [2][]stream.Kind
	notNull      [2][]int // columns of a store in which a null excludes from pairs

	wm      stream.Time
	floors  map[int]stream.Time // by key group; nil: none
	highest stream.Time         // of them
	keys    map[string]*keyState
	spare   []*keyState // of keys that have gone, to be used again
	stores  [2]*store
	queue   queue
	ledger  [2]Ledger
	pairs   int64          // made so far
	refused int64          // of those, refused by the pair function
	epoch   uint32         // counts the cuts
	cut     *cut           // the last one
	cold    *cold          // what is on disk; nil: nothing ever is
	table   stream.Columns // scratch

	caller  Caller
	batch   *stream.Batch
	view    stream.Columns // the columns of batch that are kept
	pending udf.Pairs
	row     []uint32      // of pending pairs: the row of batch that made them
	at      []stream.Time // likewise: the watermark
	text    int           // likewise: bytes of text in all
	answer  udf.Emitted
	rows    Rows
}

// maxSpare bounds the keys kept for reuse: as many as come and go between two
// watermarks of a busy stream, not more.
const maxSpare = 1024

// NewInterval makes a join with empty buffers at watermark MIN (S7).
func NewInterval(cfg IntervalConfig, out Output) (*Interval, error) {
	if cfg.Lower > cfg.Upper {
		return nil, fault.Userf("interval join: lower bound %d ms is above upper bound %d ms (S110)", cfg.Lower, cfg.Upper)
	}
	j := &Interval{cfg: cfg, out: out, lower: cfg.Lower, upper: cfg.Upper, wm: stream.MinTime, highest: stream.MinTime,
		keys: map[string]*keyState{}, cols: [2][]int{cfg.LeftCols, cfg.RightCols}, caller: NewCaller(cfg.Pair)}
	if cfg.Breaker != nil {
		j.caller.bars = j.bars
	}
	if !cfg.LowerInclusive {
		j.lower = j.lower.Add(1)
	}
	if !cfg.UpperInclusive {
		j.upper = j.upper.Sub(1)
	}
	j.retain = [2]stream.Time{max(j.upper, 0), max(stream.Time(0).Sub(j.lower), 0)}
	for side, inputs := range [2][]udf.Input{j.caller.info.Left, j.caller.info.Right} {
		if len(inputs) != len(j.cols[side]) {
			return nil, fmt.Errorf("pair function: it has %d inputs on side %d, and is given %d columns", len(inputs), side, len(j.cols[side]))
		}
		for n, in := range inputs {
			j.kinds[side] = append(j.kinds[side], in.Kind)
			if !in.Nullable {
				j.notNull[side] = append(j.notNull[side], n)
			}
		}
		j.stores[side] = newStore(j.kinds[side])
	}
	j.cold = newCold(j, cfg.Spill)
	return j, nil
}

// Watermark is the join's event time.
func (j *Interval) Watermark() stream.Time { return j.wm }

// Ledger returns the counters of a side so far.
func (j *Interval) Ledger(side uint8) Ledger { return j.ledger[side] }

// Paired returns how many pairs were made so far, and how many of them the pair function
// refused.
func (j *Interval) Paired() (made, refused int64) { return j.pairs, j.refused }

// Buffered counts the records that are kept.
func (j *Interval) Buffered() int64 { return j.ledger[0].Open + j.ledger[1].Open }

// Each calls f for every record that is kept, by key in no order and then by time. key
// is borrowed.
func (j *Interval) Each(f func(side uint8, key []byte, t stream.Time)) {
	for _, k := range j.keys {
		for s := range k.sides {
			for _, e := range k.sides[s].list() {
				f(uint8(s), k.key, e.time)
			}
		}
	}
	j.cold.each(func(body []byte, _ int64) {
		r := state.NewReader(body)
		key := r.Lent()
		for s := range j.stores {
			for range r.Len() {
				t := stream.Time(r.I64())
				r.Bool()
				r.U32()
				r.I64()
				f(uint8(s), key, t)
			}
		}
	})
}

// Close closes the pair function.
func (j *Interval) Close() error { return errors.Join(j.cfg.Pair.Close(), j.cold.close()) }

// Clock sets processing time, for which nothing in an interval join waits (S114).
func (j *Interval) Clock(stream.Time) error { return nil }

// Process takes a batch of one side, which its Input tells, routed by key, each row with the watermark that it
// is seen at: the minimum over both sides (S114). Then comes the batch's trailing
// watermark. It leaves nothing pending: all pairs have been handed to Output.
func (j *Interval) Process(b *stream.Batch) error {
	side, err := j.start(b)
	if err != nil {
		return err
	}
	for i := range b.N {
		if b.WM[i] > j.wm {
			j.advance(b.WM[i])
		}
		if err := j.record(b, i, side); err != nil {
			return errors.Join(err, j.flush()) // what came before it is output all the same
		}
	}
	if err := j.flush(); err != nil {
		return err
	}
	if b.Trailing > j.wm {
		j.advance(b.Trailing)
	}
	if err := j.cold.settle(); err != nil {
		return err
	}
	if err := j.cold.shrink(); err != nil {
		return err
	}
	j.tidy()
	return nil
}

// start looks at a batch, and makes sure that its rows can be kept.
func (j *Interval) start(b *stream.Batch) (side uint8, err error) {
	if b.N == 0 {
		return 0, nil
	}
	side = b.Input
	j.batch = b
	j.view = stream.Columns{N: b.N, Blob: b.Blob, Cols: j.view.Cols[:0]}
	for _, c := range j.cols[side] {
		j.view.Cols = append(j.view.Cols, b.Cols[c])
	}
	if j.stores[side].fits(&j.view) {
		return side, nil
	}
	if j.compact(side, j.list()); !j.stores[side].fits(&j.view) {
		return 0, fault.Quotaf("the join keeps %d records with %d bytes of text on its %s side, more than one subtask can: narrow the bounds or raise the parallelism",
			j.ledger[side].Open, len(j.stores[side].Blob), [2]string{"left", "right"}[side])
	}
	return side, nil
}

// record judges a row, keeps it and pairs it with what the other side keeps.
func (j *Interval) record(b *stream.Batch, i int, side uint8) error {
	ts, key, l := b.Time[i], b.Key[i].Bytes(b.Blob), &j.ledger[side]
	if j.cfg.DropNullKey && stream.KeyHasNull(key, j.cfg.Key) {
		l.Filtered++
		return nil
	}
	if ts == stream.MinTime {
		return fault.As(fault.ErrUser, ErrNoTimestamp)
	}
	wm := j.time(b.Hash[i])
	if ts <= wm {
		l.Behind++
	}
	if ts < wm { // strict, unlike windows (S112)
		l.Late++
		return j.out.Late(b, i, side, wm)
	}
	l.Counted++
	l.Open++
	st := j.stores[side]
	row := st.appendFrom(&j.view, i, ts, b.Split[i], b.Pos[i])
	k, err := j.key(key, b.Hash[i], wm)
	if err != nil {
		return err
	}
	own := &k.sides[side]
	n := own.insert(entry{time: ts, row: row, null: st.null(row, j.notNull[side])})
	if n == 0 {
		j.queue.set(own, j.retain[side])
	}
	return j.match(own, n, i)
}

// match pairs record n of a buffer with all of the other side that lie in its interval.
func (j *Interval) match(own *buffer, n, i int) error {
	x := &own.list()[n]
	if x.null {
		return nil
	}
	other := &own.owner.sides[1-own.side]
	reached := func(t stream.Time) bool { return t >= x.time.Add(j.lower) }
	passed := func(t stream.Time) bool { return t > x.time.Add(j.upper) }
	if own.side == 1 {
		reached = func(t stream.Time) bool { return t.Add(j.upper) >= x.time }
		passed = func(t stream.Time) bool { return t.Add(j.lower) > x.time }
	}
	lo, hi := other.between(reached, passed)
	for m := lo; m < hi; m++ {
		y := &other.list()[m]
		if y.null {
			continue
		}
		x.paired, y.paired = true, true
		l, r := x, y
		if own.side == 1 {
			l, r = y, x
		}
		if err := j.pair(l, r, i); err != nil {
			return err
		}
	}
	return nil
}

// pair notes a pair that row i of the batch made.
func (j *Interval) pair(l, r *entry, i int) error {
	j.pairs++
	p := &j.pending
	p.L, p.R, p.Time = append(p.L, l.row), append(p.R, r.row), append(p.Time, max(l.time, r.time))
	j.row, j.at = append(j.row, uint32(i)), append(j.at, j.wm)
	j.text += int(j.stores[0].text[l.row]) + int(j.stores[1].text[r.row])
	if p.N() < callPairs && j.text < callText {
		return nil
	}
	return j.flush()
}

// flush makes rows of the pairs that wait. Those that were made before one failed are
// output in any case.
func (j *Interval) flush() error {
	p := &j.pending
	if p.N() == 0 {
		return nil
	}
	p.Left = udf.PairSide{Columns: &j.stores[0].Columns, Time: j.stores[0].time}
	p.Right = udf.PairSide{Columns: &j.stores[1].Columns, Time: j.stores[1].time}
	j.answer.Reset(j.caller.info.Outputs)
	err := j.caller.Call(p, &j.answer, func(pair int, f *udf.Failure) error {
		j.refused++
		if j.cfg.Breaker != nil {
			j.cfg.Breaker.Failed(j.group(pair), p.Time[pair], f)
		}
		return j.out.Refused(j.batch, int(j.row[pair]), p, pair, f)
	})
	if j.answer.N > 0 {
		j.describe()
		if oerr := j.out.Pairs(&j.rows); err == nil {
			err = oerr
		}
	}
	p.L, p.R, p.Time = p.L[:0], p.R[:0], p.Time[:0]
	j.row, j.at, j.text = j.row[:0], j.at[:0], 0
	return err
}

// Disabled says in how many key groups the pair function is disabled.
func (j *Interval) Disabled() []breaker.Disabled { return j.cfg.Breaker.Disabled() }

// group is the key group of a pending pair.
func (j *Interval) group(pair int) int {
	return j.groupOf(j.batch.Hash[j.row[pair]])
}

// bars returns why a pending pair meets a disabled plug-in, nil if it does not.
func (j *Interval) bars(pair int) *udf.Failure {
	if !j.cfg.Breaker.Any() {
		return nil
	}
	return j.cfg.Breaker.Bars(j.group(pair), j.cfg.Plugin)
}

// describe sets j.rows to the answer and what is known of its pairs.
func (j *Interval) describe() {
	r, p, a := &j.rows, &j.pending, &j.answer
	*r = Rows{N: a.N, Values: &a.Columns, Key: r.Key, Time: r.Time[:0], WM: r.WM[:0], Left: r.Left[:0], Right: r.Right[:0], Ordinal: r.Ordinal[:0], Of: r.Of[:0]}
	if r.Key.Cols == nil {
		r.Key.Cols = make([]stream.Column, len(j.cfg.Key))
	}
	for n, f := range j.cfg.Key {
		r.Key.Cols[n].Reset(f.Kind)
	}
	r.Key.N, r.Key.Blob = a.N, r.Key.Blob[:0]
	for from := 0; from < a.N; {
		to := from + 1
		for to < a.N && a.Of[to] == a.Of[from] {
			to++
		}
		pair := a.Of[from]
		left, right := p.L[pair], p.R[pair]
		for i := from; i < to; i++ {
			blob, err := stream.DecodeKey(j.batch.Key[j.row[pair]].Bytes(j.batch.Blob), r.Key.Cols, r.Key.Blob)
			if err != nil {
				panic("BUG: " + err.Error())
			}
			r.Key.Blob = blob
			r.Time = append(r.Time, p.Time[pair])
			r.WM = append(r.WM, j.at[pair])
			r.Left = append(r.Left, j.stores[0].place(left))
			r.Right = append(r.Right, j.stores[1].place(right))
			r.Ordinal = append(r.Ordinal, uint32(i-from))
			r.Of = append(r.Of, uint32(to-from))
		}
		from = to
	}
}

// advance sets the watermark, which rises, and drops the records that it reaches the
// end of (S113). One that came at the watermark itself waits for the next advance even
// if its end is there already (S67).
func (j *Interval) advance(w stream.Time) {
	j.wm = w
	j.passFloors()
	for len(j.queue) > 0 && j.queue[0].due <= w {
		j.expire(j.queue[0])
	}
}

// expire drops the records of a buffer that the watermark has reached the end of.
func (j *Interval) expire(b *buffer) {
	j.change(b.owner)
	l, retain, n := &j.ledger[b.side], j.retain[b.side], 0
	for _, e := range b.list() {
		if e.time.Add(retain) > j.wm {
			break
		}
		if e.paired {
			l.Fired++
		} else {
			l.Unfired++
		}
		n++
	}
	l.Open -= int64(n)
	j.stores[b.side].dead += n
	b.drop(n)
	j.queue.set(b, retain)
	if b.owner.empty() {
		j.forget(b.owner)
	}
}

// expireKey is expire for both buffers of a key, where their time has come.
func (j *Interval) expireKey(k *keyState) {
	for s := range k.sides {
		if b := &k.sides[s]; b.at >= 0 && b.due <= j.wm {
			j.expire(b)
		}
	}
}

// key returns the state of a key, to be changed: from memory, from disk, or a new one of a
// key group that stands at a time.
func (j *Interval) key(key []byte, hash uint64, at stream.Time) (*keyState, error) {
	k := j.keys[string(key)]
	if k == nil {
		var err error
		if k, err = j.cold.load(key, hash); err != nil {
			return nil, err
		}
	}
	if k == nil {
		k = j.newKey(key, at)
	}
	j.cold.touch(k)
	j.change(k)
	return k, nil
}

// newKey makes a key whose key group stands at a time.
func (j *Interval) newKey(key []byte, at stream.Time) *keyState {
	k := new(keyState)
	if n := len(j.spare); n > 0 {
		k, j.spare = j.spare[n-1], j.spare[:n-1]
	}
	k.key, k.since = append(k.key[:0], key...), at
	k.epoch.Store(j.epoch) // no cut so far has it
	for s := range k.sides {
		b := &k.sides[s]
		b.owner, b.side, b.at = k, uint8(s), -1
	}
	j.keys[string(key)] = k
	return k
}

// forget drops a key that nothing is kept of in memory.
func (j *Interval) forget(k *keyState) {
	j.cold.forget(k)
	delete(j.keys, string(k.key))
	if !j.cut.busy() && len(j.spare) < maxSpare && cap(k.sides[0].entries)+cap(k.sides[1].entries) <= maxSpareEntries {
		j.spare = append(j.spare, k)
	}
}

// maxSpareEntries bounds what a key kept for reuse holds: the room of a busy key is not
// worth keeping for the many that have a few records.
const maxSpareEntries = 64

// minDead is from where on copying a store is worth the walk over all keys.
const minDead = 4096

// tidy takes the records that have gone out of the stores once they are most of all.
func (j *Interval) tidy() {
	for s, st := range j.stores {
		switch {
		case st.dead == st.N:
			j.stores[s] = st.clear(j.kinds[s])
		case st.dead > minDead && 2*st.dead > st.N:
			j.compact(uint8(s), j.list())
		}
	}
}

func (j *Interval) compact(side uint8, keys []*keyState) {
	j.changeAll() // rows get other numbers
	j.stores[side] = j.stores[side].compact(j.kinds[side], keys, side)
}

func (j *Interval) list() []*keyState {
	keys := make([]*keyState, 0, len(j.keys))
	for _, k := range j.keys {
		keys = append(keys, k)
	}
	return keys
}
