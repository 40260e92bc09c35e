package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tidemark/engine/exchange"
	"tidemark/engine/source"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/watermark"
)

// inputPoll is how often standard input is looked at when it has nothing now and does not
// tell when it has, in a job that follows nothing and therefore has no linger.
const inputPoll = 20 * time.Millisecond

// sourceTask reads some splits of a source and sends their rows on. One goroutine
// runs it: source, decode, timestamp, watermark, exchange.
type sourceTask struct {
	job    *Job
	turn   *turn
	spec   *sourceSpec
	index  int // among the tasks of its source: the sender's number
	mail   *exchange.Mailbox
	splits []*split
	edges  []*edge // one for each reader of the source
	pool   *exchange.Pool
	bad    *badOutput
	hands  int   // decoders that it may have
	crew   *crew // of so many; nil: it decodes itself

	marker   *markerTest   // nil: the source has no markers
	user     udf.Generator // nil: watermarks come from no plug-in
	userCols []int         // that it reads
	aligned  *aligned      // nil: the source is in no alignment group
	pauses   pauses        // of splits, by arrival
	share    share         // of the state budget: what senders add up
	combined combined      // by arrival: over the splits
	wasIdle  bool          // the status that was sent last
	asked    asked         // checkpoints
	restored bool          // the task goes on from a checkpoint
	drained  bool          // nothing more is read: see Job.Drain
	held     stream.Time   // by its receivers, in all (S12)
}

// quiet takes a span in which split s was not read because of us out of what counts as
// quiet (S12).
func (t *sourceTask) quiet(s *split, span stream.Time) {
	if s.idle != nil {
		s.idle.Hold(span)
	}
}

// add gives the task a split to read.
func (t *sourceTask) add(s *split) {
	s.marker = t.marker
	if t.user != nil {
		s.gen = newUserTime(t.user, t.userCols)
	}
	t.splits = append(t.splits, s)
	if t.crew != nil {
		s.readAhead(t.crew)
	}
	if t.aligned != nil {
		t.aligned.reader.Add()
	}
}

// run reads until every split has ended (bounded input) or ctx has.
func (t *sourceTask) run(ctx context.Context) (err error) {
	defer func() {
		for _, e := range t.edges {
			_ = e.close() // nothing of it can be lost
		}
		for _, s := range t.splits {
			_ = s.close() // only read from: nothing can be lost
		}
		if t.user != nil {
			_ = t.user.Close() // nor here
		}
		t.asked.end(t, err)
		t.mail.End()
		endPorts(t.ports())
	}()
	t.turn.ctx = ctx
	if t.crew, err = newCrew(ctx, t, t.hands); err != nil {
		return err
	}
	if t.crew != nil {
		defer t.crew.close()
		for _, s := range t.splits {
			s.readAhead(t.crew)
		}
	}
	if t.job.graph.Settings.OrderReplay {
		return t.replay(ctx)
	}
	return t.follow(ctx)
}

// replay sends the rows of bounded splits in order: always from the split with the
// lowest (watermark before the row, split id), so that the rows are a function of the
// data alone (T6). A split that has ended no longer takes part: it counts as MAX at
// once. Every batch's trailing watermark is that of the split that comes next.
func (t *sourceTask) replay(ctx context.Context) error {
	var r replayed
	for _, s := range t.splits {
		if s.batch == nil {
			s.batch = t.pool.Get(nil)
		}
		if s.at < s.batch.N || !s.over() {
			r.live = append(r.live, s)
		}
	}
	for {
		if err := t.stand(ctx); err != nil {
			return err
		}
		if err := t.takePart(ctx); err != nil {
			return err
		}
		if over, err := t.replayNext(ctx, &r); over || err != nil {
			return err
		}
	}
}

// replayed is where a replay is.
type replayed struct {
	live []*split      // that have not ended
	out  *stream.Batch // of rows of several splits, to be sent; nil: none yet
}

// replayNext sends the next batch, inside a turn (K5). It reports whether that was the last.
func (t *sourceTask) replayNext(ctx context.Context, r *replayed) (over bool, err error) {
	if err := t.turn.Begin(); err != nil {
		return false, err
	}
	defer t.turn.End(0)
	for {
		live, out := r.live, r.out
		n := 0
		for _, s := range live {
			more, err := t.refill(ctx, s)
			if err != nil {
				return false, err
			}
			if more {
				live[n] = s
				n++
			}
		}
		live = live[:n]
		r.live = live
		if len(live) == 0 {
			if out == nil {
				out = t.pool.Get(nil)
			}
			out.Trailing, out.Next, out.Drained = stream.MaxTime, stream.LastSplit, t.drained
			return true, t.send(ctx, out)
		}
		lo, second := lowest(live)
		if out == nil && lo.at == 0 && (second == nil || !second.before(lo, lo.batch.N-1)) {
			// The whole batch comes before any other split's next row: no row is copied.
			b := lo.batch
			lo.pos = b.Pos[b.N-1] + 1
			lo.batch = t.pool.Get(nil)
			lo.at = 0
			return false, t.sendUpTo(ctx, b, lo, second)
		}
		if out == nil {
			out = t.pool.Get(lo.batch)
			r.out = out
		}
		for lo.at < lo.batch.N && out.N < t.job.graph.Settings.BatchRows && !out.Heavy() && (second == nil || !second.before(lo, lo.at)) {
			out.AppendRow(lo.batch, lo.at)
			lo.pos = lo.batch.Pos[lo.at] + 1
			lo.at++
		}
		if out.N == t.job.graph.Settings.BatchRows || out.Heavy() {
			r.out = nil
			return false, t.sendUpTo(ctx, out, lo, second)
		}
	}
}

// refill makes sure that a split has a next row; false means that it has ended.
func (t *sourceTask) refill(ctx context.Context, s *split) (bool, error) {
	for s.at == s.batch.N {
		t.mail.Answer()
		if t.drained {
			s.out.End()
			return false, t.progress()
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		s.at = 0
		var err error
		s.batch, err = t.fill(ctx, s, s.batch)
		if errors.Is(err, io.EOF) {
			s.batch.N = 0
			s.out.End()
			return false, t.progress()
		}
		if err != nil {
			return false, err
		}
		if s.batch.N == 0 { // standard input has nothing now
			if err := t.wait(ctx, s, inputPoll); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// wait waits until there may be more: as the reader tells, or for poll. s is the one split
// that is waited for, nil with several.
func (t *sourceTask) wait(ctx context.Context, s *split, poll time.Duration) error {
	return t.turn.rest(func() error {
		if s != nil {
			if w, ok := s.reader.(source.Waker); ok {
				select {
				case <-w.Ready():
				case <-t.mail.Wake():
				case <-ctx.Done():
				}
				return ctx.Err()
			}
		}
		return t.job.opts.Env.Clock.Sleep(ctx, poll)
	})
}

// place is where a split stands in the order of a replay.
func (s *split) place() (stream.Time, stream.SplitID) {
	if s.at < s.batch.N {
		return s.batch.WM[s.at], s.id
	}
	return s.out.Last(), s.id
}

// before reports whether the next row of s comes before row i of o's batch.
func (s *split) before(o *split, i int) bool {
	wm, id := s.place()
	return wm < o.batch.WM[i] || wm == o.batch.WM[i] && id < o.id
}

// lowest returns the split whose row comes next, and the one after it, if any.
func lowest(live []*split) (lo, second *split) {
	for _, s := range live {
		switch {
		case lo == nil:
			lo = s
		case s.before(lo, lo.at):
			lo, second = s, lo
		case second == nil || s.before(second, second.at):
			second = s
		}
	}
	return lo, second
}

// sendUpTo sends a batch whose trailing watermark is the place of the row that this
// task sends next.
func (t *sourceTask) sendUpTo(ctx context.Context, b *stream.Batch, lo, second *split) error {
	b.Trailing, b.Next = lo.place()
	b.NextPos = lo.pos
	if second != nil {
		if wm, id := second.place(); wm < b.Trailing || wm == b.Trailing && id < b.Next {
			b.Trailing, b.Next, b.NextPos = wm, id, second.pos
		}
	}
	return t.send(ctx, b)
}

// fill reads the next batch of a split inside a turn (K5), into b or another one, and
// returns it; err is that of split.fill.
func (t *sourceTask) fill(ctx context.Context, s *split, b *stream.Batch) (*stream.Batch, error) {
	if err := t.turn.Begin(); err != nil {
		return b, err
	}
	defer t.turn.End(0)
	before := s.read
	rows, now := t.job.graph.Settings.BatchRows, t.job.now()
	var err error
	if s.ahead == nil {
		err = s.fill(b, rows, now, t.bad.add)
	} else {
		t.pool.Put(b)
		b, err = s.fillAhead(ctx, rows, now, t.bad.add)
	}
	if ferr := t.bad.flush(ctx, t.turn); ferr != nil {
		return b, ferr
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return b, err
	}
	if berr := t.bad.budget(t.spec.ID, t.job.graph.Settings.BadBudget, s.read-before); berr != nil {
		if verr := s.verify(ctx); verr != nil { // the records are not to blame
			return b, verr
		}
		return b, berr
	}
	return b, err
}

// send gives a batch to every step that reads the source. The caller has a turn, unless
// the batch has no rows.
func (t *sourceTask) send(ctx context.Context, b *stream.Batch) error {
	b.Source = t.spec.id
	if err := sendAll(ctx, t.edges, t.pool, b); err != nil {
		return err
	}
	if err := t.account(); err != nil {
		return err
	}
	return t.progress()
}

// account says what the task holds of records that were added up before they are sent.
func (t *sourceTask) account() error {
	n := int64(0)
	for _, e := range t.edges {
		if e.local != nil {
			n += e.local.Bytes()
		}
	}
	return t.share.set(n)
}

func (t *sourceTask) progress() error {
	if t.job.opts.Observe == nil {
		return nil
	}
	p := Progress{Source: t.spec.ID, Watermark: stream.MaxTime}
	for _, s := range t.splits {
		p.Read += s.read
		p.Watermark = min(p.Watermark, s.out.Last())
	}
	t.job.observe(p)
	return nil
}

// follow sends what arrives, split by split. Watermarks are combined by the minimum
// over the splits that are not idle (S20); probes look at idleness, at watermarks by
// time, and for new splits. Bounded sources of a job that follows others come here
// too: a split that ends counts as MAX, and with the last one the source ends.
//
// When every split has given all that was there, the task waits for the linger before it
// looks again: no record waits longer than that for company, and a steady trickle comes in
// batches of that much time instead of one record each.
func (t *sourceTask) follow(ctx context.Context) error {
	defer t.leave()
	if t.restored {
		if err := t.announce(ctx); err != nil {
			return err
		}
	} else {
		t.combined = newCombined(&t.spec.Watermark, len(t.splits))
	}
	t.combined.Probe(t.job.now()) // without splits it is idle
	if len(t.splits) == 0 {       // idle at once: nothing to wait for (S20)
		if t.spec.Bounded() { // and at its end
			end := t.pool.Get(nil)
			end.Trailing = stream.MaxTime
			return t.send(ctx, end)
		}
		if err := t.status(ctx, true, t.combined.Out()); err != nil {
			return err
		}
	}
	last := t.job.now()
	for {
		t.mail.Answer()
		if err := t.takePart(ctx); err != nil {
			return err
		}
		if t.drained {
			return t.drain(ctx)
		}
		t.pause(t.job.now())
		more, open := false, !t.spec.Bounded()
		for i, s := range t.splits {
			if s.done {
				continue
			}
			if t.pauses.splits[i] {
				open = true
				continue
			}
			if err := t.followNext(ctx, i, s); err != nil {
				return err
			}
			more, open = more || !s.done && !s.drained, open || !s.done
		}
		if !open {
			return nil
		}
		if now := t.job.now(); now-last >= stream.Time(t.job.graph.Settings.Probe.Milliseconds()) {
			last = now
			if err := t.probe(ctx, now); err != nil {
				return err
			}
		}
		if !more {
			if err := t.wait(ctx, nil, cmp.Or(t.job.graph.Settings.Linger, inputPoll)); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// followNext sends the next batch of split i, inside a turn (K5).
func (t *sourceTask) followNext(ctx context.Context, i int, s *split) error {
	if err := t.turn.Begin(); err != nil {
		return err
	}
	defer t.turn.End(0)
	b, err := t.fill(ctx, s, t.pool.Get(nil))
	if errors.Is(err, io.EOF) {
		t.end(i, s)
	} else if err != nil {
		return err
	}
	return t.deliver(ctx, i, b)
}

// end notes that split i has ended. In a bounded source it counts as MAX, so that the
// last one ends the source. In a followed one it is forgotten: there may be others yet,
// and its going alone moves no time (S20).
func (t *sourceTask) end(i int, s *split) {
	s.done = true
	if t.spec.Bounded() {
		s.out.End()
	} else {
		t.combined.Remove(i)
	}
}

// deliver sends a batch of split i with the combined watermark before each row.
func (t *sourceTask) deliver(ctx context.Context, i int, b *stream.Batch) error {
	s := t.splits[i]
	before := t.combined.Out()
	spoken := s.spoken
	if b.N == 0 {
		spoken = nil // they were in an earlier batch
	}
	for n, wm := range b.WM {
		for len(spoken) > 0 && spoken[0].row < n {
			t.speak(i, spoken[0].time)
			spoken = spoken[1:]
		}
		t.advance(i, s, wm)
		b.WM[n] = t.combined.Out()
	}
	for _, m := range spoken {
		t.speak(i, m.time)
	}
	t.advance(i, s, s.out.Last())
	if b.N > 0 {
		t.combined.Record(t.job.now())
	}
	if t.wasIdle && !t.combined.Idle() { // active first, at the time before the batch
		if err := t.status(ctx, false, before); err != nil {
			return err
		}
	}
	if b.N == 0 && t.combined.Out() <= before {
		t.pool.Put(b)
		return nil
	}
	b.Trailing = t.combined.Out()
	return t.sendHeld(ctx, b)
}

// speak tells the other splits the time of a marker in split i that is meant for all.
func (t *sourceTask) speak(i int, ts stream.Time) {
	for n, s := range t.splits {
		if n != i && !s.done {
			s.heartbeat(ts)
			t.advance(n, s, s.out.Last())
		}
	}
}

// advance tells the combiner a watermark of split i. Only a new one counts: records
// behind the maximum leave an idle split idle (S11).
func (t *sourceTask) advance(i int, s *split, wm stream.Time) {
	if wm > s.told {
		s.told = wm
		t.combined.Watermark(i, wm)
	}
}

// sendHeld sends a batch and takes the time that the receivers made it wait out of
// the idle countdowns: blocked by us is not idle (S12).
func (t *sourceTask) sendHeld(ctx context.Context, b *stream.Batch) error {
	start := t.job.now()
	err := t.send(ctx, b)
	held := t.job.now() - start
	t.held += held
	for _, s := range t.splits {
		t.quiet(s, held)
	}
	t.combined.Hold(held)
	return err
}

// probe is what happens every probe interval of processing time (S5, S8).
func (t *sourceTask) probe(ctx context.Context, now stream.Time) error {
	before := t.combined.Out()
	for i, s := range t.splits {
		switch {
		case s.done:
		case s.idle != nil && s.idle.Probe(now):
			if c := s.out.MarkIdle(); c.Status == watermark.BecameIdle {
				t.combined.SetIdle(i, true)
			}
		default:
			if err := s.probe(now); err != nil {
				return err
			}
			t.advance(i, s, s.out.Last())
		}
	}
	t.combined.Probe(now)
	idle := t.combined.Idle()
	if t.wasIdle && !idle {
		if err := t.status(ctx, false, before); err != nil { // active first, then time
			return err
		}
	}
	if t.combined.Out() > before {
		b := t.pool.Get(nil)
		b.Trailing = t.combined.Out()
		if err := t.sendHeld(ctx, b); err != nil {
			return err
		}
	}
	if idle && !t.wasIdle {
		if err := t.status(ctx, true, t.combined.Out()); err != nil { // time first, then idle (S69)
			return err
		}
	}
	return t.discover(ctx)
}

// status tells the receivers that the source became idle or active, at a watermark.
func (t *sourceTask) status(ctx context.Context, idle bool, wm stream.Time) error {
	t.wasIdle = idle
	b := t.pool.Get(nil)
	b.Trailing, b.Status = wm, stream.BecameActive
	if idle {
		b.Status = stream.BecameIdle
	}
	return t.send(ctx, b)
}

// discover starts reading splits that have appeared.
func (t *sourceTask) discover(ctx context.Context) error {
	if t.spec.Bounded() {
		return nil // what there is was found at the start
	}
	found, err := t.spec.reads.Splits(ctx)
	if err != nil {
		return fmt.Errorf("source %s: %w", t.spec.ID, err)
	}
	for _, f := range found {
		if slices.ContainsFunc(t.splits, func(s *split) bool { return s.name == f.ID && !s.done }) {
			continue
		}
		s, err := t.job.open(ctx, t.spec, f)
		if err != nil {
			return err
		}
		t.add(s)
		t.combined.Add() // holds time back until it has spoken or is idle
		if t.wasIdle {
			if err := t.status(ctx, false, t.combined.Out()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *sourceTask) addEdge(e *edge)       { t.edges = append(t.edges, e) }
func (t *sourceTask) store() *exchange.Pool { return t.pool }
func (t *sourceTask) cpu() *turn            { return t.turn }

// report is the source's part of the job's report, for the splits of this task.
func (t *sourceTask) report() SourceReport {
	r := SourceReport{ID: t.spec.ID, Bad: t.bad.bad, Quarantined: t.bad.quarantined}
	for _, s := range t.splits {
		r.Read += s.read
		r.Passed += s.rows
		r.Splits = append(r.Splits, SplitReport{ID: s.name, Read: s.read, Watermark: s.out.Last(), Low: s.low, High: s.high, Idle: s.out.Idle(), Regressions: s.regressions(), Finished: s.done || s.out.Last() == stream.MaxTime})
	}
	return r
}
