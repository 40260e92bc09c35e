package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/engine/sink"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// restored is a checkpoint that a job goes on from, as far as planning needs it.
type restored struct {
	from   *checkpoint.Checkpoint
	names  []splitName
	splits map[string][]savedSplit // by source
	report Report                  // of the job when it was taken
}

// splitName is a split, by number: numbers stand in places and ids, so they stay.
type splitName struct {
	operator string // a source, or a step, which is a split to those that read it
	name     string // that people see
}

// Numbers of the sections of the job itself.
const (
	namesSection  = 0 // for each split, in order of numbers: operator, name
	reportSection = 1 // the report, as JSON
)

// saveNames writes the splits of the job.
func (j *Job) saveNames() checkpoint.Section {
	j.splitMu.Lock()
	defer j.splitMu.Unlock()
	var w state.Writer
	w.Len(len(j.splits))
	for _, s := range j.splits {
		w.Bytes([]byte(s.operator))
		w.Bytes([]byte(s.name))
	}
	return sectionOf("", checkpoint.KindJob, namesSection, &w)
}

// saveReport writes what the job has done, for people.
func saveReport(r Report) checkpoint.Section {
	raw, err := json.Marshal(r)
	if err != nil {
		panic("BUG: report: " + err.Error())
	}
	return sectionOf("", checkpoint.KindJob, reportSection, &state.Writer{Buf: raw})
}

// readRestored reads the parts of a checkpoint that planning needs.
func readRestored(ctx context.Context, c *checkpoint.Checkpoint, g *job.Graph) (*restored, error) {
	if err := readable(c); err != nil {
		return nil, err
	}
	r := &restored{from: c, splits: map[string][]savedSplit{}}
	for s, err := range c.Sections(ctx, "", checkpoint.KindJob) {
		if err != nil {
			return nil, err
		}
		switch s.Number {
		case namesSection:
			in := state.NewReader(s.Body)
			for range in.Len() {
				r.names = append(r.names, splitName{string(in.Bytes()), string(in.Bytes())})
			}
			err = in.Err()
		case reportSection:
			err = json.Unmarshal(s.Body, &r.report)
		}
		if err != nil {
			return nil, fault.Corruptf("checkpoint %d: %w", c.Meta.ID, err)
		}
	}
	for i := range g.Sources {
		id := g.Sources[i].ID
		for s, err := range c.Sections(ctx, id, checkpoint.KindSplit) {
			if err != nil {
				return nil, err
			}
			saved := readSplit(s)
			if int(saved.id) >= len(r.names) {
				return nil, fault.Corruptf("checkpoint %d: source %s: split %s has the number %d, there are %d", c.Meta.ID, id, saved.name, saved.id, len(r.names))
			}
			r.splits[id] = append(r.splits[id], saved)
		}
	}
	return r, nil
}

// readable refuses a checkpoint with sections whose layout this version does not know.
func readable(c *checkpoint.Checkpoint) error {
	for _, ref := range c.Refs() {
		newest := uint16(stateVersion)
		switch ref.Kind {
		case checkpoint.KindSplit:
			newest = splitVersion
		case checkpoint.KindGroup:
			newest = apartVersion
		}
		if ref.Version > newest || ref.Version == 0 {
			return fault.Userf("checkpoint %d was written by another version of the host: section %s has layout %d, this one reads those up to %d; run the version that has written it, or start anew without the checkpoint", c.Meta.ID, ref, ref.Version, newest)
		}
	}
	return nil
}

// knows reports whether the checkpoint has a source.
func (r *restored) knows(source string) bool {
	return r != nil && len(r.from.Find(source, checkpoint.KindSource)) > 0
}

// count is how many splits a source has: those of the checkpoint, or those that were found.
func (r *restored) count(source string, found int) int {
	if r.knows(source) {
		return len(r.splits[source])
	}
	return found
}

// step returns the number that a step has as a split; false: it is new.
func (r *restored) step(id string) (stream.SplitID, bool) {
	if r != nil {
		for i, s := range r.names {
			if s == (splitName{id, id}) {
				return stream.SplitID(i), true
			}
		}
	}
	return 0, false
}

// load has all tasks go on from the checkpoint: the last part of planning.
func (j *Job) load(ctx context.Context) error {
	c := j.restored.from
	for _, spec := range j.sources {
		var saved []checkpoint.Section
		for s, err := range c.Sections(ctx, spec.ID, checkpoint.KindSource) {
			if err != nil {
				return err
			}
			saved = append(saved, s)
		}
		var tasks []*sourceTask
		for _, t := range j.feeds {
			if t.spec == spec {
				tasks = append(tasks, t)
			}
		}
		for _, t := range tasks {
			if len(saved) == 0 { // a new source
				continue
			}
			if err := t.load(saved, len(tasks)); err != nil {
				return fmt.Errorf("restore source %s: %w", spec.ID, err)
			}
		}
	}
	for _, spec := range j.steps {
		saved, err := readStep(ctx, c, spec.ID)
		if err != nil {
			return err
		}
		if len(saved.tasks) == 0 { // a new step
			continue
		}
		for _, t := range j.keyed {
			if t.step != spec {
				continue
			}
			if err := t.load(ctx, c, saved, spec.Parallelism); err != nil {
				return fmt.Errorf("restore step %s: %w", spec.ID, err)
			}
		}
	}
	return nil
}

// sinkState reads what a sink needs to go on.
func (r *restored) sinkState(ctx context.Context, id string) (from sink.Restored, rows int64, err error) {
	if r == nil {
		return sink.Restored{}, 0, nil
	}
	for s, err := range r.from.Sections(ctx, id, checkpoint.KindSink) {
		if err != nil {
			return sink.Restored{}, 0, err
		}
		in := state.NewReader(s.Body)
		rows = in.I64()
		from.Epoch = uint64(in.I64())
		from.Pending = in.Rest()
		if err := in.Err(); err != nil {
			return sink.Restored{}, 0, err
		}
	}
	return from, rows, nil
}

// prepare ends the epoch of a sink, and gives its part of the checkpoint.
func (t *sinkTask) prepare(id uint64, given bool) error {
	if given {
		t.keeper.give(part{id: id, who: t, err: errSinkBehind})
		return nil
	}
	pending, err := t.sink.Prepare(id, false)
	if err != nil {
		t.keeper.give(part{id: id, who: t, err: sinkError(t.spec, err)})
		return err
	}
	section := t.section(id, pending)
	t.keeper.give(part{id: id, who: t, sections: these(section),
		commit: func(ctx context.Context) error {
			done := make(chan error, 1)
			if err := t.send(ctx, t.keeper.turn, block{do: func() { done <- t.sink.Commit(pending) }}); err != nil {
				return err
			}
			if err := <-done; err != nil {
				return sinkError(t.spec, err)
			}
			return nil
		}})
	return nil
}

// section is the part of a checkpoint that is a sink: rows that were written (8), number of
// the epoch (8), and what the sink says that it needs to commit it.
func (t *sinkTask) section(epoch uint64, pending []byte) checkpoint.Section {
	var w state.Writer
	w.I64(t.rows.Load())
	w.I64(int64(epoch))
	w.Buf = append(w.Buf, pending...)
	return sectionOf(t.spec.ID, checkpoint.KindSink, 0, &w)
}

var errSinkBehind = fault.As(fault.ErrExternal, errors.New("a sink has gathered too many rows behind the cut, while some task had not come to it"))
