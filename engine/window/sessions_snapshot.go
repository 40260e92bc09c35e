package window

import (
	"errors"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// A snapshot of sessions holds, key by key in order of key group and key, the sessions in
// flight by their starts. When they are to be looked at follows from that: an alarm that
// comes early is no part of the state (M2).

// Snapshot returns the state of the operator.
func (o *Sessions) Snapshot() []byte {
	var w state.Writer
	w.I64(int64(o.wm))
	o.ledger.write(&w)
	o.writeProcess(&w)
	ids := make([]uint32, 0, o.live)
	for id, slot := range o.newest {
		if slot != noSession {
			ids = append(ids, uint32(id))
		}
	}
	sortByGroup(ids, o.keys, o.cfg.Groups)
	w.Len(len(ids))
	for _, id := range ids {
		w.Bytes(o.keys.Key(int(id)))
		n, oldest := 0, uint32(noSession)
		for slot := o.newest[id]; slot != noSession; slot = o.intervals[slot].older {
			n, oldest = n+1, slot
		}
		w.Len(n)
		for slot := oldest; slot != noSession; slot = o.intervals[slot].newer {
			o.writeSession(&w, slot)
		}
	}
	return w.Buf
}

func (o *Sessions) writeSession(w *state.Writer, slot uint32) {
	s := &o.intervals[slot]
	writeWindow(w, s.window)
	w.Bool(s.ended)
	w.Len(len(o.replaces[slot]))
	for _, win := range o.replaces[slot] {
		writeWindow(w, win)
	}
	o.writeCell(w, o.cells, int(slot))
}

var errSessions = fault.As(fault.ErrCorrupt, errors.New("snapshot has sessions out of order, touching, or past their time"))

// Restore takes a snapshot.
func (o *Sessions) Restore(snapshot []byte) error {
	r := state.NewReader(snapshot)
	o.wm = stream.Time(r.I64())
	o.ledger.read(r)
	o.readProcess(r)
	for range r.Len() {
		key := r.Bytes()
		id, err := o.number(stream.KeyHash(key), key)
		if err != nil {
			r.Fail(err)
			break
		}
		for range r.Len() {
			o.readSession(r, id)
		}
	}
	return r.Err()
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
		o.replaces[slot] = append(o.replaces[slot], readWindow(r))
	}
	o.readCell(r, o.cells, int(slot))
}
