package engine

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/breaker"
	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// Report is what a job has done so far, or in the end. Every number has its own
// increment; none is a remainder, so that the sums are a check (see Balance).
type Report struct {
	Sources []SourceReport `json:"sources"`
	Steps   []StepReport   `json:"steps"`
	Sinks   []SinkReport   `json:"sinks"`
	// Checkpoints is nil for a job that takes none.
	Checkpoints *CheckpointReport `json:"checkpoints,omitempty"`
	// Busy names the operators that did not answer in time: a task of theirs is inside
	// a batch, perhaps in a plug-in that takes long. Their numbers are left out.
	Busy []string `json:"busy,omitempty"`
	// Apart says, in words, which inputs of a step have times that cannot meet.
	Apart []string `json:"apart,omitempty"`
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
	Low       stream.Time `json:"low"`  // lowest event time seen, MAX before any
	High      stream.Time `json:"high"` // highest event time seen
	Idle      bool        `json:"idle"`
	Finished  bool        `json:"finished"`
	// Regressions counts the records whose time fell although the job says that times
	// ascend (S4).
	Regressions int64 `json:"regressions,omitempty"`
}

// StepReport is the progress of a step over all its subtasks.
type StepReport struct {
	ID        string      `json:"id"`
	Watermark stream.Time `json:"watermark"` // the lowest of its subtasks
	Panes     int64       `json:"panes"`     // (key, window) pairs with state; of an interval join records that are kept
	State     int64       `json:"state"`     // bytes that its state holds of memory, about
	Disk      int64       `json:"disk"`      // bytes of state that are on disk, not in State
	Rows      int64       `json:"rows"`      // result rows written
	Updates   int64       `json:"updates"`   // result rows of kind update
	Inputs    []Ledger    `json:"inputs"`    // one for each source that feeds the step
	// Disabled are the plug-ins that on_error: disable_plugin has turned off.
	Disabled []breaker.Disabled `json:"disabled,omitempty"`
}

// Ledger accounts for the records of one source in one step:
//
//	passed on by the source = filtered + failed + late + no_window + counted
//	counted = open + fired + unfired
type Ledger struct {
	Source   string `json:"source"`         // what the step reads; of a union or a window join all names
	Side     string `json:"side,omitempty"` // left or right, of an interval join
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
	// Partials is how many sums came in place of records, of a window over all keys whose
	// senders add up (P4), and InPartials how many records these were.
	Partials   int64 `json:"partials,omitempty"`
	InPartials int64 `json:"in_partials,omitempty"`
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

// merger adds up the reports of subtasks, in the order of the job file.
type merger struct {
	graph   *job.Graph
	out     Report
	waiting map[string]int       // tasks of an operator that have not answered
	within  map[string][]string  // what the steps without tasks read
	added   map[string]*stepSpec // steps whose senders do some of their work
}

func (j *Job) merger() *merger {
	m := &merger{graph: j.graph, waiting: map[string]int{}, within: map[string][]string{}, added: map[string]*stepSpec{}}
	if j.keeper != nil {
		m.out.Checkpoints = j.keeper.report()
	}
	for _, s := range j.sources {
		m.out.Sources = append(m.out.Sources, SourceReport{ID: s.ID, Splits: []SplitReport{}})
	}
	for i := range j.graph.Steps {
		st := &j.graph.Steps[i]
		m.out.Steps = append(m.out.Steps, j.stepReport(st))
		if s := j.stateless[st.ID]; s != nil && s.alone {
			m.within[st.ID] = st.From
		}
	}
	for _, t := range j.feeds {
		m.waiting[t.spec.ID]++
	}
	for _, t := range j.keyed {
		m.waiting[t.step.ID]++
		if t.step.adds {
			m.added[t.step.ID] = t.step
		}
	}
	for _, t := range j.sinks {
		m.out.Sinks = append(m.out.Sinks, t.report())
	}
	return m
}

// stepReport is what is known of a step before its tasks are asked: the counts of its
// stateless part, which runs in the tasks of others.
func (j *Job) stepReport(st *job.Step) StepReport {
	r := StepReport{ID: st.ID, Watermark: stream.MaxTime}
	s := j.stateless[st.ID]
	if s == nil {
		return r
	}
	l := Ledger{Source: strings.Join(st.From, sourceSep), Filtered: s.filtered.Load(), Failed: s.failed.Load()}
	if s.alone {
		l.Counted = s.passed.Load()
		l.Fired = l.Counted
		r.Rows = s.made.Load()
	}
	r.Inputs, r.Disabled = append(r.Inputs, l), s.disabled.list()
	return r
}

// sourceSep stands between the names of a union's inputs.
const sourceSep = ", "

// source returns the report of a source, nil where id is another operator.
func (r *Report) source(id string) *SourceReport {
	for i := range r.Sources {
		if r.Sources[i].ID == id {
			return &r.Sources[i]
		}
	}
	return nil
}

// step returns the report of a step, nil where id is another operator.
func (r *Report) step(id string) *StepReport {
	for i := range r.Steps {
		if r.Steps[i].ID == id {
			return &r.Steps[i]
		}
	}
	return nil
}

func (m *merger) source(r SourceReport) {
	m.waiting[r.ID]--
	s := m.out.source(r.ID)
	s.Read += r.Read
	s.Bad += r.Bad
	s.Quarantined += r.Quarantined
	s.Passed += r.Passed
	s.Splits = append(s.Splits, r.Splits...)
	slices.SortFunc(s.Splits, func(a, b SplitReport) int { return strings.Compare(a.ID, b.ID) })
}

func (m *merger) step(r StepReport) {
	m.waiting[r.ID]--
	s := m.out.step(r.ID)
	s.Watermark = min(s.Watermark, r.Watermark)
	s.Panes += r.Panes
	s.State += r.State
	s.Disk += r.Disk
	s.Rows += r.Rows
	s.Updates += r.Updates
	s.Disabled = breaker.Merge(s.Disabled, r.Disabled)
	for _, l := range r.Inputs {
		s.add(l)
	}
}

func (s *StepReport) add(l Ledger) {
	for i := range s.Inputs {
		if t := &s.Inputs[i]; t.Source == l.Source && t.Side == l.Side {
			t.Filtered += l.Filtered
			t.Failed += l.Failed
			t.Late += l.Late
			t.NoWindow += l.NoWindow
			t.Counted += l.Counted
			t.Open += l.Open
			t.Fired += l.Fired
			t.Unfired += l.Unfired
			t.Behind += l.Behind
			t.LateAccepted += l.LateAccepted
			t.Partials += l.Partials
			t.InPartials += l.InPartials
			return
		}
	}
	s.Inputs = append(s.Inputs, l)
}

// ofSenders adds what the senders of a step have done of its work (P4). All of its tasks
// have answered: what they have got in partials was added up before.
func (s *StepReport) ofSenders(spec *stepSpec) {
	l := &s.Inputs[0]
	l.Failed += spec.refused.Load()
	held := spec.added.Load() - l.InPartials // on time by the sender's watermark, so that nothing makes them late
	l.Counted += held
	l.Open += held
}

func (m *merger) done() Report {
	for id, n := range m.waiting {
		if n > 0 {
			m.out.Busy = append(m.out.Busy, id)
		}
	}
	slices.Sort(m.out.Busy)
	for i := range m.out.Steps {
		s := &m.out.Steps[i]
		if m.within[s.ID] != nil {
			s.Watermark = m.watermark(s.ID)
		}
		if spec := m.added[s.ID]; spec != nil && m.waiting[s.ID] == 0 {
			s.ofSenders(spec)
		}
	}
	for i := range m.graph.Steps {
		m.out.Apart = append(m.out.Apart, apart(&m.graph.Steps[i], m.span)...)
	}
	return m.out
}

// span is the times of the records of a source, or of what a step without tasks reads;
// those of a window's results are not looked at.
func (m *merger) span(id string) span {
	out := noSpan
	for _, from := range m.within[id] {
		out = out.with(m.span(from))
	}
	if s := m.out.source(id); s != nil {
		for _, split := range s.Splits {
			out = out.with(span{split.Low, split.High})
		}
	}
	return out
}

// watermark is the time that an operator has come to. A step without tasks is where its
// inputs are: it runs inside of them.
func (m *merger) watermark(id string) stream.Time {
	wm := stream.MaxTime
	if from := m.within[id]; from != nil {
		for _, f := range from {
			wm = min(wm, m.watermark(f))
		}
		return wm
	}
	if s := m.out.step(id); s != nil {
		return s.Watermark
	}
	for _, split := range m.out.source(id).Splits {
		if !split.Finished && !split.Idle {
			wm = min(wm, split.Watermark)
		}
	}
	return wm
}

// PassedTo is how many records were passed on to what a ledger accounts for: those of
// its sources, and the rows of the steps that it reads.
func (r *Report) PassedTo(l *Ledger) int64 {
	n := int64(0)
	for _, from := range strings.Split(l.Source, sourceSep) {
		if s := r.source(from); s != nil {
			n += s.Passed
		} else if s := r.step(from); s != nil {
			n += s.Rows
		}
	}
	return n
}

// Balance returns what does not add up, in words; none means that every record is
// accounted for. Between two batches of a running job records are on their way, so it
// is a check for a job that has ended.
func (r *Report) Balance() []string {
	var out []string
	for _, s := range r.Sources {
		if s.Read != s.Bad+s.Quarantined+s.Passed {
			out = append(out, fmt.Sprintf("source %s: read %d is not bad %d + quarantined %d + passed on %d", s.ID, s.Read, s.Bad, s.Quarantined, s.Passed))
		}
	}
	for _, s := range r.Steps {
		for _, l := range s.Inputs {
			p := r.PassedTo(&l)
			if p != l.Filtered+l.Failed+l.Late+l.NoWindow+l.Counted {
				out = append(out, fmt.Sprintf("step %s: passed on %d is not filtered %d + failed %d + late %d + no_window %d + counted %d", s.ID, p, l.Filtered, l.Failed, l.Late, l.NoWindow, l.Counted))
			}
			if l.Counted != l.Open+l.Fired+l.Unfired {
				out = append(out, fmt.Sprintf("step %s: counted %d is not open %d + fired %d + unfired %d", s.ID, l.Counted, l.Open, l.Fired, l.Unfired))
			}
		}
	}
	return out
}
