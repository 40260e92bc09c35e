package window

import (
	"errors"
	"slices"

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
// A state is never changed, only replaced, so that a list of them can be written while the
// task goes on.

// savedStates are the states of a key group.
type savedStates struct{ keys, windows []*keptState }

// freeze lists what is there.
func (p *processor) freeze(groups int) frozen {
	if p == nil {
		return frozen{}
	}
	keys, windows, cold := p.keys.all(), p.windows.all(), p.cold.freeze()
	f := frozen{open: func() groupWriter {
		ofKeys, ofWindows := byGroup(keys, groups), byGroup(windows, groups)
		return func(group int, w *state.Writer) bool {
			saved := savedStates{ofKeys[group], ofWindows[group]}
			ofKeys[group], ofWindows[group] = nil, nil
			if cold != nil {
				if err := cold.read(group, &saved); err != nil {
					w.Fail(err)
					return true
				}
			}
			return saved.write(w)
		}
	}}
	if cold != nil {
		f.close = cold.in.Close
	}
	return f
}

// all lists those that are in memory only.
func (s *keyStates) all() []*keptState {
	all := make([]*keptState, 0, len(s.byKey))
	for _, k := range s.byKey {
		if s.cold == nil || !k.stored {
			all = append(all, k)
		}
	}
	return all
}

// all lists those that are in memory only.
func (s *windowStates) all() []*keptState {
	n := 0
	for _, keys := range s.of {
		n += len(keys)
	}
	all := make([]*keptState, 0, n)
	for _, keys := range s.of {
		for _, k := range keys {
			if s.cold == nil || !k.stored {
				all = append(all, k)
			}
		}
	}
	return all
}

func byGroup(all []*keptState, groups int) [][]*keptState {
	of := make([][]*keptState, groups)
	for _, k := range all {
		g := groupOf(k.key, groups)
		if of[g] == nil {
			of[g] = make([]*keptState, 0, perGroup(len(all), groups))
		}
		of[g] = append(of[g], k)
	}
	return of
}

func groupOf(key string, groups int) int {
	return stream.KeyGroup(stream.KeyHash([]byte(key)), groups)
}

func (s *savedStates) write(w *state.Writer) bool {
	slices.SortFunc(s.keys, (*keptState).compare)
	w.Len(len(s.keys))
	for _, k := range s.keys {
		w.Bytes([]byte(k.key))
		w.Bytes(k.data)
		w.I64(int64(k.written))
	}
	slices.SortFunc(s.windows, (*keptState).compare)
	w.Len(len(s.windows))
	for _, k := range s.windows {
		writeWindow(w, k.window)
		w.Bytes([]byte(k.key))
		w.Bytes(k.data)
	}
	return len(s.keys)+len(s.windows) > 0
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
		if p.keys.byKey[k.key] != nil || len(k.data) == 0 {
			r.Fail(errStates)
			return
		}
		p.keys.add(k)
		if err := p.makeRoom(); err != nil {
			r.Fail(err)
			return
		}
	}
	for range r.Len() {
		k := &keptState{window: readWindow(r)}
		key, _ := o.readKey(r, group)
		k.key, k.data = string(key), r.Bytes()
		if p.windows.of[k.window][k.key] != nil || len(k.data) == 0 {
			r.Fail(errStates)
			return
		}
		p.windows.add(k)
		if err := p.makeRoom(); err != nil {
			r.Fail(err)
			return
		}
	}
}
