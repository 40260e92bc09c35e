package engine

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/window"
)

// The part of a checkpoint that is the way of a task to a reader:
//
//	reader; stateless steps on the way: for each its id, whether this edge counts its
//	records, and what became of them: filtered, failed, passed, made (8 each); of a plug-in
//	that may be disabled, for each split with failures: its number (4), these
//	whether records are added up, and if so: added and failed (8 each), what the sender is,
//	for each split with sums: its number (4), these (see window.Local)
//
// Which task has done what is of no interest: counters only have to add up. So a task takes
// over those of all tasks before the restore whose number is its own modulo the number of
// tasks now.

// save writes the state of an edge.
func (e *edge) save(w *state.Writer) {
	w.Bytes([]byte(e.reader))
	w.Len(len(e.parts))
	for i := range e.parts {
		p := &e.parts[i]
		w.Bytes([]byte(p.spec.step.ID))
		w.Bool(p.counts)
		for _, n := range []int64{p.own.filtered, p.own.failed, p.own.passed, p.own.made} {
			w.I64(n)
		}
		saveSplits(w, e.failures(p))
	}
	w.Bool(e.local != nil)
	if e.local != nil {
		w.I64(e.local.added)
		w.I64(e.local.failed)
		cut := e.local.Freeze()
		w.Bytes(cut.Sender)
		saveSplits(w, cut.Splits)
	}
}

// failures is what is known of those of a plug-in, by split.
func (e *edge) failures(p *statelessPart) (out []window.SplitCut) {
	m, ok := p.fn.(*mapped)
	if !ok || m.breaker == nil {
		return nil
	}
	of := m.breaker.Freeze()
	for split := range e.job.splitCount() {
		var w state.Writer
		if of(split, &w) {
			out = append(out, window.SplitCut{Split: stream.SplitID(split), State: w.Buf})
		}
	}
	return out
}

func saveSplits(w *state.Writer, splits []window.SplitCut) {
	w.Len(len(splits))
	for _, s := range splits {
		w.U32(uint32(s.Split))
		w.Bytes(s.State)
	}
}

func readSplits(r *state.Reader) (out []window.SplitCut) {
	for range r.Len() {
		out = append(out, window.SplitCut{Split: stream.SplitID(r.U32()), State: r.Bytes()})
	}
	return out
}

func saveEdges(w *state.Writer, edges []*edge) {
	w.Len(len(edges))
	for _, e := range edges {
		e.save(w)
	}
}

// savedEdge is an edge as it was saved.
type savedEdge struct {
	reader string
	parts  []savedPart
	added  int64
	failed int64
	sender []byte // nil: nothing is added up
	sums   []window.SplitCut
}

type savedPart struct {
	step   string
	counts statelessCounts
	failed []window.SplitCut // of a plug-in that may be disabled
}

func readEdge(r *state.Reader) savedEdge {
	e := savedEdge{reader: string(r.Bytes())}
	for range r.Len() {
		p := savedPart{step: string(r.Bytes())}
		if counts := r.Bool(); counts {
			p.counts = statelessCounts{r.I64(), r.I64(), r.I64(), r.I64()}
		} else {
			for range 4 {
				r.I64()
			}
		}
		p.failed = readSplits(r)
		e.parts = append(e.parts, p)
	}
	if r.Bool() {
		e.added, e.failed, e.sender, e.sums = r.I64(), r.I64(), r.Bytes(), readSplits(r)
	}
	return e
}

func readEdges(r *state.Reader) (out []savedEdge) {
	for range r.Len() {
		out = append(out, readEdge(r))
	}
	return out
}

// heir says what a task takes over of the tasks that its operator had.
type heir struct {
	number, count int                       // of the task, among so many
	exact         bool                      // they were as many
	owns          func(stream.SplitID) bool // rows of that split leave through the task
}

// counters reports whether the task takes over those of a task that was.
func (h heir) counters(was int) bool { return was%h.count == h.number }

// load takes over what the edges to the same reader were, of all tasks that the operator had.
func (e *edge) load(were [][]savedEdge, h heir) error {
	var senders [][]byte
	var sums []window.SplitCut
	for was, edges := range were {
		for _, s := range edges {
			if s.reader != e.reader {
				continue
			}
			if err := e.inherit(s, h, was); err != nil {
				return err
			}
			if s.sender == nil || h.exact && was != h.number {
				continue
			}
			senders = append(senders, s.sender)
			for _, x := range s.sums {
				if h.owns(x.Split) {
					sums = append(sums, x)
				}
			}
		}
	}
	if e.local == nil || len(senders) == 0 {
		return nil
	}
	schemas, err := e.job.schemas(e.local.step.Step)
	if err != nil {
		return err
	}
	if senders, sums, err = e.local.Renew(schemas, senders, sums); err != nil {
		return err
	}
	return e.local.Restore(senders, h.exact, sums)
}

// inherit takes over counters, and failures of plug-ins.
func (e *edge) inherit(s savedEdge, h heir, was int) error {
	if e.local != nil && h.counters(was) {
		e.local.count(s.added, s.failed)
	}
	for i := range e.parts {
		p := &e.parts[i]
		for _, from := range s.parts {
			if from.step != p.spec.step.ID {
				continue
			}
			if h.counters(was) {
				p.count(from.counts)
			}
			m, ok := p.fn.(*mapped)
			if !ok || m.breaker == nil {
				continue
			}
			for _, f := range from.failed {
				if !h.owns(f.Split) || !h.counters(was) && e.job.isStep(f.Split) {
					continue
				}
				r := state.NewReader(f.State)
				m.breaker.RestorePart(r, int(f.Split))
				if err := r.Err(); err != nil {
					return err
				}
			}
			p.spec.disabled.post(m.breaker)
		}
	}
	return nil
}
