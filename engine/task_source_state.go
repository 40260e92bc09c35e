package engine

import (
	"context"
	"fmt"
	"slices"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/engine/source"
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// The part of a checkpoint that is a source's task:
//
//	whether the source is idle, and whether it has been drained; time that its receivers have
//	held it up (8)
//	whether there is a combiner of splits, and that
//	whether the source is in an alignment group, and if so its bound, whether there is a time
//	of the next one, and how far off that is (8 each)
//	records that were bad, and quarantined (8 each)
//	its edges (see edge.save)
//
// Its splits have sections of their own, by number, since another task may go on with them.

// takePart gives the task's part of a checkpoint that it was asked for, and sends a barrier
// behind all that it has sent.
func (t *sourceTask) takePart(ctx context.Context) error {
	if len(t.asked.ids) == 0 {
		return nil
	}
	if err := t.turn.Begin(); err != nil {
		return err
	}
	defer t.turn.End(0)
	for len(t.asked.ids) > 0 {
		id := t.asked.ids[0]
		t.keeper().give(t.part(id))
		t.asked.given(id)
		if err := barrier(ctx, t.turn, id, t.edges, t.ports()); err != nil {
			return err
		}
	}
	return nil
}

func (t *sourceTask) keeper() *keeper { return t.job.keeper }

// part implements taker.
func (t *sourceTask) part(id uint64) part {
	now := t.job.now()
	var w state.Writer
	w.Bool(t.wasIdle)
	w.Bool(t.drained)
	w.I64(int64(t.held))
	w.Bool(t.combined != nil)
	if t.combined != nil {
		t.combined.Snapshot(&w, now)
	}
	w.Bool(t.aligned != nil)
	if t.aligned != nil {
		t.aligned.with.snapshot(&w, now)
	}
	w.I64(t.bad.bad)
	w.I64(t.bad.quarantined)
	saveEdges(&w, t.edges)
	out := []checkpoint.Section{sectionOf(t.spec.ID, checkpoint.KindSource, t.index, &w)}
	for _, s := range t.splits {
		var w state.Writer
		s.save(&w, now)
		section := sectionOf(t.spec.ID, checkpoint.KindSplit, int(s.id), &w)
		section.Version = splitVersion
		out = append(out, section)
	}
	if files, ok := saveSpent(t.spec, t.index); ok {
		out = append(out, files)
	}
	r := t.report()
	return part{id: id, who: t, sections: these(out...), report: func(m *merger) { m.source(r) }}
}

// savedSplit is a split as it was saved.
type savedSplit struct {
	id   stream.SplitID
	name string
	rest *state.Reader
	// layout of the section.
	layout uint16
}

func readSplit(s checkpoint.Section) savedSplit {
	r := state.NewReader(s.Body)
	return savedSplit{stream.SplitID(r.U32()), string(r.Bytes()), r, s.Version}
}

// load goes on from what the tasks of the source were, of which there are so many now. The
// task has its splits already.
func (t *sourceTask) load(saved []checkpoint.Section, count int) error {
	h := heir{t.index, count, len(saved) == count, func(id stream.SplitID) bool {
		return slices.ContainsFunc(t.splits, func(s *split) bool { return s.id == id })
	}}
	var edges [][]savedEdge
	for was, s := range saved {
		r := state.NewReader(s.Body)
		idle := r.Bool()
		t.drained = r.Bool() || t.drained // all of a job are, or none
		held := stream.Time(r.I64())
		var c combined
		if r.Bool() {
			c = newCombined(&t.spec.Watermark, 0)
			c.Restore(r, t.job.now())
		}
		if r.Bool() {
			with := &alignment{} // of a group that the source has left
			if t.aligned != nil {
				with = t.aligned.with
			}
			with.restore(r, t.job.now())
		}
		bad, quarantined := r.I64(), r.I64()
		edges = append(edges, readEdges(r))
		if err := r.Err(); err != nil {
			return err
		}
		if h.exact && was == t.index {
			t.wasIdle, t.held, t.combined = idle, held, c
		}
		if h.counters(was) {
			t.bad.bad += bad
			t.bad.quarantined += quarantined
			t.bad.totals.bad += bad
		}
	}
	for _, e := range t.edges {
		if err := e.load(edges, h); err != nil {
			return err
		}
	}
	for _, s := range t.splits {
		t.bad.totals.read += s.read
	}
	if t.combined == nil && !t.job.graph.Settings.OrderReplay {
		t.combined = t.recombine()
	}
	if t.aligned != nil && t.combined != nil {
		t.reportAligned() // before anybody asks for the next bound
	}
	t.restored = true
	return nil
}

// recombine joins splits that other tasks have read before.
func (t *sourceTask) recombine() combined {
	c := newCombined(&t.spec.Watermark, len(t.splits))
	for i, s := range t.splits {
		switch {
		case s.done && !t.spec.Bounded():
			c.Remove(i)
		case s.out.Idle():
			c.Watermark(i, s.told)
			c.SetIdle(i, true)
		default:
			c.Watermark(i, max(s.told, s.out.Last()))
		}
	}
	t.wasIdle = c.Idle()
	return c
}

// announce says again, to receivers that may be others, how far the source has come.
func (t *sourceTask) announce(ctx context.Context) error {
	b := t.pool.Get(nil)
	b.Trailing = t.combined.Out()
	if err := t.send(ctx, b); err != nil || !t.wasIdle {
		return err
	}
	return t.status(ctx, true, t.combined.Out())
}

// saveSpent writes which files of a source have been read to their end: for each its number in
// the file system (8), its first bytes, its length (8). False: there are none.
func saveSpent(spec *sourceSpec, task int) (s checkpoint.Section, ok bool) {
	f, ok := spec.reads.(source.Finder)
	if !ok || spec.Bounded() {
		return s, false
	}
	spent := f.Spent()
	if len(spent) == 0 {
		return s, false
	}
	var w state.Writer
	w.Len(len(spent))
	for _, t := range spent {
		w.U64(t.Number)
		w.Bytes(t.Head)
		w.I64(t.Offset)
	}
	return sectionOf(spec.ID, checkpoint.KindFiles, task, &w), true
}

// skip has a source not read again the files that it had read to their end.
func (r *restored) skip(ctx context.Context, spec *sourceSpec) error {
	f, ok := spec.reads.(source.Finder)
	if !ok || spec.Bounded() {
		return nil
	}
	var spent []source.Trace
	for s, err := range r.from.Sections(ctx, spec.ID, checkpoint.KindFiles) {
		if err != nil {
			return err
		}
		in := state.NewReader(s.Body)
		for range in.Len() {
			spent = append(spent, source.Trace{Number: in.U64(), Head: in.Bytes(), Offset: in.I64()})
		}
		if err := in.Err(); err != nil {
			return err
		}
	}
	return f.Skip(ctx, spent)
}

// resume opens the splits of a source where a checkpoint has left them, and deals them out
// over its tasks. Those of a bounded source are the ones that were found when it began.
func (j *Job) resume(ctx context.Context, spec *sourceSpec, tasks []*sourceTask, found []source.Split) error {
	if err := j.restored.skip(ctx, spec); err != nil {
		return fmt.Errorf("source %s: %w", spec.ID, err)
	}
	there := map[string]*source.Split{}
	for i := range found {
		there[found[i].ID] = &found[i]
	}
	was, err := j.restored.described(spec.ID, job.SourceOperator)
	if err != nil {
		return err
	}
	for i := range j.restored.splits[spec.ID] {
		saved := &j.restored.splits[spec.ID][i]
		from := there[saved.name]
		s := spec.split(saved.id, saved.name)
		if from != nil {
			s.arrive(from, stream.Time(j.opts.FirstStart.UnixMilli()))
		}
		tasks[i%len(tasks)].add(s)
		if err := s.load(ctx, saved, from, j.now()); err != nil {
			return err
		}
		if u, ok := s.gen.(*userTime); ok {
			if err := u.renew(j.former(&was, job.WatermarkState, spec.Watermark.Plugin)); err != nil {
				return fmt.Errorf("source %s: split %s: %w", spec.ID, s.name, err)
			}
		}
	}
	return nil // what has come since to a followed one is discovered as it runs
}
