package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/exchange"
	"tidemark/engine/join"
	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
	"tidemark/spec"
)

// stage is a step with its subtasks, and one sender for each input, driven by hand.
type stage struct {
	job     *spec.Job
	variant Variant
	pool    exchange.Pool
	routers []*exchange.Router
	locals  []*window.Local // of each input, where senders add up (P4)
	tasks   []*task
	wm      []stream.Time // of each input: what has been sent
	idle    []bool        // of each input
	entry   *spec.Entry   // of the current step
	events  [][]spec.Event
}

// task is a subtask: what a keyed task of a job is, less its goroutine.
type task struct {
	stage *stage
	index int
	inbox *exchange.Inbox
	op    operator
	told  stream.Time // watermark that went downstream
}

// operator is what windowed steps and joins have in common.
type operator interface {
	Process(*stream.Batch) error
	Clock(now stream.Time) error
	Freeze() state.Cut
	Restore(state.Restore) error
}

func runStage(s *spec.Scenario, v Variant) ([]spec.Entry, error) {
	g := &stage{job: &s.Job, variant: v}
	for range s.Job.InputCount() {
		g.wm, g.idle = append(g.wm, stream.MinTime), append(g.idle, false)
	}
	if err := g.open(); err != nil {
		return refused(err), nil
	}
	if err := g.clock(stream.Time(s.Job.StartProcessingTime)); err != nil {
		return nil, err
	}
	var out []spec.Entry
	at := group(s)
	var batch *stream.Batch
	for i, step := range s.Steps {
		g.entry = &spec.Entry{AfterStep: i}
		g.events = make([][]spec.Event, len(g.tasks))
		var err error
		if step.Record != nil {
			in := 0
			if step.Input != nil {
				in = *step.Input
			}
			if batch != nil && int(batch.Source) != in {
				err = g.send(batch)
				batch = nil
			}
			if batch == nil {
				batch = g.newBatch(in)
			}
			appendRecord(batch, step.Record, g.wm[in])
			if err == nil && (!v.Together || at[i] == i) {
				err = g.send(batch)
				batch = nil
			}
		} else {
			err = g.step(&step)
		}
		if err != nil {
			g.entry.Error = errorName(err)
		}
		if g.entry.Events, err = g.agreed(); err != nil {
			return nil, err
		}
		out = append(out, *g.entry)
		if g.entry.Error != "" {
			return out, nil
		}
	}
	return out, nil
}

// open makes the subtasks with empty state.
func (g *stage) open() error {
	inputs := make([]int, g.job.InputCount())
	g.tasks = nil
	var inboxes []*exchange.Inbox
	join := g.job.Kind == spec.KindIntervalJoin
	for in := range inputs {
		inputs[in] = in
	}
	for i := range g.variant.Parallelism {
		t := &task{stage: g, index: i, told: stream.MinTime}
		t.inbox = exchange.NewInbox(exchange.Config{Inputs: inputs, Separate: join, Depth: 1 << 10, Rows: 1 << 10, Pool: &g.pool})
		if err := t.open(join); err != nil {
			return err
		}
		g.tasks = append(g.tasks, t)
		inboxes = append(inboxes, t.inbox)
	}
	var key []int
	if g.job.IsKeyed() {
		key = []int{keyCol}
	}
	g.routers, g.locals = nil, nil
	for in := range inputs {
		g.routers = append(g.routers, exchange.NewRouter(in, key, 8, inboxes, &g.pool, exchange.Straight))
		if join || g.variant.Operator == General || g.variant.Trigger != nil || g.variant.Assigner != nil {
			continue
		}
		s, err := windowSpec(g.job, false)
		if err != nil {
			return err
		}
		s.HotKeys = g.variant.HotKeys
		if g.variant.Disk {
			s.Spill = noRoom()
		}
		if !window.Plan(s).Local {
			continue
		}
		l, err := window.NewLocal(s, key, false, g.tasks[0].Refused)
		if err != nil {
			return err
		}
		g.locals = append(g.locals, l)
	}
	return nil
}

// downstream is what a sender that adds up knows of its receiver.
type downstream struct {
	*exchange.Pool
	stage *stage
	input stream.SourceID
}

func (d downstream) Joined() uint64 {
	var by []*exchange.Inbox
	for _, t := range d.stage.tasks {
		by = append(by, t.inbox)
	}
	return exchange.Joined(by, int(d.input))
}

// open makes the operator of a subtask.
func (t *task) open(interval bool) (err error) {
	if interval {
		cfg := intervalConfig(t.stage.job)
		if t.stage.variant.Disk {
			cfg.Spill = noRoom()
		}
		t.op, err = join.NewInterval(cfg, pairTask{t})
		return err
	}
	s, err := windowSpec(t.stage.job, t.stage.variant.Operator == General)
	if err != nil {
		return err
	}
	if user := t.stage.variant.Assigner; user != nil {
		if err := userAssigner(t.stage.job.Window, &s, user); err != nil {
			return err
		}
	}
	if user := t.stage.variant.Trigger; user != nil {
		if err := userTrigger(t.stage.job, &s, user); err != nil {
			return err
		}
	}
	if t.stage.variant.Disk {
		s.Spill = noRoom()
	}
	if t.stage.variant.Operator == Sliced {
		if op, ok, err := window.NewSliced(s, t); ok {
			t.op = op
			return err
		}
	}
	if t.stage.variant.Operator == General {
		t.op, err = window.NewGeneral(s.GeneralConfig, t)
	} else {
		t.op, err = window.New(s, t)
	}
	return err
}

// noRoom has all state leave memory between two batches.
func noRoom() *window.Spill {
	return &window.Spill{Open: func() state.Backing { return state.NewRAM() }}
}

func (g *stage) newBatch(input int) *stream.Batch {
	b := g.pool.Get(nil)
	b.Reset(kinds)
	b.Source = stream.SourceID(input)
	b.Trailing = g.wm[input]
	return b
}

// appendRecord adds a record, which is seen at the watermark of its input.
func appendRecord(b *stream.Batch, r *spec.Record, wm stream.Time) {
	key := string(r.Key)
	b.Cols[keyCol].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(key))})
	b.Blob = append(b.Blob, key...)
	value := int64(0)
	if _, err := fmt.Sscan(r.Value.String(), &value); err != nil {
		panic("BUG: values of scenarios are integers: " + r.Value.String())
	}
	b.Cols[valueCol].AppendInt(value)
	b.Cols[gapCol].AppendInt(int64(gapOf(r)))
	ts := timeOf(r.TS)
	b.Time = append(b.Time, ts)
	b.WM = append(b.WM, wm)
	b.High = append(b.High, ts)
	b.Split = append(b.Split, stream.SplitID(b.Source))
	b.Pos = append(b.Pos, 0)
	b.Raw = append(b.Raw, stream.Str{})
	b.N++
}

// step does what is no record.
func (g *stage) step(step *spec.Step) error {
	switch {
	case step.Watermark != nil, step.Idle != nil, step.EndOfInput:
		for in := range g.wm {
			if step.Input != nil && *step.Input != in {
				continue
			}
			b := g.newBatch(in)
			switch {
			case step.Watermark != nil && g.idle[in] && g.job.Kind != spec.KindIntervalJoin:
				continue // discarded, and not remembered (S17)
			case step.Watermark != nil && g.idle[in]: // it is active again (S20)
				b.Status, g.idle[in] = stream.BecameActive, false
				g.wm[in] = max(g.wm[in], stream.Time(*step.Watermark))
			case step.Watermark != nil:
				g.wm[in] = max(g.wm[in], stream.Time(*step.Watermark)) // S6
			case step.EndOfInput:
				b.Status, g.idle[in] = stream.BecameActive, false // S13
				g.wm[in] = stream.MaxTime
			case *step.Idle:
				b.Status, g.idle[in] = stream.BecameIdle, true
			default:
				b.Status, g.idle[in] = stream.BecameActive, false
			}
			b.Trailing = g.wm[in]
			if err := g.send(b); err != nil {
				return err
			}
		}
		return nil
	case step.ProcessingTime != nil:
		return g.clock(stream.Time(*step.ProcessingTime))
	case step.CheckpointRestore:
		return g.restore()
	case step.Probe:
		g.probe()
		return nil
	}
	return unknown(g.entry.AfterStep)
}

// send routes a batch and lets the subtasks take what came of it.
func (g *stage) send(b *stream.Batch) error {
	in, batches := b.Source, []*stream.Batch{b}
	if g.locals != nil {
		var err error
		if batches, err = g.locals[in].Process(b, downstream{&g.pool, g, in}); err != nil {
			return err
		}
	}
	if err := g.routers[in].Send(context.Background(), batches...); err != nil {
		return err
	}
	for _, t := range g.tasks {
		for b := t.inbox.Poll(); b != nil; b = t.inbox.Poll() {
			if err := t.process(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *stage) clock(now stream.Time) error {
	for _, t := range g.tasks {
		if err := t.op.Clock(now); err != nil {
			return err
		}
	}
	return nil
}

// restore takes a snapshot of everything, forgets it, and puts it back.
func (g *stage) restore() error {
	type cut struct {
		inbox []byte
		op    state.Pieces
		told  stream.Time
	}
	var cuts []cut
	for _, t := range g.tasks {
		var w state.Writer
		t.inbox.Snapshot(&w)
		op, err := t.op.Freeze().Read()
		if err != nil {
			return err
		}
		cuts = append(cuts, cut{w.Buf, op, t.told})
	}
	var locals []window.LocalCut
	for _, l := range g.locals {
		locals = append(locals, l.Freeze())
	}
	if err := g.open(); err != nil {
		return err
	}
	for i, l := range g.locals {
		if err := l.Restore([][]byte{locals[i].Sender}, true, locals[i].Splits); err != nil {
			return err
		}
	}
	for i, t := range g.tasks {
		if err := t.inbox.Restore(cuts[i].inbox); err != nil {
			return err
		}
		if err := t.op.Restore(cuts[i].op.AsItWas()); err != nil {
			return err
		}
		t.told = cuts[i].told
	}
	return nil
}

// probe reports the panes.
func (g *stage) probe() {
	s := &spec.State{}
	for _, t := range g.tasks {
		switch op := t.op.(type) {
		case window.Operator:
			op.Each(func(key []byte, w stream.Window) {
				s.Panes = append(s.Panes, spec.Pane{Key: g.keyOf(key), Window: span(w)})
			})
		case *join.Interval:
			op.Each(func(side uint8, _ []byte, t stream.Time) {
				if side == 0 {
					s.Left = append(s.Left, int64(t))
				} else {
					s.Right = append(s.Right, int64(t))
				}
			})
		}
	}
	for _, l := range g.locals {
		l.Each(func(key []byte, w stream.Window) {
			s.Panes = append(s.Panes, spec.Pane{Key: g.keyOf(key), Window: span(w)})
		})
	}
	slices.Sort(s.Left)
	slices.Sort(s.Right)
	slices.SortFunc(s.Panes, func(a, b spec.Pane) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Window.Start, b.Window.Start))
	})
	s.Panes = slices.CompactFunc(s.Panes, func(a, b spec.Pane) bool { return a.Key == b.Key && a.Window == b.Window })
	g.entry.State = s
}

// keyOf is the key of a scenario: its JSON is the engine's key text.
func (g *stage) keyOf(key []byte) spec.Value {
	if !g.job.IsKeyed() {
		return spec.Null
	}
	return spec.Value(key)
}

// agreed returns what went downstream: the same from every subtask.
func (g *stage) agreed() ([]spec.Event, error) {
	text := func(es []spec.Event) string {
		var b strings.Builder
		for _, e := range es {
			if e.Watermark != nil {
				fmt.Fprintf(&b, "%d ", *e.Watermark)
			}
			b.WriteString(e.Status)
		}
		return b.String()
	}
	for _, es := range g.events {
		if text(es) != text(g.events[0]) {
			return nil, fmt.Errorf("step %d: subtasks sent different watermarks downstream", g.entry.AfterStep)
		}
	}
	return g.events[0], nil
}

// process is a keyed task's work on a batch: the operator, then time and status go on.
func (t *task) process(b *stream.Batch) error {
	g := t.stage
	if b.Status == stream.BecameActive {
		g.events[t.index] = append(g.events[t.index], spec.Event{Status: spec.StatusActive})
	}
	if err := t.op.Process(b); err != nil {
		return err
	}
	if b.Trailing > t.told {
		t.told = b.Trailing
		wm := int64(b.Trailing)
		g.events[t.index] = append(g.events[t.index], spec.Event{Watermark: &wm})
	}
	if b.Status == stream.BecameIdle {
		g.events[t.index] = append(g.events[t.index], spec.Event{Status: spec.StatusIdle})
	}
	g.pool.Put(b)
	return nil
}

// Rows notes result rows (window.Output).
func (t *task) Rows(r *result.Rows) error {
	g := t.stage
	for i := range r.N {
		row := spec.Result{Key: spec.Null, Window: span(r.Window[i]), TS: int64(r.Window[i].MaxTimestamp())}
		if g.job.IsKeyed() {
			row.Key = spec.Value(r.Key.Cols[0].Strs[i].Bytes(r.Key.Blob))
		}
		row.Value = value(r, i)
		g.entry.Out = append(g.entry.Out, row)
	}
	return nil
}

// value returns the value of a row: a list where it has several columns, as an average
// or a pair has.
func value(r *result.Rows, i int) spec.Value {
	var vs []spec.Value
	for n := range r.Values {
		for _, c := range r.Values[n].Cols {
			switch {
			case c.Null(i):
				vs = append(vs, spec.Null)
			case c.Kind == stream.String:
				vs = append(vs, spec.Value(c.Strs[i].Bytes(r.Values[n].Blob)))
			default:
				vs = append(vs, spec.Int(c.Ints[i]))
			}
		}
	}
	if len(vs) > 1 {
		return spec.List(vs...)
	}
	return vs[0]
}

// Late notes a late record.
func (t *task) Late(b *stream.Batch, i int, _ stream.Window, _ stream.Time) error {
	e := t.stage.entry
	if !t.stage.job.LateOutput || t.stage.job.Kind != spec.KindWindow {
		e.Dropped++ // joins have no late output (S115)
		return nil
	}
	e.Late = append(e.Late, lateRecord(b, i))
	return nil
}

func lateRecord(b *stream.Batch, i int) spec.Late {
	return spec.Late{Key: spec.Value(b.Cols[keyCol].Strs[i].Bytes(b.Blob)), Value: spec.Int(b.Cols[valueCol].Ints[i]), TS: int64(b.Time[i])}
}

func (t *task) Refused(_ *stream.Batch, _ int, _ stream.Window, f *udf.Failure) error { return f }
func (t *task) RefusedPane(_ []byte, _ stream.Window, f *udf.Failure) error           { return f }

var _ window.Output = (*task)(nil)
