package watermark

import (
	"testing"

	"tidemark/engine/state"
	"tidemark/spec"
)

// The scenarios of the specification run in engine/harness; here is what the tests of
// this package share.

// saved passes state through a snapshot.
func saved(t *testing.T, snapshot func(*state.Writer), restore func(*state.Reader)) {
	t.Helper()
	var w state.Writer
	snapshot(&w)
	r := state.NewReader(w.Buf)
	restore(r)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
}

// events appends what goes downstream.
func events(e *spec.Entry, c Change) {
	if c.Status == BecameActive {
		e.Events = append(e.Events, spec.Event{Status: spec.StatusActive})
	}
	if c.Advanced {
		wm := int64(c.Watermark)
		e.Events = append(e.Events, spec.Event{Watermark: &wm})
	}
	if c.Status == BecameIdle {
		e.Events = append(e.Events, spec.Event{Status: spec.StatusIdle})
	}
}

func newReader(t *testing.T) *Reader {
	r, err := NewReader(true, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
