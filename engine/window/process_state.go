package window

import "tidemark/engine/stream"

// keyStates is what a process function keeps of each key, for all windows of the key
// (S92). State that is not written for ttl of event time is gone: at a firing that sees
// watermark wm, if its last writer saw wm-ttl or less. Event time decides, and not the
// clock, so that rows stay a function of the data. What was written before there was a
// watermark stays until it is written again, and at the end of time nothing expires.
type keyStates struct {
	ttl   stream.Time // 0: nothing expires
	byKey map[string]*keptState
	size  int64 // bytes, see stateBytes
	// Those that can expire, linked by time of writing: the watermark that firings see
	// never falls, so the last one written is the newest.
	oldest, newest *keptState
}

// keptState is the state of a key.
type keptState struct {
	key          string
	data         []byte // never empty
	written      stream.Time
	older, newer *keptState
}

// get returns the state of a key that a firing at watermark wm finds.
func (s *keyStates) get(key []byte, wm stream.Time) []byte {
	if k := s.byKey[string(key)]; k != nil && !s.expired(k, wm) {
		return k.data
	}
	return nil
}

func (s *keyStates) expired(k *keptState, wm stream.Time) bool {
	return s.ttl > 0 && k.written != stream.MinTime && wm != stream.MaxTime && k.written.Add(s.ttl) <= wm
}

// put replaces the state of a key at watermark wm; nil removes it.
func (s *keyStates) put(key, data []byte, wm stream.Time) {
	k := s.byKey[string(key)]
	switch {
	case k != nil:
		s.unlink(k)
	case data == nil:
		return
	default:
		k = &keptState{key: string(key)}
	}
	s.size -= k.bytes()
	if data == nil {
		delete(s.byKey, k.key)
		return
	}
	s.byKey[k.key] = k
	k.data, k.written = data, wm
	s.size += k.bytes()
	if s.ttl > 0 && wm != stream.MinTime {
		s.link(k)
	}
}

// expire drops what is gone at watermark wm.
func (s *keyStates) expire(wm stream.Time) {
	for k := s.oldest; k != nil && s.expired(k, wm); k = s.oldest {
		s.unlink(k)
		delete(s.byKey, k.key)
		s.size -= k.bytes()
	}
}

// bytes is what the state of a key takes; without data it is not there yet.
func (k *keptState) bytes() int64 {
	if k.data == nil {
		return 0
	}
	return stateBytes + int64(len(k.key)+len(k.data))
}

func (s *keyStates) link(k *keptState) {
	k.older = s.newest
	if s.newest != nil {
		s.newest.newer = k
	} else {
		s.oldest = k
	}
	s.newest = k
}

func (s *keyStates) unlink(k *keptState) {
	if k.older != nil {
		k.older.newer = k.newer
	} else if s.oldest == k {
		s.oldest = k.newer
	}
	if k.newer != nil {
		k.newer.older = k.older
	} else if s.newest == k {
		s.newest = k.older
	}
	k.older, k.newer = nil, nil
}

// windowStates is what a process function keeps of each key and window (S91). It is
// dropped when the window's own state is, at its cleanup and not at a purge.
type windowStates struct {
	of   map[stream.Window]map[string][]byte
	size int64 // bytes, see stateBytes
}

func (s *windowStates) get(w stream.Window, key []byte) []byte { return s.of[w][string(key)] }

// put replaces the state of a key's window; nil removes it.
func (s *windowStates) put(w stream.Window, key, data []byte) {
	s.drop(w, key)
	if data == nil {
		return
	}
	if s.of[w] == nil {
		s.of[w] = map[string][]byte{}
	}
	s.of[w][string(key)] = data
	s.size += stateBytes + int64(len(key)+len(data))
}

// drop removes the state of a key's window.
func (s *windowStates) drop(w stream.Window, key []byte) {
	data, ok := s.of[w][string(key)]
	if !ok {
		return
	}
	s.size -= stateBytes + int64(len(key)+len(data))
	if delete(s.of[w], string(key)); len(s.of[w]) == 0 {
		delete(s.of, w)
	}
}

// close removes that of all windows that end at a time or before, for all keys.
func (s *windowStates) close(end stream.Time) {
	for w, keys := range s.of {
		if w.End > end {
			continue
		}
		for key, data := range keys {
			s.size -= stateBytes + int64(len(key)+len(data))
		}
		delete(s.of, w)
	}
}
