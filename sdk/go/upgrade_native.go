//go:build !wasip1

package tidemark

import (
	"bytes"
	"errors"
)

// Upgrade makes an accumulator of today of one of an older schema, by the Upgrades of the
// aggregate, as a host does. The error is a *Refusal, or says that what comes of a state
// depends on those that were upgraded before it.
func (t *Twin) Upgrade(schema int, old Acc) (Acc, error) {
	return upgraded(t.a, t.a.spec.Params, t.args, schema, KeptAccumulator, old)
}

// Upgrade is Twin.Upgrade for a state of a key or of a window.
func (t *ProcessTwin) Upgrade(schema int, what Kept, old []byte) ([]byte, error) {
	return upgraded(t.p, t.p.spec.Params, t.args, schema, what, old)
}

// Upgrade is Twin.Upgrade for the state of a window.
func (t *TriggerTwin) Upgrade(schema int, old []byte) ([]byte, error) {
	return upgraded(t.t, t.t.spec.Params, t.args, schema, KeptOfWindow, old)
}

// Upgrade is Twin.Upgrade for the state of a split.
func (t *GeneratorTwin) Upgrade(schema int, old []byte) ([]byte, error) {
	return upgraded(t.g, t.g.spec.Params, t.args, schema, KeptOfSplit, old)
}

var (
	errUpgradeKeeps = errors.New("behind others a state becomes something else: an upgrade must keep nothing")
	errUpgradeEmpty = errors.New("a state becomes empty: hosts do not take that")
)

// upgraded upgrades a state alone, and behind others like it.
func upgraded(m module, params []Param, args Values, schema int, what Kept, old []byte) ([]byte, error) {
	mu.Lock()
	defer mu.Unlock()
	last := func(copies int) (Acc, error) {
		if err := configureTwin(m, params, args); err != nil {
			return nil, err
		}
		w := newWriter()
		w.h.groups = uint32(copies)
		w.h.block = w.area(48)
		*w.u32(w.h.block, 0), *w.u32(w.h.block, 1) = uint32(schema), uint32(what)
		states := make([]Acc, copies)
		for i := range states {
			states[i] = old
		}
		w.h.acc = w.accs(states, 0)
		st, err := w.serve(m, opUpgrade, 0)
		if err != nil {
			return nil, err
		}
		if st == outputFull {
			return nil, errNoRoom
		}
		return w.answered(copies)[copies-1], nil
	}
	alone, err := last(1)
	if err != nil {
		return nil, err
	}
	behind, err := last(3)
	switch {
	case err != nil || !bytes.Equal(alone, behind):
		return nil, errUpgradeKeeps
	case len(alone) == 0 && what != KeptAccumulator:
		return nil, errUpgradeEmpty
	}
	return alone, nil
}
