//go:build !wasip1

package tidemark

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Span is a window: it holds times from Start up to, not including, End.
type Span struct{ Start, End Timestamp }

// AssignerTwin drives a window assigner in tests as a host does. Each call is one on a
// fresh instance.
type AssignerTwin struct {
	a    *Assigner
	args Values
	room int // bytes of the output area; 0: all that is left of the arena
}

// NewAssignerTwin configures the assigner with a job's arguments, by the parameters'
// names. The error is a *Refusal, or says which argument does not fit.
func NewAssignerTwin(a *Assigner, args Values) (*AssignerTwin, error) {
	full, err := argsOf(a.spec.Params, args)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := configureTwin(a, a.spec.Params, full); err != nil {
		return nil, err
	}
	return &AssignerTwin{a: a, args: full}, nil
}

// maxWindows bounds the windows of a record (abi/SPEC.md, section 3).
const maxWindows = 1000

// Show shows the assigner records in one call, and returns the windows of each, in the
// order in which it named them. After an error, a *Refusal with the record in Op if it
// refused one or answered what a host does not take, there is nothing. A record without a
// time, or with a null in a column that is not declared nullable, is left out and is in no
// window.
func (t *AssignerTwin) Show(records ...Record) ([][]Span, error) {
	windows := make([][]Span, len(records))
	calls := singles{m: t.a, op: opAssign, records: t.a.records, room: t.room, configure: func() error {
		t.a.ready = false
		return configureTwin(t.a, t.a.spec.Params, t.args)
	}}
	err := calls.show(records, func(r Record) bool { return r.Time != NoTime && !lacks(t.a.spec.Inputs, r.Values) }, func(at int, body []byte) {
		w := Span{Timestamp(binary.LittleEndian.Uint64(body)), Timestamp(binary.LittleEndian.Uint64(body[8:]))}
		if !slices.Contains(windows[at], w) {
			windows[at] = append(windows[at], w)
		}
	})
	if err != nil {
		return nil, err
	}
	for i, list := range windows {
		if problem := t.problem(list); problem != "" {
			return nil, &Refusal{i, problem}
		}
	}
	return windows, nil
}

// problem says what a host would not take.
func (t *AssignerTwin) problem(list []Span) string {
	for _, w := range list {
		if w.Start >= w.End {
			return fmt.Sprintf("window [%d, %d): the start must be below the end", w.Start, w.End)
		}
	}
	switch {
	case len(list) > 1 && t.a.spec.Merges:
		return fmt.Sprintf("%d windows, and where windows merge a record is in one", len(list))
	case len(list) > maxWindows:
		return fmt.Sprintf("%d windows, a record can be in %d", len(list), maxWindows)
	}
	return ""
}
