package spec

import (
	"encoding/json"
	"errors"
	"fmt"
)

// An Entry is what happened in one step. What is absent did not happen.
type Entry struct {
	AfterStep int      `json:"after_step"` // ConfigStep: the job was refused
	Out       []Result `json:"out,omitempty"`
	Late      []Late   `json:"late,omitempty"`
	Dropped   int      `json:"dropped,omitempty"` // late records without a late output
	Events    []Event  `json:"events,omitempty"`  // what goes downstream, in order
	State     *State   `json:"state,omitempty"`   // after a probe
	Windows   []Span   `json:"windows,omitempty"` // of kind assign, sorted
	Merged    []Merged `json:"merged,omitempty"`  // of kind merge

	// Of the alignment kinds, which list what is so after the step.
	Waiting     []string         `json:"waiting,omitzero"` // readers held, as group/reader
	Bounds      map[string]int64 `json:"bounds,omitempty"` // announced in this step, by group
	Paused      []string         `json:"paused,omitzero"`  // splits held
	ReaderWaits *bool            `json:"reader_waits,omitempty"`

	Error string `json:"error,omitempty"` // one of the Err constants; nothing happens after it
}

// ConfigStep is the step of an entry that refuses the job itself.
const ConfigStep = -1

// Errors that a scenario may end with.
const (
	ErrInvalidConfig      = "invalid_config"
	ErrTriggerCannotMerge = "trigger_cannot_merge"
	ErrMissingTimestamp   = "missing_timestamp"
	ErrInvalidGap         = "invalid_gap"
	ErrWindowState        = "window_state_unsupported"
)

// A Result is one row of output.
type Result struct {
	Key    Value `json:"key"`    // null over all keys
	Window Span  `json:"window"` // none for global windows and interval joins
	Value  Value `json:"value"`
	TS     int64 `json:"ts"`
}

// A Late is a record that came too late, as it came.
type Late struct {
	Key   Value `json:"key"`
	Value Value `json:"value"`
	TS    int64 `json:"ts"`
	Input *int  `json:"input,omitempty"` // of interval joins alone
}

// An Event is a watermark or a change of status that goes downstream.
type Event struct {
	Watermark *int64 `json:"watermark,omitempty"`
	Status    string `json:"status,omitempty"` // StatusIdle or StatusActive
}

// The two statuses of an event.
const (
	StatusIdle   = "idle"
	StatusActive = "active"
)

// A State is what an operator holds at a probe.
type State struct {
	Panes []Pane  `json:"panes,omitzero"` // by key, then start
	Left  []int64 `json:"left,omitzero"`  // buffered timestamps, ascending
	Right []int64 `json:"right,omitzero"`
}

// A Pane is one window of one key. Its JSON is [key, window].
type Pane struct {
	Key    Value
	Window Span
}

// MarshalJSON writes p as [key, window].
func (p Pane) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%s,%s]", p.Key, p.Window), nil
}

// UnmarshalJSON reads [key, window].
func (p *Pane) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("a pane is [key, window], not %s", data)
	}
	return errors.Join(p.Key.UnmarshalJSON(parts[0]), p.Window.UnmarshalJSON(parts[1]))
}

// A Merged is a set of intervals that became one.
type Merged struct {
	Into Span   `json:"into"`
	From []Span `json:"from"` // by start
}

// A Span is the bounds of a window, [Start, End) in ms, or none: the global window,
// and the rows of interval joins. Its JSON is [start, end] or null.
type Span struct {
	Start, End int64
	None       bool
}

// String returns the JSON of s.
func (s Span) String() string {
	if s.None {
		return "null"
	}
	return fmt.Sprintf("[%d,%d]", s.Start, s.End)
}

// MarshalJSON writes [start, end] or null.
func (s Span) MarshalJSON() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalJSON reads [start, end] or null.
func (s *Span) UnmarshalJSON(data []byte) error {
	var ends []int64
	if err := json.Unmarshal(data, &ends); err != nil {
		return err
	}
	switch {
	case ends == nil:
		*s = Span{None: true}
	case len(ends) == 2:
		*s = Span{Start: ends[0], End: ends[1]}
	default:
		return fmt.Errorf("a window is [start, end] or null, not %s", data)
	}
	return nil
}
