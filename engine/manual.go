package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tidemark/engine/job"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/watermark"
)

// Manual is a job whose tasks are driven by hand, one call after the other, in place of
// their goroutines: for tests of jobs, where it must be known what each record caused.
// Its records are fed and its output is taken; files, and the order of an ordered replay,
// have no part in it: splits go on as they are fed, as those of followed inputs do.
// Alignment groups pause nothing here. One goroutine uses it.
//
// After an error of Feed, Watermark, Idle, End, Tick or Restore only Take and Close make
// sense: the job has failed.
type Manual struct {
	job   *Job
	fed   map[string]*fedSource
	taken map[job.Port][][]byte
}

// The bounds of a Manual's queues. Nothing makes room in them while one call runs, so they
// hold all that a batch of one split can cause.
const (
	manualDepth = 1 << 10
	manualSink  = 1 << 12
)

// NewManual plans a job. splits names the splits of each source. Of the options Env.Clock
// and Plugins count. Results are kept of the steps that a sink of the job reads; late,
// failed and bad records of all.
func NewManual(ctx context.Context, g *job.Graph, o Options, splits map[string][]string) (*Manual, error) {
	m := &Manual{fed: map[string]*fedSource{}, taken: map[job.Port][][]byte{}}
	driven := *g
	driven.Settings.OrderReplay = false
	driven.Settings.QueueDepth = manualDepth
	driven.Settings.BatchRows = 1 // a step that reads one source in two ways sees them record by record
	driven.Sources = slices.Clone(g.Sources)
	for i := range driven.Sources {
		s := &driven.Sources[i]
		file := *s.File
		file.Follow = true
		s.File = &file
		m.fed[s.ID] = newFedSource(splits[s.ID])
	}
	driven.Sinks = manualSinks(g)
	o.fed, o.fine = m.fed, g.Settings.OrderReplay
	j, err := New(ctx, &driven, o)
	if err != nil {
		return nil, err
	}
	m.job = j
	for _, t := range j.sinks {
		t.in = make(chan block, manualSink)
	}
	for _, t := range j.feeds {
		t.combined = newCombined(&t.spec.Watermark, len(t.splits))
	}
	return m, nil
}

// manualSinks has one sink for each port whose output is kept.
func manualSinks(g *job.Graph) []job.Sink {
	var out []job.Sink
	add := func(p job.Port) {
		if !slices.ContainsFunc(out, func(s job.Sink) bool { return s.From == p }) {
			out = append(out, job.Sink{ID: p.String(), From: p, Format: "json", Memory: 1})
		}
	}
	for i := range g.Sinks {
		add(g.Sinks[i].From)
	}
	for i := range g.Sources {
		add(job.Port{Operator: g.Sources[i].ID, Name: "bad"})
	}
	for i := range g.Steps {
		add(job.Port{Operator: g.Steps[i].ID, Name: "late"})
		add(job.Port{Operator: g.Steps[i].ID, Name: "failed"})
	}
	return out
}

// Feed gives bytes to a split and has the job work on all records that are complete.
func (m *Manual) Feed(ctx context.Context, sourceID, split string, text []byte) error {
	f := m.fed[sourceID].splits[split]
	f.bytes = append(f.bytes, text...)
	return m.read(ctx, sourceID)
}

// End ends a source: each of its splits, and with them its time (S13).
func (m *Manual) End(ctx context.Context, sourceID string) error {
	for _, f := range m.fed[sourceID].splits {
		f.ended = true
	}
	if err := m.read(ctx, sourceID); err != nil {
		return err
	}
	return m.each(sourceID, func(t *sourceTask) error {
		if len(t.splits) > 0 {
			return nil
		}
		end := t.pool.Get(nil)
		end.Trailing = stream.MaxTime
		return m.settle(ctx, t.send(ctx, end))
	})
}

// Watermark has every split of a source say a watermark, beside those of its generator.
// One that is not above the last says nothing (S6).
func (m *Manual) Watermark(ctx context.Context, sourceID string, wm stream.Time) error {
	return m.each(sourceID, func(t *sourceTask) error {
		for i, s := range t.splits {
			if s.done {
				continue
			}
			s.out.Emit(wm)
			if err := m.settle(ctx, t.deliver(ctx, i, t.pool.Get(nil))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Idle marks a split of a source as idle, or all of them with split "": it holds time back
// no more until it has a new watermark (S10, S11).
func (m *Manual) Idle(ctx context.Context, sourceID, split string) error {
	return m.each(sourceID, func(t *sourceTask) error {
		before := t.combined.Out()
		for i, s := range t.splits {
			if (split == "" || s.name == split) && !s.done && s.out.MarkIdle().Status == watermark.BecameIdle {
				t.combined.SetIdle(i, true)
			}
		}
		var err error
		switch {
		case t.combined.Idle() && !t.wasIdle:
			err = t.status(ctx, true, t.combined.Out())
		case t.combined.Out() > before:
			b := t.pool.Get(nil)
			b.Trailing = t.combined.Out()
			err = t.send(ctx, b)
		}
		return m.settle(ctx, err)
	})
}

// Tick has all tasks look at the clock of the options: steps that go by it, and what
// sources do at each probe. It is to be called at least once a probe interval of that
// clock.
func (m *Manual) Tick(ctx context.Context) error {
	for _, t := range m.job.keyed {
		if !t.clocked {
			continue
		}
		if err := m.settle(ctx, t.tick(ctx)); err != nil {
			return fmt.Errorf("step %s: %w", t.step.ID, err)
		}
	}
	now := m.job.now()
	for _, t := range m.job.feeds {
		if err := m.settle(ctx, t.probe(ctx, now)); err != nil {
			return err
		}
	}
	return nil
}

// Restore takes a snapshot of every operator and of what its task knows of the time of
// others, forgets the operators with their functions, and goes on with new ones from the
// snapshot, which must change nothing (S105). Sources are read on as they are.
func (m *Manual) Restore(ctx context.Context) error {
	for _, t := range m.job.feeds {
		for _, e := range t.edges {
			if e.local == nil {
				continue
			}
			if err := m.restoreLocal(ctx, e); err != nil {
				return fmt.Errorf("source %s: restore: %w", t.spec.ID, err)
			}
		}
	}
	for _, t := range m.job.keyed {
		if err := m.restore(ctx, t); err != nil {
			return fmt.Errorf("step %s: restore: %w", t.step.ID, err)
		}
	}
	return nil
}

func (m *Manual) restoreLocal(ctx context.Context, e *edge) error {
	old := e.local
	next, err := m.job.newLocal(ctx, old.step, old.sender, old.key, e, old.tasks)
	if err != nil {
		return err
	}
	e.local = next
	cut := old.Freeze()
	return errors.Join(next.Restore([][]byte{cut.Sender}, true, cut.Splits), old.Close())
}

func (m *Manual) restore(ctx context.Context, t *keyedTask) error {
	var w state.Writer
	t.inbox.Snapshot(&w)
	cut, err := t.op.Freeze().Read()
	if err != nil {
		return err
	}
	old := t.op
	if err := t.build(ctx); err != nil {
		t.op = old // closed with the job
		return err
	}
	if err := errors.Join(old.Close(), t.op.Restore(cut.AsItWas())); err != nil {
		return err
	}
	return t.inbox.Restore(w.Buf)
}

// Take returns the lines that have come out of each port since it was called last.
func (m *Manual) Take() map[job.Port][][]byte {
	taken := m.taken
	m.taken = map[job.Port][][]byte{}
	return taken
}

// Close frees what the job holds. It fires nothing.
func (m *Manual) Close() error { return m.job.Discard() }

func (m *Manual) each(sourceID string, f func(*sourceTask) error) error {
	for _, t := range m.job.feeds {
		if t.spec.ID == sourceID {
			if err := f(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// read has the tasks of a source read all that is there.
func (m *Manual) read(ctx context.Context, sourceID string) error {
	return m.each(sourceID, func(t *sourceTask) error {
		for i, s := range t.splits {
			for more := true; more && !s.done; {
				b, err := t.fill(ctx, s, t.pool.Get(nil))
				if errors.Is(err, io.EOF) {
					s.done = true
					s.out.End()
				} else if err != nil {
					return m.settle(ctx, err)
				}
				more = b.N > 0
				if err := m.settle(ctx, t.deliver(ctx, i, b)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// settle has the steps work on what was sent until nothing is left, in topological order,
// and takes what comes out. An error of what was done before is returned after it.
func (m *Manual) settle(ctx context.Context, err error) error {
	defer m.drain()
	if err != nil {
		return err
	}
	for _, t := range m.job.keyed {
		for b := t.inbox.Poll(); b != nil; b = t.inbox.Poll() {
			if err := t.process(ctx, b); err != nil {
				return fmt.Errorf("step %s: %w", t.step.ID, err)
			}
			t.pool.Put(b)
			m.drain()
		}
	}
	return nil
}

// drain takes what has come to the sinks.
func (m *Manual) drain() {
	for _, t := range m.job.sinks {
		for len(t.in) > 0 {
			b := <-t.in
			for line := range bytes.Lines(b.lines) {
				m.taken[t.spec.From] = append(m.taken[t.spec.From], bytes.Clone(bytes.TrimSuffix(line, []byte("\n"))))
			}
		}
	}
}
