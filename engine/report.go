package engine

import "tidemark/engine/stream"

// Report is what a job has done so far, or in the end. Every number has its own
// increment; none is a remainder, so that the sums are a check (see Balance).
type Report struct {
	Sources []SourceReport `json:"sources"`
	Steps   []StepReport   `json:"steps"`
	Sinks   []SinkReport   `json:"sinks"`
}

// SourceReport is the ledger of a source: read = bad + quarantined + passed.
type SourceReport struct {
	ID          string        `json:"id"`
	Read        int64         `json:"read"`
	Bad         int64         `json:"bad"`
	Quarantined int64         `json:"quarantined"`
	Passed      int64         `json:"passed"`
	Splits      []SplitReport `json:"splits"`
}

// SplitReport is the progress of one split.
type SplitReport struct {
	ID        string      `json:"id"` // path of the file
	Read      int64       `json:"read"`
	Watermark stream.Time `json:"watermark"`
	High      stream.Time `json:"high"` // highest event time seen
	Idle      bool        `json:"idle"`
	Finished  bool        `json:"finished"`
}

// StepReport is the progress of a step over all its subtasks.
type StepReport struct {
	ID        string      `json:"id"`
	Watermark stream.Time `json:"watermark"` // the lowest of its subtasks
	Panes     int64       `json:"panes"`     // (key, window) pairs with state
	Rows      int64       `json:"rows"`      // result rows written
	Updates   int64       `json:"updates"`   // result rows of kind update
	Inputs    []Ledger    `json:"inputs"`    // one for each source that feeds the step
}

// Ledger accounts for the records of one source in one step:
//
//	passed on by the source = filtered + failed + late + no_window + counted
//	counted = open + fired + unfired
type Ledger struct {
	Source   string `json:"source"`
	Filtered int64  `json:"filtered"`
	Failed   int64  `json:"failed"`
	Late     int64  `json:"late"`
	NoWindow int64  `json:"no_window"`
	Counted  int64  `json:"counted"`
	Open     int64  `json:"open"`
	Fired    int64  `json:"fired"`
	Unfired  int64  `json:"unfired"`
	// Beside the sums: timestamp at or below the watermark on arrival, and of those
	// the ones that a window past its end still took.
	Behind       int64 `json:"behind"`
	LateAccepted int64 `json:"late_accepted"`
}

// SinkReport is what a sink wrote.
type SinkReport struct {
	ID     string `json:"id"`
	From   string `json:"from"`
	Target string `json:"target"` // path, "stdout" or "memory"
	Rows   int64  `json:"rows"`
	// Last holds the newest rows of a sink that keeps them in memory.
	Last []string `json:"last,omitempty"`
}
