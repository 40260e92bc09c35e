package join

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// What has no room in memory lies on disk, a key with the records of both sides at once: it
// leaves when it was not asked for in the longest time, and comes back when a record of
// either side asks for it. When the first of its records goes is noted beside it, by time.
//
// Records on disk go as they would in memory: of a key that is asked for at once, of all
// others between two batches, so that nobody sees one of them stay for longer.
//
//	k group key   a key: head, what a cut says of it, a table of its records for each side
//	t time key    when the first of its records goes

const (
	keyName   = 'k'
	timerName = 't'
)

// cold is what a join has on disk.
type cold struct {
	state.Spill
	j     *Interval
	to    state.Backing
	asked state.Chain[keyState] // the keys in memory, by when they were asked for

	state.Spilled
	// due says when the first record on disk goes, or earlier, if waits.
	due   stream.Time
	waits bool
	// settled is the watermark at which no record was on disk any more that it had reached
	// the end of, but for those that came at that watermark itself. Of what was restored none
	// goes before the next step of time (keyState.since).
	settled stream.Time

	batch state.Batch
	value state.Writer // scratch
	name  []byte
	found []byte
}

func newCold(j *Interval, s *state.Spill) *cold {
	if s == nil {
		return nil
	}
	c := &cold{Spill: *s, j: j, to: s.Open(), settled: stream.MinTime,
		asked: state.NewChain(func(k *keyState) *state.Link[keyState] { return &k.asked })}
	c.batch = c.to.Batch()
	return c
}

// head is what is known of a key on disk without reading its records.
type head struct {
	size             uint32 // of what a cut says of it
	since, due, last stream.Time
	records          [2][2]uint32 // of either side: without and with a partner
}

const headBytes = 4 + 3*8 + 4*4

func (h *head) write(w *state.Writer) {
	w.U32(h.size)
	for _, t := range []stream.Time{h.since, h.due, h.last} {
		w.I64(int64(t))
	}
	for _, side := range h.records {
		w.U32(side[0])
		w.U32(side[1])
	}
}

// readHead takes a value apart: the head, what a cut says, the tables.
func readHead(value []byte) (h head, body, tables []byte, err error) {
	if len(value) < headBytes {
		return h, nil, nil, errSpilled
	}
	r := state.NewReader(value[:headBytes])
	h.size, h.since, h.due, h.last = r.U32(), stream.Time(r.I64()), stream.Time(r.I64()), stream.Time(r.I64())
	for side := range h.records {
		h.records[side] = [2]uint32{r.U32(), r.U32()}
	}
	value = value[headBytes:]
	if int64(h.size) > int64(len(value)) {
		return h, nil, nil, errSpilled
	}
	return h, value[:h.size], value[h.size:], nil
}

var errSpilled = fault.As(fault.ErrCorrupt, errors.New("state on disk is not what was written there"))

// touch notes that a key was asked for.
func (c *cold) touch(k *keyState) {
	if c != nil {
		c.asked.Touch(k)
	}
}

// forget is told that a key in memory goes.
func (c *cold) forget(k *keyState) {
	if c != nil {
		c.asked.Remove(k)
	}
}

func (c *cold) nameOf(key []byte, hash uint64) []byte {
	c.name = append(groupName(c.name[:0], c.j.groupOf(hash)), key...)
	return c.name
}

// groupName is what the names of a group's keys begin with.
func groupName(name []byte, group int) []byte {
	return binary.BigEndian.AppendUint16(append(name, keyName), uint16(group))
}

func (c *cold) timerOf(t stream.Time, key []byte) []byte {
	c.name = append(state.AppendTime(append(c.name[:0], timerName), t), key...)
	return c.name
}

// wait notes that a record on disk goes at t.
func (c *cold) wait(t stream.Time) {
	if !c.waits || t < c.due {
		c.waits, c.due = true, t
	}
}

// held is about what the keys in memory need there; records that have gone make room when
// the stores are compacted.
func (c *cold) held() int64 {
	j := c.j
	n := keyBytes * int64(len(j.keys))
	for _, s := range j.stores {
		if live := int64(s.N - s.dead); live > 0 {
			n += entryBytes*live + int64(float64(s.bytes())*float64(live)/float64(s.N))
		}
	}
	return n
}

// shrink makes room if that is needed. Between two batches, since pairs that wait refer to
// rows.
func (c *cold) shrink() error {
	if c == nil || c.held() <= c.Memory {
		return nil
	}
	for room := c.Room(); c.held() > room; {
		k := c.asked.Oldest()
		if k == nil {
			break
		}
		if err := c.leave(k); err != nil {
			return err
		}
	}
	return c.batch.Commit()
}

// leave writes a key and takes it out of memory.
func (c *cold) leave(k *keyState) error {
	j := c.j
	c.write(k)
	j.change(k)
	for s := range k.sides {
		b := &k.sides[s]
		j.stores[s].dead += len(b.list())
		b.drop(len(b.list()))
		j.queue.set(b, j.retain[s])
	}
	j.forget(k)
	if c.batch.Size() < state.SpillBatch {
		return nil
	}
	return c.batch.Commit()
}

func (c *cold) write(k *keyState) {
	w, h := &c.value, head{since: k.since, due: stream.MaxTime, last: stream.MinTime}
	w.Buf = w.Buf[:0]
	h.write(w)
	k.write(w, &c.j.stores)
	h.size = uint32(len(w.Buf) - headBytes)
	for s, st := range c.j.stores {
		t := &c.j.table
		t.Reset(c.j.kinds[s])
		list := k.sides[s].list()
		for _, e := range list {
			t.AppendRow(&st.Columns, int(e.row))
			n := &h.records[s][0]
			if e.paired {
				n = &h.records[s][1]
			}
			*n++
		}
		w.Columns(t)
		if len(list) > 0 {
			due := k.sides[s].due
			h.due, h.last = min(h.due, due), max(h.last, due, list[len(list)-1].time.Add(c.j.retain[s]))
		}
	}
	top := state.Writer{Buf: w.Buf[:0]}
	h.write(&top) // where room was left for it
	c.batch.Put(c.nameOf(k.key, stream.KeyHash(k.key)), w.Buf)
	c.batch.Put(c.timerOf(h.due, k.key), nil)
	c.wait(h.due)
	c.count(1, k.key, w.Buf)
}

// count counts a key that comes to the disk, or, with -1, leaves it.
func (c *cold) count(n int64, key, value []byte) {
	c.Pieces += n
	c.Bytes += n * int64(len(value)+3+len(key)+9+len(key))
}

// load brings a key in if it is on disk, without the records that have gone meanwhile; nil:
// nothing is left.
func (c *cold) load(key []byte, hash uint64) (*keyState, error) {
	if c == nil || c.Pieces == 0 {
		return nil, nil
	}
	value, ok, err := c.get(key, hash)
	if !ok || err != nil {
		return nil, err
	}
	k, err := c.read(key, value)
	if err != nil {
		return nil, err
	}
	if c.j.wm > c.settled {
		c.j.expireKey(k)
	}
	if err := c.batch.Commit(); err != nil || k.empty() {
		return nil, err
	}
	return k, nil
}

func (c *cold) get(key []byte, hash uint64) (value []byte, ok bool, err error) {
	value, ok, err = c.to.Get(c.nameOf(key, hash), c.found)
	if ok {
		c.found = value
	}
	return value, ok, err
}

// read makes a key of what is on disk of it, which is deleted there. The batch has to be
// committed.
func (c *cold) read(key, value []byte) (*keyState, error) {
	h, body, tables, err := readHead(value)
	if err != nil {
		return nil, err
	}
	r := state.NewReader(body)
	if !bytes.Equal(r.Lent(), key) {
		return nil, errSpilled
	}
	k := c.j.newKey(key, h.since)
	c.j.readLists(r, k)
	if err := r.Err(); err == nil {
		r = state.NewReader(tables)
		c.j.readTables(r)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("a key that was written to disk cannot be read: %w", err)
	}
	c.j.findNulls(k)
	c.delete(&h, key, value)
	return k, nil
}

func (c *cold) delete(h *head, key, value []byte) {
	c.count(-1, key, value)
	c.batch.Delete(c.nameOf(key, stream.KeyHash(key)))
	c.batch.Delete(c.timerOf(h.due, key))
}

// settle has the records on disk go that the watermark has reached the end of. Between two
// batches.
func (c *cold) settle() error {
	if c == nil || c.j.wm <= c.settled {
		return nil
	}
	wm := c.j.wm
	if c.settled = wm; !c.waits || c.due > wm {
		return nil
	}
	first := bytes.Clone(c.timerOf(c.due, nil))
	c.waits = false
	err := c.to.Scan(first, state.Behind(first[:1]), func(name, _ []byte) (bool, error) {
		if due := state.TimeIn(name[1:]); due > wm {
			c.wait(due)
			return false, nil
		}
		return true, c.expire(name[1+8:])
	})
	if err != nil {
		return err
	}
	return c.batch.Commit()
}

// expire has records of a key go. If all do, the head says enough; otherwise the key is
// written anew, for nobody has asked for it.
func (c *cold) expire(key []byte) error {
	j := c.j
	value, ok, err := c.get(key, stream.KeyHash(key))
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("a time on disk is of a key that is not there: %w", errSpilled)
	}
	h, _, _, err := readHead(value)
	if err != nil {
		return err
	}
	if h.last <= j.wm {
		for s, n := range h.records {
			l := &j.ledger[s]
			l.Unfired, l.Fired, l.Open = l.Unfired+int64(n[0]), l.Fired+int64(n[1]), l.Open-int64(n[0])-int64(n[1])
		}
		c.delete(&h, key, value)
		return nil
	}
	k, err := c.read(key, value)
	if err != nil {
		return err
	}
	j.expireKey(k)
	err = c.leave(k)
	j.tidy() // what it took for the moment
	return err
}

// restored makes room for key groups that were read.
func (c *cold) restored() error {
	if c == nil {
		return nil
	}
	err := c.shrink()
	c.j.tidy()
	return err
}

// freeze keeps what is on disk for a cut; nil: nothing is.
func (c *cold) freeze() state.Frozen {
	if c == nil || c.Pieces == 0 {
		return nil
	}
	return c.to.Freeze()
}

// each calls f for every key on disk, with its value. What cannot be read is left out:
// whoever needs it will say so.
func (c *cold) each(f func(body []byte, size int64)) {
	if c == nil || c.Pieces == 0 {
		return
	}
	_ = c.to.Scan([]byte{keyName}, []byte{keyName + 1}, func(_, value []byte) (bool, error) {
		_, body, _, err := readHead(value)
		if err == nil {
			f(body, int64(len(value)))
		}
		return true, nil
	})
}

// Spilled tells what is on disk.
func (j *Interval) Spilled() state.Spilled {
	if j.cold == nil {
		return state.Spilled{}
	}
	return j.cold.Spilled
}

// close lets go of the disk.
func (c *cold) close() error {
	if c == nil {
		return nil
	}
	return c.batch.Close()
}
