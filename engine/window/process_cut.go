package window

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// What a process function keeps, as part of a cut: for each key group
//
//	states of keys: how many; for each, by time of writing and key:
//	                key, data, the watermark that it was written at
//	states of windows: how many; for each, by window and key: window, key, data
//
// Data that is there is never changed, only replaced, so that lists of it can be written
// while the task goes on.

// savedStates are the states of a key group.
type savedStates struct {
	keys    []keptState
	windows []savedWindow
}

type savedWindow struct {
	window stream.Window
	key    string
	data   []byte
}

// freeze copies the lists of what is there.
func (p *processor) freeze(groups int) frozen {
	if p == nil {
		return frozen{}
	}
	var all savedStates
	all.keys = make([]keptState, 0, len(p.keys.byKey))
	for _, k := range p.keys.byKey {
		all.keys = append(all.keys, keptState{key: k.key, data: k.data, written: k.written})
	}
	for w, keys := range p.windows.of {
		for key, data := range keys {
			all.windows = append(all.windows, savedWindow{w, key, data})
		}
	}
	return frozen{open: func() groupWriter {
		saved := make([]savedStates, groups)
		for _, k := range all.keys {
			s := &saved[groupOf(k.key, groups)]
			s.keys = append(s.keys, k)
		}
		for _, w := range all.windows {
			s := &saved[groupOf(w.key, groups)]
			s.windows = append(s.windows, w)
		}
		return func(group int, w *state.Writer) bool { return saved[group].write(w) }
	}}
}

func groupOf(key string, groups int) int {
	return stream.KeyGroup(stream.KeyHash([]byte(key)), groups)
}

func (s *savedStates) write(w *state.Writer) bool {
	slices.SortFunc(s.keys, keptState.compare)
	w.Len(len(s.keys))
	for i := range s.keys {
		k := &s.keys[i]
		w.Bytes([]byte(k.key))
		w.Bytes(k.data)
		w.I64(int64(k.written))
	}
	slices.SortFunc(s.windows, func(a, b savedWindow) int {
		return cmp.Or(compareWindows(a.window, b.window), strings.Compare(a.key, b.key))
	})
	w.Len(len(s.windows))
	for _, x := range s.windows {
		writeWindow(w, x.window)
		w.Bytes([]byte(x.key))
		w.Bytes(x.data)
	}
	return len(s.keys)+len(s.windows) > 0
}

func (k keptState) compare(other keptState) int {
	return cmp.Or(cmp.Compare(k.written, other.written), strings.Compare(k.key, other.key))
}

var errStates = fault.As(fault.ErrCorrupt, errors.New("snapshot has a state of a process function twice, or without data"))

// readStates reads the states of a key group. Those of keys are in no order of time until
// tidy is called.
func (o *contents) readStates(r *state.Reader, group int) {
	if o.process == nil {
		r.Fail(fault.Userf("the state has what a process function keeps, and the step has no such function: drop the state of the step"))
		return
	}
	p := o.process
	for range r.Len() {
		key, _ := o.readKey(r, group)
		k := &keptState{key: string(key), data: r.Bytes(), written: stream.Time(r.I64())}
		if p.keys.byKey[k.key] != nil || k.data == nil {
			r.Fail(errStates)
			return
		}
		p.keys.byKey[k.key] = k
		p.keys.size += k.bytes()
	}
	for range r.Len() {
		win := readWindow(r)
		key, _ := o.readKey(r, group)
		data := r.Bytes()
		if p.windows.get(win, key) != nil || data == nil {
			r.Fail(errStates)
			return
		}
		p.windows.put(win, key, data)
	}
}

// tidy links the states of keys by time of writing, after some were read: those of several
// tasks lie between each other.
func (s *keyStates) tidy() {
	s.oldest, s.newest = nil, nil
	if s.ttl == 0 {
		return
	}
	all := make([]*keptState, 0, len(s.byKey))
	for _, k := range s.byKey {
		if k.older, k.newer = nil, nil; k.written != stream.MinTime {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *keptState) int { return a.compare(*b) })
	for _, k := range all {
		s.link(k)
	}
}
