package api

import (
	"encoding/json"
	"time"

	"tidemark/engine"
	"tidemark/engine/stream"
	"tidemark/host/catalog"
	"tidemark/host/controller"
)

// The bodies of requests and answers, for the server and for clients. A member that
// is added is no break; one that is removed or changes its meaning is.

// Plugin is an uploaded module.
type Plugin struct {
	Ref      string          `json:"ref"` // name@version, as a job names it
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Digest   string          `json:"digest"` // sha256:…
	Size     int64           `json:"size_bytes"`
	Created  time.Time       `json:"created"`
	Manifest json.RawMessage `json:"manifest,omitempty"`
}

// Plugins is a list of modules.
type Plugins struct {
	Plugins []Plugin `json:"plugins"`
}

// Job is a submitted job. Lists leave out the report, the CPU and the checkpoints.
type Job struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"` // as the job file has it
	State    string     `json:"state"`
	Message  string     `json:"message,omitempty"` // why it ended
	Created  time.Time  `json:"created"`
	Started  *time.Time `json:"started,omitempty"`
	Ended    *time.Time `json:"ended,omitempty"`
	Silent   bool       `json:"silent,omitempty"` // it runs, and did not answer in time; the report is old
	Warnings []string   `json:"warnings,omitempty"`
	CPU      *CPU       `json:"cpu,omitempty"`
	// Checkpoints is what became of them; left out where none were tried and none restored.
	Checkpoints *Checkpoints `json:"checkpoints,omitempty"`
	// Savepoint is the one that a stop has taken, in its answer.
	Savepoint *Checkpoint `json:"savepoint,omitempty"`
	Outputs   []Output    `json:"outputs"`
	Report    *Report     `json:"report,omitempty"`
}

// Checkpoints is what became of the checkpoints of a job.
type Checkpoints struct {
	Completed   int64      `json:"completed"`
	Failed      int64      `json:"failed"`
	Restarts    int64      `json:"restarts"`               // runs behind a failed one, or from another process
	Restored    uint64     `json:"restored,omitempty"`     // the checkpoint that the last run began from
	Last        uint64     `json:"last,omitempty"`         // the last one that was completed
	LastAt      *time.Time `json:"last_at,omitempty"`      // when
	LastSeconds float64    `json:"last_seconds,omitempty"` // how long it took
	LastBytes   int64      `json:"last_bytes,omitempty"`   // that were written for it
	LastReused  int64      `json:"last_reused,omitempty"`  // that it has taken over from earlier ones
	LastFailure string     `json:"last_failure,omitempty"` // why the last one that failed did
}

// Checkpoint is a checkpoint or savepoint of a job.
type Checkpoint struct {
	ID      uint64        `json:"id,omitempty"`
	Kind    string        `json:"kind,omitempty"` // periodic, savepoint, stop or final
	Taken   *time.Time    `json:"taken,omitempty"`
	Bytes   int64         `json:"bytes,omitempty"`
	Summary []SummaryLine `json:"summary,omitempty"` // how far the job was, for people
	Damaged string        `json:"damaged,omitempty"` // why it cannot be read; then there is nothing else
}

// SummaryLine is a line about one operator.
type SummaryLine struct {
	Of   string `json:"of"`
	Text string `json:"text"`
}

// SavedList is a list of checkpoints and savepoints, the oldest first.
type SavedList struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// CPU is what a job has had of the processors until now. Its tasks hold turns while they
// compute.
type CPU struct {
	Turns         int64   `json:"turns"`
	Seconds       float64 `json:"seconds"`        // for which they held them
	Fuel          int64   `json:"fuel"`           // that its plug-ins burnt
	WaitedSeconds float64 `json:"waited_seconds"` // for turns, all tasks together
}

// Jobs is a list of jobs, the newest first.
type Jobs struct {
	Jobs []Job `json:"jobs"`
}

// Output is something that a job writes and that /results gives.
type Output struct {
	Port string `json:"port"` // results, late, failed, bad, or the name of a side output
	Of   string `json:"of"`   // the step or source
}

// Report is the ledger of a job; see the engine's for what each number means.
type Report struct {
	Sources []Source `json:"sources"`
	Steps   []Step   `json:"steps"`
	Apart   []string `json:"apart,omitempty"` // inputs whose times cannot meet, in words
}

// Source is the ledger of a source: read = bad + quarantined + passed.
type Source struct {
	ID          string  `json:"id"`
	Read        int64   `json:"read"`
	Bad         int64   `json:"bad"`
	Quarantined int64   `json:"quarantined"`
	Passed      int64   `json:"passed"`
	Splits      []Split `json:"splits"`
}

// Split is the progress of one file.
type Split struct {
	ID        string `json:"id"`
	Read      int64  `json:"read"`
	Watermark *Time  `json:"watermark"` // null: none yet
	High      *Time  `json:"high"`      // highest event time seen
	Idle      bool   `json:"idle"`
	Finished  bool   `json:"finished"`
}

// Step is the progress of a step.
type Step struct {
	ID        string          `json:"id"`
	Watermark *Time           `json:"watermark"`
	Panes     int64           `json:"panes"`
	State     int64           `json:"state"` // bytes
	Rows      int64           `json:"rows"`
	Updates   int64           `json:"updates"`
	Inputs    []engine.Ledger `json:"inputs"`
	Disabled  []Disabled      `json:"disabled,omitempty"`
}

// Disabled is a plug-in that a step calls no more in some parts of its data.
type Disabled struct {
	Plugin   string `json:"plugin"`
	Parts    int    `json:"parts"`
	Since    *Time  `json:"since"`
	SetAside int64  `json:"set_aside"`
	Reason   string `json:"reason"`
}

// Time is event time: RFC 3339 in UTC with milliseconds, or "end" for a watermark
// behind which nothing can come.
type Time string

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

func eventTime(t stream.Time) *Time {
	var s Time
	switch t {
	case stream.MinTime:
		return nil
	case stream.MaxTime:
		s = "end"
	default:
		s = Time(time.UnixMilli(int64(t)).UTC().Format(timeLayout))
	}
	return &s
}

func wirePlugin(p catalog.Plugin) Plugin {
	return Plugin{
		Ref: p.Name + "@" + p.Version, Name: p.Name, Version: p.Version, Digest: "sha256:" + p.Digest,
		Size: p.Size, Created: p.Created, Manifest: p.Manifest,
	}
}

func wireJob(v controller.View, withReport bool) Job {
	j := Job{
		ID: string(v.ID), Name: v.Name, State: v.State, Message: v.Message,
		Created: v.Created, Started: set(v.Started), Ended: set(v.Ended),
		Silent: v.Silent, Warnings: v.Warnings, Outputs: []Output{},
	}
	for _, o := range v.Outputs {
		if out := (Output{o.Port, o.Operator}); !contains(j.Outputs, out) {
			j.Outputs = append(j.Outputs, out)
		}
	}
	if withReport {
		j.Report = wireReport(v.Report)
		if t := v.Tally; t != (controller.Tally{}) {
			j.Checkpoints = &Checkpoints{t.Completed, t.Failed, t.Restarts, t.Restored, t.Last, set(t.At), t.Took.Seconds(), t.Bytes, t.Reused, t.Why}
		}
		j.CPU = &CPU{v.CPU.Turns, v.CPU.Time.Seconds(), v.CPU.Fuel, v.CPU.Waited.Seconds()}
	}
	return j
}

func wireSaved(s controller.Saved) Checkpoint {
	c := Checkpoint{ID: s.ID, Kind: string(s.Kind), Taken: set(s.Taken), Bytes: s.Bytes, Damaged: s.Damaged}
	for _, kv := range s.Summary {
		c.Summary = append(c.Summary, SummaryLine{kv.Key, kv.Value})
	}
	return c
}

func contains(list []Output, o Output) bool {
	for _, p := range list {
		if p == o {
			return true
		}
	}
	return false
}

func set(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func wireReport(r engine.Report) *Report {
	out := &Report{Sources: []Source{}, Steps: []Step{}, Apart: r.Apart}
	for _, s := range r.Sources {
		src := Source{ID: s.ID, Read: s.Read, Bad: s.Bad, Quarantined: s.Quarantined, Passed: s.Passed, Splits: []Split{}}
		for _, p := range s.Splits {
			src.Splits = append(src.Splits, Split{p.ID, p.Read, eventTime(p.Watermark), eventTime(p.High), p.Idle, p.Finished})
		}
		out.Sources = append(out.Sources, src)
	}
	for _, s := range r.Steps {
		inputs := s.Inputs
		if inputs == nil {
			inputs = []engine.Ledger{}
		}
		step := Step{s.ID, eventTime(s.Watermark), s.Panes, s.State, s.Rows, s.Updates, inputs, nil}
		for _, d := range s.Disabled {
			step.Disabled = append(step.Disabled, Disabled{d.Plugin, d.Parts, eventTime(d.Since), d.Aside, d.Reason})
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}
