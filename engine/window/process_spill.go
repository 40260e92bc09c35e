package window

import (
	"encoding/binary"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// coldStates is what a process function keeps that is on disk: of keys, and of keys and
// windows. What was not asked for in the longest time leaves memory, and comes back when it
// is asked for. It then stays on disk as well until it is replaced or removed, so that what
// is only read is written once: stored is what is on disk, and SpilledState counts what is
// not in memory.
//
// States of keys that expire are found by when they were written: those in memory only in
// keyStates.byTime, all others by names on disk. The backing is the processor's own.
type coldStates struct {
	Spill
	to     state.Backing
	held   func() int64 // what the operator has in memory
	groups int
	ttl    stream.Time

	asked state.Chain[keptState] // in memory, by when they were asked for
	SpilledState
	windows int64 // of the pieces, those of windows
	stored  int64
	// due is the time of writing of the first one that is stored and can expire, or earlier;
	// aged: there is one.
	aged bool
	due  stream.Time

	batch state.Batch
	name  []byte // scratch
	value state.Writer
	found []byte
	// failed is an error that came where nobody could be told: settle tells it.
	failed error
}

// Names on disk begin with what they are of.
const (
	stateName  = 's' // group, key: the state of a key: when it was written, data
	ageName    = 'a' // time of writing, key: that such a one can expire: bytes of its data
	windowName = 'w' // group, window, key: the state of a window: data
)

// windowKey is how many bytes precede the key in the name of a window's state.
const windowKey = 1 + 2 + 8 + 8

// spill has states leave memory when the operator holds more than it may.
func (p *processor) spill(s *Spill, held func() int64, groups int) {
	if p == nil || s == nil {
		return
	}
	c := &coldStates{Spill: *s, to: s.Open(), held: held, groups: groups, ttl: p.TTL}
	c.batch = c.to.Batch()
	c.asked = state.NewChain(func(k *keptState) *state.Link[keptState] { return &k.byAsked })
	p.cold, p.keys.cold, p.windows.cold = c, c, c
}

// ofWindow reports whether a state is one of a window.
func (k *keptState) ofWindow() bool { return k.window != stream.Window{} }

func (c *coldStates) nameOf(w stream.Window, key []byte) []byte {
	first := byte(stateName)
	if w != (stream.Window{}) {
		first = windowName
	}
	name := binary.BigEndian.AppendUint16(append(c.name[:0], first), uint16(stream.KeyGroup(stream.KeyHash(key), c.groups)))
	if first == windowName {
		name = state.AppendTime(state.AppendTime(name, w.Start), w.End)
	}
	c.name = append(name, key...)
	return c.name
}

func (c *coldStates) ageOf(written stream.Time, key []byte) []byte {
	c.name = append(state.AppendTime(append(c.name[:0], ageName), written), key...)
	return c.name
}

// ages reports whether a state can expire.
func (c *coldStates) ages(k *keptState) bool {
	return c.ttl > 0 && !k.ofWindow() && k.written != stream.MinTime
}

// count counts a state that is on disk only, or, with -1, is not any more.
func (c *coldStates) count(k *keptState, data int, n int64) {
	size := 1 + 2 + len(k.key) + 8 + data
	switch {
	case k.ofWindow():
		size = windowKey + len(k.key) + data
		c.windows += n
	case c.ages(k):
		size += 1 + 8 + len(k.key) + 4
	}
	c.Pieces += n
	c.Bytes += n * int64(size)
}

// touch notes that a state in memory was asked for.
func (c *coldStates) touch(k *keptState) {
	if c != nil && k != nil {
		c.asked.Touch(k)
	}
}

// leave notes that a state leaves memory. It stays on disk if it is there.
func (c *coldStates) leave(k *keptState) {
	if c != nil {
		c.asked.Remove(k)
	}
}

// load returns the state of a key, or of a key's window, that is not in memory; nil if there
// is none on disk.
func (c *coldStates) load(w stream.Window, key []byte) (*keptState, error) {
	if c == nil || c.Pieces == 0 {
		return nil, nil
	}
	if err := c.commit(); err != nil {
		return nil, err
	}
	value, ok, err := c.to.Get(c.nameOf(w, key), c.found)
	if !ok || err != nil {
		return nil, err
	}
	c.found = value
	k, err := storedState(w, key, value)
	if err != nil {
		return nil, err
	}
	c.count(k, len(k.data), -1)
	return k, nil
}

// storedState is a state on disk. Arguments are borrowed.
func storedState(w stream.Window, key, value []byte) (*keptState, error) {
	k := &keptState{key: string(key), window: w, stored: true}
	if !k.ofWindow() {
		if len(value) < 8 {
			return nil, errSpilled
		}
		k.written, value = stream.Time(binary.LittleEndian.Uint64(value)), value[8:]
	}
	k.data = slices.Clone(value)
	return k, nil
}

// write has a state on disk that leaves memory.
func (c *coldStates) write(k *keptState) {
	c.count(k, len(k.data), 1)
	if k.stored {
		return
	}
	w := &c.value
	w.Buf = w.Buf[:0]
	if !k.ofWindow() {
		w.I64(int64(k.written))
	}
	w.Buf = append(w.Buf, k.data...)
	c.batch.Put(c.nameOf(k.window, []byte(k.key)), w.Buf)
	if c.ages(k) {
		c.batch.Put(c.ageOf(k.written, []byte(k.key)), binary.LittleEndian.AppendUint32(nil, uint32(len(k.data))))
		if !c.aged || k.written < c.due {
			c.aged, c.due = true, k.written
		}
	}
	c.stored++
}

// erase removes a state from disk if it is there.
func (c *coldStates) erase(k *keptState) {
	if c == nil || !k.stored {
		return
	}
	c.batch.Delete(c.nameOf(k.window, []byte(k.key)))
	if c.ages(k) {
		c.batch.Delete(c.ageOf(k.written, []byte(k.key)))
	}
	c.stored--
}

// expire removes what is gone at watermark wm from disk, and from memory what is in both.
func (c *coldStates) expire(s *keyStates, wm stream.Time) error {
	if c == nil || !c.aged || !s.expired(c.due, wm) {
		return nil
	}
	if err := c.commit(); err != nil {
		return err
	}
	c.aged = false
	err := c.to.Scan([]byte{ageName}, []byte{ageName + 1}, func(name, value []byte) (bool, error) {
		if len(name) < 1+8 || len(value) != 4 {
			return false, errSpilled
		}
		written, key := state.TimeIn(name[1:]), name[1+8:]
		if !s.expired(written, wm) {
			c.aged, c.due = true, written
			return false, nil
		}
		if k := s.byKey[string(key)]; k != nil {
			s.remove(k)
			return true, nil
		}
		k := &keptState{key: string(key), written: written, stored: true}
		c.erase(k)
		c.count(k, int(binary.LittleEndian.Uint32(value)), -1)
		return true, c.commitMany()
	})
	if err != nil {
		return err
	}
	return c.commit()
}

// drop removes the state of a key's window from disk, which is not in memory.
func (c *coldStates) drop(w stream.Window, key []byte) {
	if c == nil || c.windows == 0 {
		return
	}
	k, err := c.load(w, key)
	if err != nil {
		c.fail(err)
	}
	if k != nil {
		c.erase(k)
	}
}

// close removes the states on disk, and not in memory, of windows that end at a time or
// before.
func (c *coldStates) close(end stream.Time) {
	if c == nil || c.windows == 0 {
		return
	}
	c.fail(c.commit())
	for g := range c.groups {
		from := binary.BigEndian.AppendUint16([]byte{windowName}, uint16(g))
		c.fail(c.to.Scan(from, state.AppendTime(slices.Clone(from), end), func(name, value []byte) (bool, error) {
			w, key, err := windowIn(name)
			if err != nil || w.End > end {
				return err == nil, err
			}
			k := &keptState{key: string(key), window: w, stored: true}
			c.erase(k)
			c.count(k, len(value), -1)
			return true, c.commitMany()
		}))
	}
	c.fail(c.commit())
}

// windowIn is the window and the key in the name of a window's state.
func windowIn(name []byte) (w stream.Window, key []byte, err error) {
	if len(name) < windowKey {
		return w, nil, errSpilled
	}
	return stream.Window{Start: state.TimeIn(name[3:]), End: state.TimeIn(name[3+8:])}, name[windowKey:], nil
}

func (c *coldStates) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
}

// commit carries out what waits, so that what is read has it.
func (c *coldStates) commit() error {
	if c.failed != nil {
		return c.failed
	}
	return c.batch.Commit()
}

// commitMany is commit if much waits.
func (c *coldStates) commitMany() error {
	if c.batch.Size() < state.SpillBatch {
		return nil
	}
	return c.commit()
}

// settle ends a batch of the operator: nothing waits.
func (p *processor) settle() error {
	if p == nil || p.cold == nil {
		return nil
	}
	return p.cold.commit()
}

// canGive reports whether there is a state in memory that may leave it.
func (p *processor) canGive() bool { return p != nil && p.cold != nil && p.cold.asked.Oldest() != nil }

// gives reports whether the next to leave memory should be a state: what holds more than all
// else does gives first.
func (p *processor) gives(held int64) bool { return p.canGive() && 2*p.bytes() >= held }

// give has the state leave memory that was not asked for in the longest time.
func (p *processor) give() error {
	k := p.cold.asked.Oldest()
	if k.ofWindow() {
		p.windows.leave(k)
	} else {
		p.keys.leave(k)
		delete(p.keys.byKey, k.key)
	}
	p.cold.write(k)
	return p.cold.commitMany()
}

// makeRoom has states leave memory, if there is too much in it and most of that are states.
func (p *processor) makeRoom() error {
	c := p.cold
	if c == nil || c.held() <= c.Memory {
		return nil
	}
	for held, room := c.held(), c.Room(); held > room && p.gives(held); held = c.held() {
		if err := p.give(); err != nil {
			return err
		}
	}
	return c.commit()
}

// spilled is what is on disk and not in memory.
func (p *processor) spilled() SpilledState {
	if p == nil || p.cold == nil {
		return SpilledState{}
	}
	return p.cold.SpilledState
}

// frozenStates is what was on disk when a cut was taken.
type frozenStates struct {
	in  state.Frozen
	err error // of what had to be written before
}

// freeze keeps what is on disk for a cut; nil: nothing is.
func (c *coldStates) freeze() *frozenStates {
	if c == nil || c.stored == 0 {
		return nil
	}
	err := c.commit()
	return &frozenStates{c.to.Freeze(), err}
}

// read adds the states of a key group.
func (f *frozenStates) read(group int, to *savedStates) error {
	if f.err != nil {
		return f.err
	}
	first := binary.BigEndian.AppendUint16([]byte{stateName}, uint16(group))
	err := f.in.Scan(first, state.Behind(first), func(name, value []byte) (bool, error) {
		k, err := storedState(stream.Window{}, name[len(first):], value)
		if err != nil {
			return false, err
		}
		to.keys = append(to.keys, k)
		return true, nil
	})
	if err != nil {
		return err
	}
	first[0] = windowName
	return f.in.Scan(first, state.Behind(first), func(name, value []byte) (bool, error) {
		w, key, err := windowIn(name)
		if err != nil {
			return false, err
		}
		k, err := storedState(w, key, value)
		if err != nil {
			return false, err
		}
		to.windows = append(to.windows, k)
		return true, nil
	})
}
