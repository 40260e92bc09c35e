package engine

import (
	"sync"

	"tidemark/engine/job"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/watermark"
)

// alignment is an alignment group of a running job (S22): all tasks of its sources share
// one. It has no goroutine: whoever looks first when the update interval is over
// announces the next bound, so that it goes by the job's clock and stops with the tasks.
type alignment struct {
	group  string
	update stream.Time

	mu    sync.Mutex
	coord *watermark.Coordinator
	due   stream.Time // when the next bound is announced; MinTime before the first look
	bound stream.Time // that was announced last; MAX before
}

func newAlignment(a *job.Align) (*alignment, error) {
	c, err := watermark.NewCoordinator(map[string]stream.Time{a.Group: stream.Time(a.MaxDrift.Milliseconds())})
	if err != nil {
		return nil, err
	}
	return &alignment{group: a.Group, update: stream.Time(a.Update.Milliseconds()), coord: c, due: stream.MinTime, bound: stream.MaxTime}, nil
}

// report takes the watermark of a reader.
func (a *alignment) report(reader string, wm stream.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.coord.Report(a.group, reader, wm)
}

// look announces a bound if it is time, and returns the one in force.
func (a *alignment) look(now stream.Time) (bound stream.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.due == stream.MinTime:
		a.due = now.Add(a.update)
	case now >= a.due:
		a.due = now.Add(a.update)
		a.coord.Announce(func(_ string, bound stream.Time) { a.bound = bound })
	}
	return a.bound
}

// snapshot writes the bound in force, and the time to the next one.
func (a *alignment) snapshot(w *state.Writer, now stream.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.I64(int64(a.bound))
	w.Bool(a.due != stream.MinTime)
	w.I64(int64(a.due - now))
}

// restore takes what snapshot has written: each member of a group has written the same.
func (a *alignment) restore(r *state.Reader, now stream.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bound = stream.Time(r.I64())
	looked, left := r.Bool(), stream.Time(r.I64())
	if looked {
		a.due = now.Add(left)
	}
}

// aligned is the part of a source task that keeps it near the others of its group. It
// reports at each look, which is oftener than the update interval that the rule asks for:
// a bound is then never older than one interval.
type aligned struct {
	with   *alignment
	name   string // of the reader
	reader *watermark.Reader
}

func newAligned(with *alignment, name string) (*aligned, error) {
	r, err := watermark.NewReader(true, false)
	if err != nil {
		return nil, err
	}
	return &aligned{with: with, name: name, reader: r}, nil
}

// align marks the splits that the group does not let read now (S25, S26).
func (t *sourceTask) align(paused []bool) {
	a := t.aligned
	if a == nil {
		return
	}
	for i, s := range t.splits {
		a.reader.Split(i, s.out.Last())
		if s.done {
			a.reader.Finish(i)
		}
	}
	has := t.reportAligned()
	if bound := a.with.look(t.pauses.looked); has { // who has reported hears the bound (S22)
		a.reader.Bound(bound)
	}
	waits := a.reader.Waits()
	for i := range t.splits {
		paused[i] = waits || a.reader.Paused(i)
	}
}

// reportAligned tells the group how far the source is; false: it has no watermark yet.
func (t *sourceTask) reportAligned() bool {
	a := t.aligned
	a.reader.Combined(t.combined.Out(), t.combined.Idle())
	wm, has := a.reader.Report()
	if has {
		a.with.report(a.name, wm)
	}
	return has
}

// leave tells the group, and the budget, that the task has ended and holds nobody back (S23).
func (t *sourceTask) leave() {
	if a := t.aligned; a != nil {
		a.with.report(a.name, stream.MaxTime)
	}
	t.job.budget.behind(t, stream.MaxTime)
}
