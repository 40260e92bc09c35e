package engine

import (
	"context"
	"fmt"
	"sync"

	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/internal/fault"
)

// badOutput takes the bad records of one source task: it counts them and sends them
// to the sinks of the source's port `bad`.
type badOutput struct {
	to     []portSink
	totals *badTotals

	bad, quarantined int64
	recent           int64 // bad records since the budget was looked at
}

// badTotals is what all tasks of a source have read together: the budget is the
// source's, however many tasks share the work.
type badTotals struct {
	mu        sync.Mutex
	read, bad int64
	first     string // for the error when there are too many
}

func (o *badOutput) add(b *result.Bad) error {
	if b.Quarantined {
		o.quarantined++ // a clock is wrong, not the data: not in the budget
	} else {
		o.bad++
		o.recent++
		o.totals.note(b)
	}
	for i := range o.to {
		p := &o.to[i]
		p.lines = result.AppendBad(p.lines, b, p.format)
		p.rows++
	}
	return nil
}

func (t *badTotals) note(b *result.Bad) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == "" {
		t.first = fmt.Sprintf("%s:%d: %s: %s", b.Split, b.Line, b.Reason, b.Message)
	}
}

func (o *badOutput) flush(ctx context.Context, t *turn) error { return flushPorts(ctx, t, o.to) }

// budget counts what was read and ends a job that reads mostly rubbish: more bad
// records than the larger of a number and a share of those read.
func (o *badOutput) budget(source string, limit job.BadBudget, read int64) error {
	t := o.totals
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read += read
	t.bad += o.recent
	o.recent = 0
	if t.bad > max(limit.Count, int64(limit.Share*float64(t.read))) {
		return fault.Userf("source %s: %d of %d records are bad, more than bad_budget allows (%d, or %g%% of those read); the first: %s", source, t.bad, t.read, limit.Count, limit.Share*100, t.first)
	}
	return nil
}
