package engine

import (
	"context"
	"fmt"
	"slices"

	"tidemark/engine/checkpoint"
	"tidemark/engine/result"
	"tidemark/engine/stream"
)

// onlyEpoch is the number of the one epoch of a job that takes no checkpoints.
const onlyEpoch = 1

// commit shows the last rows of all sinks: first every one makes its rows durable, then, with
// checkpoints, a last one decides that they are to be seen, then they are shown. A full disk
// shows none of them, and after a crash in between the next start shows them all (K7).
func (j *Job) commit(ctx context.Context) error {
	epoch := uint64(onlyEpoch)
	var w *checkpoint.Writer
	if j.keeper != nil {
		w = j.keeper.log.Begin(j.meta(checkpoint.Final))
		epoch = w.Meta().ID
	}
	give := func(err error) error {
		j.abort()
		if w != nil {
			_ = w.Abandon(ctx) // what is left of it is removed with the next one
		}
		return err
	}
	pending := make([][]byte, len(j.sinks))
	for i, t := range j.sinks {
		var err error
		if pending[i], err = t.sink.Prepare(epoch, true); err != nil {
			return give(sinkError(t.spec, err))
		}
		if w == nil {
			continue
		}
		if err := w.Add(ctx, t.section(epoch, pending[i])); err != nil {
			return give(fmt.Errorf("last checkpoint: %w", err))
		}
	}
	if w != nil {
		if err := j.keeper.publish(ctx, w, j.report()); err != nil {
			return give(fmt.Errorf("last checkpoint: %w", err))
		}
	}
	for n, i := range j.epochsOf.Commit {
		t := j.sinks[i]
		if err := t.sink.Commit(pending[i]); err != nil {
			for _, rest := range j.epochsOf.Commit[n+1:] {
				_ = j.sinks[rest].sink.Abort() // stays in progress, with all of its rows
			}
			return sinkError(t.spec, err)
		}
		t.done.Store(true)
	}
	return j.forget(ctx)
}

// forget ends the checkpoints of a job that has finished: there is nothing to go on from.
func (j *Job) forget(ctx context.Context) error {
	if j.opts.Checkpoints == nil {
		return nil
	}
	if err := j.opts.Checkpoints.ClaimFrom(ctx, 0); err != nil {
		return err
	}
	return j.opts.Checkpoints.Retain(ctx, 1)
}

// showEnd shows the last rows of a job whose process ended between the decision and that.
// The opening of the sinks has done it.
func (j *Job) showEnd(ctx context.Context) error {
	for _, t := range j.sinks {
		if err := t.sink.Abort(); err != nil {
			return sinkError(t.spec, err)
		}
		t.done.Store(true)
	}
	return j.forget(ctx)
}

// endReport is the report of a job whose process ended between the decision and the end: as
// it was taken down, but for what has become of the sinks since.
func (j *Job) endReport() Report {
	r := j.restored.report
	r.Sinks = nil
	for _, t := range j.sinks {
		r.Sinks = append(r.Sinks, t.report())
	}
	r.Checkpoints = &CheckpointReport{Restored: j.restored.from.Meta.ID}
	return r
}

// meta is what a checkpoint of the job says about itself.
func (j *Job) meta(kind checkpoint.Kind) checkpoint.Meta {
	m := j.opts.Meta
	m.Operators, m.Plugins = slices.Clone(m.Operators), slices.Clone(m.Plugins)
	m.Kind, m.Job, m.MaxParallelism = kind, j.graph.Name, j.graph.MaxParallelism
	m.Taken, m.FirstStart = j.now(), stream.Time(j.opts.FirstStart.UnixMilli())
	return m
}

// summary is what people are shown of a checkpoint.
func summary(r *Report) (out []checkpoint.KeyValue) {
	add := func(key, format string, args ...any) {
		out = append(out, checkpoint.KeyValue{Key: key, Value: fmt.Sprintf(format, args...)})
	}
	for _, s := range r.Sources {
		done := 0
		wm := stream.MaxTime
		for _, p := range s.Splits {
			if p.Finished {
				done++
			} else if !p.Idle {
				wm = min(wm, p.Watermark)
			}
		}
		add("source "+s.ID, "%s read, %d of %s at the end; watermark %s", countOf(s.Read, "record", "records"), done, countOf(int64(len(s.Splits)), "split", "splits"), timeText(wm))
	}
	for _, s := range r.Steps {
		if len(s.Inputs) == 0 {
			continue
		}
		l := s.Inputs[0]
		add("step "+s.ID, "%s of a key open, %s, %d late; watermark %s", countOf(s.Panes, "window", "windows"), countOf(s.Rows, "row", "rows"), l.Late, timeText(s.Watermark))
	}
	for _, s := range r.Sinks {
		add("sink "+s.ID, "%s", countOf(s.Rows, "row", "rows"))
	}
	return out
}

func timeText(t stream.Time) string {
	switch t {
	case stream.MinTime:
		return "not begun"
	case stream.MaxTime:
		return "at the end"
	}
	return result.TimeText(t)
}
