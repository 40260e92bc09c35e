package window

import (
	"cmp"
	"slices"
	"strings"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// keptState is what a process function keeps of a key, or of a key and window. But for its
// place it never changes, it is only replaced, so that a cut can be read while others go on.
type keptState struct {
	key     string
	window  stream.Window // zero: it is of the key
	data    []byte        // never empty
	written stream.Time   // of a key: the watermark that its writer saw

	byTime  state.Link[keptState] // see keyStates
	byAsked state.Link[keptState] // see coldStates
	stored  bool                  // it is on disk as well
}

// bytes is what a state takes.
func (k *keptState) bytes() int64 { return stateBytes + int64(len(k.key)+len(k.data)) }

// compare is the order of states in a cut.
func (k *keptState) compare(other *keptState) int {
	return cmp.Or(compareWindows(k.window, other.window), cmp.Compare(k.written, other.written), strings.Compare(k.key, other.key))
}

// keyStates is what a process function keeps of each key, for all windows of the key
// (S92). State that is not written for ttl of event time is gone: at a firing that sees
// watermark wm, if its last writer saw wm-ttl or less. Event time decides, and not the
// clock, so that rows stay a function of the data. What was written before there was a
// watermark stays until it is written again, and at the end of time nothing expires.
type keyStates struct {
	ttl   stream.Time // 0: nothing expires
	byKey map[string]*keptState
	size  int64 // bytes
	// Those that can expire and are not stored, linked by time of writing: the watermark that
	// firings see never falls, so the last one written is the newest.
	byTime state.Chain[keptState]
	cold   *coldStates // nil: all are in memory
}

func newKeyStates(ttl stream.Time) keyStates {
	s := keyStates{ttl: ttl, byKey: map[string]*keptState{}}
	s.byTime = state.NewChain(func(k *keptState) *state.Link[keptState] { return &k.byTime })
	return s
}

// get returns the state of a key that a firing at watermark wm finds.
func (s *keyStates) get(key []byte, wm stream.Time) ([]byte, error) {
	k := s.byKey[string(key)]
	if k == nil {
		var err error
		if k, err = s.cold.load(stream.Window{}, key); k == nil || err != nil {
			return nil, err
		}
		s.add(k)
	}
	s.cold.touch(k)
	if s.expired(k.written, wm) {
		return nil, nil
	}
	return k.data, nil
}

// expired reports whether what was written at a time is gone at watermark wm.
func (s *keyStates) expired(written, wm stream.Time) bool {
	return s.ttl > 0 && written != stream.MinTime && wm != stream.MaxTime && written.Add(s.ttl) <= wm
}

// put replaces the state of a key, which was got in the same call, at watermark wm; nil
// removes it.
func (s *keyStates) put(key, data []byte, wm stream.Time) {
	old := s.byKey[string(key)]
	switch {
	case data == nil:
		if old != nil {
			s.remove(old)
		}
		return
	case old != nil:
		s.leave(old)
		s.cold.erase(old)
		s.add(&keptState{key: old.key, data: data, written: wm})
	default:
		s.add(&keptState{key: string(key), data: data, written: wm})
	}
}

// add puts a state in the place of its key.
func (s *keyStates) add(k *keptState) {
	s.byKey[k.key] = k
	s.size += k.bytes()
	if s.ttl > 0 && k.written != stream.MinTime && !k.stored {
		s.byTime.Push(k)
	}
	s.cold.touch(k)
}

func (s *keyStates) remove(k *keptState) {
	s.leave(k)
	delete(s.byKey, k.key)
	s.cold.erase(k)
}

// leave has a state whose place is taken or given up leave everything else.
func (s *keyStates) leave(k *keptState) {
	s.size -= k.bytes()
	s.byTime.Remove(k)
	s.cold.leave(k)
}

// expire drops what is gone at watermark wm.
func (s *keyStates) expire(wm stream.Time) error {
	for k := s.byTime.Oldest(); k != nil && s.expired(k.written, wm); k = s.byTime.Oldest() {
		s.remove(k)
	}
	return s.cold.expire(s, wm)
}

// tidy links the states of keys by time of writing, after some were read: those of several
// tasks lie between each other.
func (s *keyStates) tidy() {
	if s.ttl == 0 {
		return
	}
	all := make([]*keptState, 0, len(s.byKey))
	for _, k := range s.byKey {
		if s.byTime.Remove(k); k.written != stream.MinTime && !k.stored {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, (*keptState).compare)
	for _, k := range all {
		s.byTime.Push(k)
	}
}

// windowStates is what a process function keeps of each key and window (S91). It is
// dropped when the window's own state is, at its cleanup and not at a purge.
type windowStates struct {
	of   map[stream.Window]map[string]*keptState
	size int64       // bytes
	cold *coldStates // nil: all are in memory
}

func (s *windowStates) get(w stream.Window, key []byte) ([]byte, error) {
	k := s.of[w][string(key)]
	if k == nil {
		var err error
		if k, err = s.cold.load(w, key); k == nil || err != nil {
			return nil, err
		}
		s.add(k)
	}
	s.cold.touch(k)
	return k.data, nil
}

// put replaces the state of a key's window, which was got in the same call; nil removes it.
func (s *windowStates) put(w stream.Window, key, data []byte) {
	if k := s.of[w][string(key)]; k != nil {
		s.remove(k)
	}
	if data != nil {
		s.add(&keptState{key: string(key), window: w, data: data})
	}
}

// add adds a state, of which there is none yet.
func (s *windowStates) add(k *keptState) {
	if s.of[k.window] == nil {
		s.of[k.window] = map[string]*keptState{}
	}
	s.of[k.window][k.key] = k
	s.size += k.bytes()
	s.cold.touch(k)
}

// drop removes the state of a key's window.
func (s *windowStates) drop(w stream.Window, key []byte) {
	if k := s.of[w][string(key)]; k != nil {
		s.remove(k)
	} else {
		s.cold.drop(w, key)
	}
}

func (s *windowStates) remove(k *keptState) {
	s.leave(k)
	s.cold.erase(k)
}

// leave has a state leave memory.
func (s *windowStates) leave(k *keptState) {
	s.size -= k.bytes()
	s.cold.leave(k)
	if delete(s.of[k.window], k.key); len(s.of[k.window]) == 0 {
		delete(s.of, k.window)
	}
}

// close removes that of all windows that end at a time or before, for all keys.
func (s *windowStates) close(end stream.Time) {
	for w, keys := range s.of {
		if w.End > end {
			continue
		}
		for _, k := range keys {
			s.remove(k)
		}
	}
	s.cold.close(end)
}
