package window

import (
	"errors"
	"maps"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// The keys of a key group, as part of a cut:
//
//	how many; for each that has sessions in flight, in order of its bytes: the key;
//	  how many sessions; for each, by start: the window, whether it has fired as that,
//	  how many windows it takes the place of and these, cell
//
// When sessions are to be looked at follows from where they lie: an alarm that comes early
// is no part of the state (M2).

// Freeze implements Operator.
func (o *Sessions) Freeze() state.Cut { return freeze(o) }

// Restore implements Operator.
func (o *Sessions) Restore(r state.Restore) error { return restore(o, r) }

func (o *Sessions) form() form { return form{layout: sessionsLayout} }

func (o *Sessions) resume() {}

// frozenSessions is the sessions as they were.
type frozenSessions struct {
	keys, cells *state.View
	newest      []uint32
	intervals   []interval
	replaces    map[uint32][]stream.Window // lists of it grow, and what is there stays
}

func (o *Sessions) freezeKeys() frozen {
	f := &frozenSessions{keys: o.keys.FreezeKeys(), cells: o.cells.Freeze(), newest: slices.Clone(o.newest), intervals: slices.Clone(o.intervals), replaces: maps.Clone(o.replaces)}
	keys := newKeyWriter(o.groups, o.live, usualKey+8+(37+o.cells.Width())*(o.cells.Used()/max(o.live, 1)+1))
	return frozen{open: func() groupWriter {
		for id, slot := range f.newest {
			if slot != noSession {
				key := f.keys.Key(id)
				f.write(keys.begin(stream.KeyHash(key), key), key, slot)
			}
		}
		return keys.write
	}}
}

// write writes a key, which has a newest session.
func (f *frozenSessions) write(w *state.Writer, key []byte, newest uint32) {
	w.Bytes(key)
	n, oldest := 0, uint32(noSession)
	for slot := newest; slot != noSession; slot = f.intervals[slot].older {
		n, oldest = n+1, slot
	}
	w.Len(n)
	for slot := oldest; slot != noSession; slot = f.intervals[slot].newer {
		s := &f.intervals[slot]
		writeWindow(w, s.window)
		w.Bool(s.ended)
		w.Len(len(f.replaces[slot]))
		for _, win := range f.replaces[slot] {
			writeWindow(w, win)
		}
		f.cells.Write(w, int(slot))
	}
}

var errSessions = fault.As(fault.ErrCorrupt, errors.New("snapshot has sessions out of order, touching, or past their time"))

func (o *Sessions) readKeys(r *state.Reader, group int) {
	for range r.Len() {
		key, hash := o.readKey(r, group)
		if r.Failed() {
			return
		}
		id, err := o.number(hash, key)
		if err != nil {
			r.Fail(err)
			return
		}
		for range r.Len() {
			if o.readSession(r, id); r.Failed() {
				return
			}
		}
	}
}

func (o *Sessions) readSession(r *state.Reader, id uint32) {
	w, ended := readWindow(r), r.Bool()
	t := o.touching(id, w)
	cleanup := w.Cleanup(o.cfg.Lateness)
	if w.Start >= w.End || t.first != noSession || t.newer != noSession || cleanup <= o.wm && cleanup < stream.MaxTime {
		r.Fail(errSessions)
		return
	}
	slot := o.begin(id, &t)
	s := &o.intervals[slot]
	s.ended = ended
	for range r.Len() {
		if r.Failed() {
			return
		}
		o.replaces[slot] = append(o.replaces[slot], readWindow(r))
	}
	r.Cell(o.cells, int(slot))
}
