package window

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// coldKeys is what a general operator has on disk: keys with all that it keeps of them,
// and, for each domain of time, when the first timer of a key is due. All timers of a key
// are where the key is, so that they come in their order.
type coldKeys struct {
	Spill
	op *General
	to *state.Journal

	asked state.Chain[keyState] // the keys in memory, by when they were asked for

	SpilledState
	panes int64 // with contents
	// due says when the first timer on disk is due, or earlier, if there is any.
	due    [2]stream.Time
	timers [2]bool
	woken  [2]stream.Time // when keys were brought in last for their timers

	batch state.Batch
	value state.Writer // scratch
	name  []byte
	found []byte
}

// maxWake bounds the keys that are brought in at once to fire: what fires then is computed
// with one call.
const maxWake = fireRows

func newColdKeys(o *General, s *Spill) *coldKeys {
	if s == nil {
		return nil
	}
	c := &coldKeys{Spill: *s, op: o, to: state.NewJournal(s.Open(), keyName), woken: [2]stream.Time{stream.MinTime, stream.MinTime},
		asked: state.NewChain(func(k *keyState) *state.Link[keyState] { return &k.asked })}
	c.batch = c.to.Batch()
	return c
}

// key returns a key: one in memory, one from disk, or a new one.
func (o *General) key(key []byte, hash uint64) (*keyState, error) {
	k := o.find(key)
	if k == nil && o.cold != nil {
		var err error
		if k, err = o.cold.load(key, hash); err != nil {
			return nil, err
		}
	}
	if k == nil {
		k = o.newKey(append([]byte(nil), key...), hash)
		o.keys[string(k.key)] = k
	}
	o.cold.touch(k)
	return k, nil
}

// find returns a key in memory, nil if it is not there.
func (o *General) find(key []byte) *keyState {
	k := o.keys[string(key)]
	if k != nil {
		o.preserve(k)
	}
	return k
}

// newKey makes a key, which is in no cut that is open.
func (o *General) newKey(key []byte, hash uint64) *keyState {
	k := &keyState{key: key, hash: hash}
	k.saved.Store(2 * o.cuts)
	return k
}

// known returns a key that there is, in memory or on disk; nil if there is none.
func (o *General) known(key []byte) (*keyState, error) {
	k := o.find(key)
	if k == nil && o.cold != nil {
		return o.cold.load(key, stream.KeyHash(key))
	}
	return k, nil
}

// wake brings keys in whose timers are due, and asks a user's trigger about them.
func (o *General) wake(d trigger.Domain, t stream.Time) error {
	if err := o.cold.wake(d, t); err != nil || o.user == nil {
		return err
	}
	return o.lookAtTimers(d, o.cold.until(d, t))
}

// touch notes that a key was asked for.
func (c *coldKeys) touch(k *keyState) {
	if c != nil {
		c.asked.Touch(k)
	}
}

// unlink is told that a key leaves memory.
func (c *coldKeys) unlink(k *keyState) {
	if c != nil {
		c.asked.Remove(k)
	}
}

func (c *coldKeys) nameOf(key []byte, hash uint64) []byte {
	c.name = binary.BigEndian.AppendUint16(append(c.name[:0], keyName), uint16(c.op.groupOf(hash)))
	c.name = append(c.name, key...)
	return c.name
}

func (c *coldKeys) timerOf(d trigger.Domain, t stream.Time, key []byte) []byte {
	c.name = append(state.AppendTime(append(c.name[:0], timerName, byte(d)), t), key...)
	return c.name
}

// held is what the operator has in memory, without what is free there for others.
func (c *coldKeys) held() int64 {
	o := c.op
	n := o.Bytes() - o.table.Idle()
	if h := o.shared; h != nil {
		n -= h.cells.Idle() + h.sums.Idle()
	}
	return n
}

// shrink makes room if that is needed: the keys leave that were asked for longest ago.
// Nothing waits for panes.
func (c *coldKeys) shrink() error {
	if c == nil {
		return nil
	}
	p := c.op.process
	if c.held() <= c.Memory {
		return p.settle()
	}
	for held, room := c.held(), c.Room(); held > room; held = c.held() {
		if p.gives(held) || c.asked.Oldest() == nil && p.canGive() {
			if err := p.give(); err != nil {
				return err
			}
			continue
		}
		k := c.asked.Oldest()
		if k == nil {
			break
		}
		c.write(k)
		c.drop(k)
		if c.batch.Size() >= state.SpillBatch {
			if err := c.batch.Commit(); err != nil {
				return err
			}
		}
	}
	for d := range c.op.timers { // the queues name panes that have left
		c.op.timers[d].sweep(trigger.Domain(d))
	}
	if err := p.settle(); err != nil {
		return err
	}
	return c.batch.Commit()
}

// write writes a key, with a head that says what is counted of it: how many bytes are the
// key's as in a snapshot, its panes with contents, and its first timers. What is behind
// them are a user trigger's timer calls in the current advance, which no snapshot is taken
// in.
func (c *coldKeys) write(k *keyState) {
	w := &c.value
	w.Buf = w.Buf[:0]
	h := head{}
	for _, p := range k.panes {
		if p.filled() {
			h.panes++
		}
		for d := range p.timers {
			for _, t := range p.timers[d] {
				if !h.timed[d] || t < h.first[d] {
					h.timed[d], h.first[d] = true, t
				}
			}
		}
	}
	h.write(w)
	c.op.writeKey(w, k, c.op.liveTables())
	h.size = uint32(len(w.Buf) - headBytes)
	binary.LittleEndian.PutUint32(w.Buf, h.size)
	if c.op.user != nil {
		for _, p := range k.panes {
			writeTurns(w, p.own)
		}
	}
	c.batch.Put(c.nameOf(k.key, k.hash), w.Buf)
	c.count(&h, k.key, 1)
	for d := range h.first {
		if h.timed[d] {
			c.batch.Put(c.timerOf(trigger.Domain(d), h.first[d], k.key), nil)
			if !c.timers[d] || h.first[d] < c.due[d] {
				c.timers[d], c.due[d] = true, h.first[d]
			}
		}
	}
}

// count counts a key that comes to the disk, or, with -1, leaves it.
func (c *coldKeys) count(h *head, key []byte, n int64) {
	c.Pieces += n
	c.panes += n * int64(h.panes)
	c.Bytes += n * int64(int(h.size)+headBytes+3+len(key))
}

// drop takes a key that has been written out of memory.
func (c *coldKeys) drop(k *keyState) {
	o := c.op
	o.preserve(k)
	for _, p := range k.panes {
		p.drop()
		if p.slot >= 0 {
			o.table.Free(p.slot)
		}
		o.setElements(p, nil)
		*p = pane{op: o, gone: true, slot: -1} // queues of timers may still name it
	}
	if o.shared != nil && k.slices != nil {
		o.shared.forget(k.slices)
	}
	delete(o.keys, string(k.key))
	c.unlink(k)
}

// load brings a key in if it is on disk.
func (c *coldKeys) load(key []byte, hash uint64) (*keyState, error) {
	if c.Pieces == 0 {
		return nil, nil
	}
	k, err := c.take(key, hash)
	if k == nil || err != nil {
		return nil, err
	}
	return k, c.batch.Commit()
}

// take is load; the batch has to be committed.
func (c *coldKeys) take(key []byte, hash uint64) (*keyState, error) {
	value, ok, err := c.to.Get(c.nameOf(key, hash), c.found)
	if !ok || err != nil {
		return nil, err
	}
	c.found = value
	h, body, rest, err := readHead(value)
	if err != nil {
		return nil, err
	}
	r := state.NewReader(body)
	k := c.op.readKey(r)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("a key that was written to disk cannot be read: %w", err)
	}
	if c.op.user != nil {
		r = state.NewReader(rest)
		for _, p := range k.panes {
			readTurns(r, p)
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
	}
	c.touch(k)
	c.count(&h, key, -1)
	c.batch.Delete(c.nameOf(key, hash))
	for d := range h.first {
		if h.timed[d] {
			c.batch.Delete(c.timerOf(trigger.Domain(d), h.first[d], key))
		}
	}
	return k, nil
}

// until is how far the timers in memory may be called on the way to t: up to the first one
// on disk. Those of one time come in any order where they are of different keys.
func (c *coldKeys) until(d trigger.Domain, t stream.Time) stream.Time {
	if c != nil && c.timers[d] {
		return min(t, c.due[d])
	}
	return t
}

// isDue reports whether a timer on disk may be due at t.
func (c *coldKeys) isDue(d trigger.Domain, t stream.Time) bool {
	return c != nil && c.timers[d] && c.due[d] <= t
}

// wake brings in the keys whose timers are due first, if any is due at t: due may have been
// too early. It takes as many as there is room for, and with them those that will be due
// before as much time has passed again as since the last time: looking for them costs more
// than reading them. Timers in memory that are due no later have been called.
func (c *coldKeys) wake(d trigger.Domain, t stream.Time) error {
	if err := c.op.flush(); err != nil { // what waits for panes that may leave
		return err
	}
	if err := c.shrink(); err != nil {
		return err
	}
	n, soon := 0, t.Add(t.Sub(c.woken[d]))
	c.timers[d], c.woken[d] = false, t
	first := c.timerOf(d, c.due[d], nil)
	err := c.to.Scan(first, state.Behind(first[:2]), func(name, _ []byte) (bool, error) {
		time, key := state.TimeIn(name[2:]), name[2+8:]
		if n == 0 && time > t || time > soon || n == maxWake || n > 0 && c.held() > c.Memory {
			c.timers[d], c.due[d] = true, time
			return false, nil
		}
		k, err := c.take(key, stream.KeyHash(key))
		if err != nil {
			return false, err
		}
		if k == nil {
			return false, fmt.Errorf("a timer on disk is of a key that is not there: %w", errSpilled)
		}
		n++
		return true, nil
	})
	if err != nil {
		return err
	}
	return c.batch.Commit()
}

// freeze keeps what is on disk for a cut; nil: nothing is.
func (c *coldKeys) freeze() *state.JournalCut {
	if c == nil || c.Pieces == 0 {
		return nil
	}
	return c.to.Cut()
}

// keyValue is what a run has of a key.
func keyValue(w *state.Writer, _, value []byte) error {
	_, body, _, err := readHead(value)
	w.Buf = append(w.Buf, body...)
	return err
}

// mergeKeys writes the keys of a group, those in memory among those on disk, in order of their
// bytes, and how many they are.
func mergeKeys(in state.Frozen, group int, hot *writtenKeys, w *state.Writer) int {
	head, at, n := len(w.Buf), 0, 0
	w.Len(0)
	before := func(key []byte) {
		for ; at < len(hot.spans) && (key == nil || bytes.Compare(hot.KeyIn(hot.spans[at]), key) < 0); at++ {
			w.Buf = append(w.Buf, hot.of(at)...)
			n++
		}
	}
	first := binary.BigEndian.AppendUint16([]byte{keyName}, uint16(group))
	err := in.Scan(first, state.Behind(first), func(name, value []byte) (bool, error) {
		_, body, _, err := readHead(value)
		if err != nil {
			return false, err
		}
		before(name[len(first):])
		w.Buf = append(w.Buf, body...)
		n++
		return true, nil
	})
	if before(nil); err != nil {
		w.Fail(err)
	}
	w.PatchLen(head, n)
	return n
}

// restored notes that a key was read, and makes room for it.
func (c *coldKeys) restored(k *keyState, r *state.Reader) {
	if c == nil || r.Failed() {
		return
	}
	c.touch(k)
	if err := c.shrink(); err != nil {
		r.Fail(err)
	}
}

// filled counts the panes on disk that have contents.
func (c *coldKeys) filled() int64 {
	if c == nil {
		return 0
	}
	return c.panes
}

// head is what is counted of a key on disk.
type head struct {
	size  uint32 // of what a snapshot says of it
	panes uint32
	timed [2]bool
	first [2]stream.Time
}

const headBytes = 4 + 4 + 2*(1+8)

func (h *head) write(w *state.Writer) {
	w.U32(h.size)
	w.U32(h.panes)
	for d := range h.first {
		w.Bool(h.timed[d])
		w.I64(int64(h.first[d]))
	}
}

// readHead takes what write has written apart.
func readHead(value []byte) (h head, body, rest []byte, err error) {
	if len(value) < headBytes {
		return h, nil, nil, errSpilled
	}
	r := state.NewReader(value[:headBytes])
	h.size, h.panes = r.U32(), r.U32()
	for d := range h.first {
		h.timed[d], h.first[d] = r.Bool(), stream.Time(r.I64())
	}
	value = value[headBytes:]
	if int64(h.size) > int64(len(value)) {
		return h, nil, nil, errSpilled
	}
	return h, value[:h.size], value[h.size:], nil
}

var errSpilled = fault.As(fault.ErrCorrupt, errors.New("state on disk is not what was written there"))

// writeTurns writes what bounds a user trigger's timers within an advance.
func writeTurns(w *state.Writer, own *ownPane) {
	if own == nil {
		own = &ownPane{}
	}
	w.U64(own.turn)
	w.I64(int64(own.last[0]))
	w.I64(int64(own.last[1]))
	w.I64(int64(own.repeats))
}

func readTurns(r *state.Reader, p *pane) {
	turn, last, repeats := r.U64(), [2]stream.Time{stream.Time(r.I64()), stream.Time(r.I64())}, int(r.I64())
	if turn > 0 {
		own := p.ensureOwn()
		own.turn, own.last, own.repeats = turn, last, repeats
	}
}

// forget drops the slices of a key that leaves memory.
func (h *shared) forget(k *sliceKey) {
	if h.of == k {
		h.of = nil
	}
	for i := range k.cells {
		c := &k.cells[i]
		h.free(sum{h.cells, c.cell})
		h.release(&c.prefix)
		h.release(&c.suffix)
	}
}

// Spilled implements Operator.
func (o *General) Spilled() SpilledState {
	if o.cold == nil {
		return SpilledState{}
	}
	return o.cold.SpilledState.Plus(o.process.spilled())
}

// twin is an operator to read single keys with: it has the shape of this one, and no
// functions.
func (o *General) twin() *General {
	t := &General{cfg: o.cfg, keys: map[string]*keyState{}, user: o.user, assigner: o.assigner, table: state.NewCells(o.table.Width(), len(o.table.Parts))}
	t.width, t.varying, t.fresh, t.lists, t.wm, t.now = o.width, o.varying, o.fresh, o.lists, o.wm, o.now
	if h := o.shared; h != nil {
		t.shared = &shared{grid: h.grid, cells: state.NewCells(o.width, o.varying), sums: state.NewCells(o.width, o.varying)}
		t.shared.merger = merger{contents: &t.contents, failed: map[sum]*udf.Failure{}}
	}
	return t
}

// eachCold calls f for the panes on disk, as Each does. What cannot be read is left out:
// whoever needs it will say so.
func (o *General) eachCold(f func(k *keyState, p *pane)) {
	if o.cold == nil || o.cold.Pieces == 0 {
		return
	}
	_ = o.cold.to.Scan([]byte{keyName}, []byte{keyName + 1}, func(_, value []byte) (bool, error) {
		_, body, _, err := readHead(value)
		if err != nil {
			return false, err
		}
		r := state.NewReader(body)
		k := o.twin().readKey(r)
		for _, p := range k.panes {
			f(k, p)
		}
		return true, r.Err()
	})
}
