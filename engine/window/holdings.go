package window

import (
	"encoding/binary"
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/internal/fault"
)

// holding is the records of a key that the same windows of a user's assigner hold, several
// of them: they may begin and end in any order, so that, other than with cohorts, two times
// do not name the set. A window that goes takes no new records, so that nothing is added to
// a holding from then on.
type holding struct {
	panes   []*pane // those that are still there, the one that ends last first
	records int64
	fired   bool // one of the windows that are gone had fired

	// key names the windows in the index of the key, where the holding is as long as all of
	// them are there; empty afterwards.
	key string
}

// holdings is the index of a key, by the windows.
type holdings map[string]*holding

// add counts a record that some windows hold.
func (l *holdings) add(panes []*pane) {
	var key []byte
	for _, p := range panes {
		key = binary.LittleEndian.AppendUint64(key, uint64(p.window.Start))
		key = binary.LittleEndian.AppendUint64(key, uint64(p.window.End))
	}
	h := (*l)[string(key)]
	if h == nil {
		h = &holding{panes: slices.Clone(panes), key: string(key)}
		l.put(h)
	}
	h.records++
}

// put makes a holding known to its panes, and to the index if it can grow.
func (l *holdings) put(h *holding) {
	for _, p := range h.panes {
		p.held = append(p.held, h)
	}
	if h.key == "" {
		return
	}
	if *l == nil {
		*l = holdings{}
	}
	(*l)[h.key] = h
}

// settle notes that a pane goes, and whether it had fired. It calls class with the records
// of each holding of which it was the last.
func (l *holdings) settle(p *pane, fired bool, class func(records int64, fired bool)) {
	for _, h := range p.held {
		h.fired = h.fired || fired
		if last := len(h.panes) - 1; h.panes[last] == p { // as a rule: windows go in order of their ends
			h.panes = h.panes[:last]
		} else {
			h.panes = slices.DeleteFunc(h.panes, func(q *pane) bool { return q == p })
		}
		delete(*l, h.key)
		h.key = ""
		if len(h.panes) == 0 {
			class(h.records, h.fired)
		}
	}
	p.held = nil
}

// writeHoldings writes those of panes, which are all of a key's.
func writeHoldings(w *state.Writer, panes []*pane) {
	var all []*holding
	seen := map[*holding]bool{}
	for _, p := range panes {
		for _, h := range p.held {
			if !seen[h] {
				seen[h] = true
				all = append(all, h)
			}
		}
	}
	w.Len(len(all))
	for _, h := range all {
		w.Len(len(h.panes))
		for _, p := range h.panes {
			writeWindow(w, p.window)
		}
		w.I64(h.records)
		w.Bool(h.fired)
		w.Bytes([]byte(h.key))
	}
}

// readHoldings reads those of a key whose panes are there.
func (k *keyState) readHoldings(r *state.Reader) {
	for range r.Len() {
		h := &holding{}
		for range r.Len() {
			win := readWindow(r)
			if p := k.panes.get(win); p != nil {
				h.panes = append(h.panes, p)
			} else {
				r.Fail(errHolding)
				return
			}
		}
		h.records, h.fired, h.key = r.I64(), r.Bool(), string(r.Bytes())
		k.holdings.put(h)
	}
}

var errHolding = fault.As(fault.ErrCorrupt, errors.New("snapshot counts records of a window that it does not have"))
