package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"tidemark/engine/agg"
	"tidemark/engine/commit"
	"tidemark/engine/exchange"
	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/source"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
	"tidemark/internal/fault"
)

// stepSpec is what all subtasks of a step share. It does not change.
type stepSpec struct {
	*job.Step
	number  stream.SourceID
	fields  []stream.Field // of the records that reach its window
	keyCols [][]int        // for each input: the columns of the key
	key     []stream.Field
	names   []string         // of its aggregates
	outputs [][]stream.Field // of each
	order   []int            // where the operator has the result of each; nil: in order
	before  *statelessSpec   // what it does to records first; nil: nothing
	join    *joinSpec        // nil: no join
	sides   []sideSpec       // side outputs of its process function

	// Of its senders, which do some of its work where the plan says so (P4): records that
	// they have added up, and that a function has refused.
	adds           bool
	added, refused atomic.Int64
}

// plan turns the graph into tasks: the logical operators into subtasks, the edges into
// inboxes and routers.
func (j *Job) plan(ctx context.Context) error {
	for i := range j.graph.Sources {
		if err := j.planSource(ctx, i); err != nil {
			return err
		}
	}
	for i := range j.graph.Steps {
		if err := j.planStep(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// planSinks makes the tasks of the sinks, which openSinks opens.
func (j *Job) planSinks() (err error) {
	var sinks []commit.Sink
	for i := range j.graph.Sinks { // none of those that there are is transactional
		sinks = append(sinks, commit.Sink{ID: j.graph.Sinks[i].ID})
	}
	if j.epochsOf, err = commit.NewPlan(sinks); err != nil {
		return err
	}
	for i := range j.graph.Sinks {
		j.sinks = append(j.sinks, newSinkTask(&j.graph.Sinks[i]))
	}
	return nil
}

// openSinks opens the targets: last, since that changes something. Files are made, and those
// of a job that goes on from a checkpoint are cut back to it, or shown where it has decided so.
func (j *Job) openSinks(ctx context.Context) error {
	for _, t := range j.sinks {
		from, rows, err := j.restored.sinkState(ctx, t.spec.ID)
		if err != nil {
			return fmt.Errorf("restore sink %s: %w", t.spec.ID, err)
		}
		if t.sink, err = j.openSink(t.spec, from); err != nil {
			return err
		}
		t.rows.Store(rows)
		t.barrier.epoch = from.Epoch
	}
	return nil
}

// planSource makes the tasks of a source. Bounded splits are dealt out over as many
// tasks as the job's parallelism; a followed source has one, since splits may appear.
func (j *Job) planSource(ctx context.Context, n int) error {
	src := &j.graph.Sources[n]
	reads, err := newSource(src, j.opts)
	if err != nil {
		return fmt.Errorf("source %s: %w", src.ID, err)
	}
	spec, err := newSourceSpec(src, stream.SourceID(n), reads)
	if err != nil {
		return err
	}
	j.sources = append(j.sources, spec)
	found, err := reads.Splits(ctx)
	if err != nil {
		return fmt.Errorf("source %s: %w", src.ID, err)
	}
	if src.Watermark.MarkerForAll && j.graph.Settings.OrderReplay && len(found) > 1 {
		return fault.Userf("source %s: for_all: the source has %d files, and in an ordered replay each is read when it is its turn in event time, so that a marker of one cannot speak for the others; "+
			"give each file markers of its own, or read one file", src.ID, len(found))
	}
	count := 1
	if src.Bounded() && !src.Watermark.MarkerForAll { // a marker for all is heard in its task
		count = max(1, min(j.graph.Parallelism, j.restored.count(src.ID, len(found))))
	}
	with, err := j.alignment(src.Watermark.Align)
	if err != nil {
		return err
	}
	totals := &badTotals{}
	tasks := make([]*sourceTask, count)
	for i := range tasks {
		tasks[i] = &sourceTask{job: j, turn: j.newTurn(ctx), spec: spec, index: i, share: share{of: j.budget}, hands: min(j.graph.Parallelism, j.opts.Env.Cores) / count, mail: exchange.NewMailbox(), pool: &exchange.Pool{},
			bad: &badOutput{to: j.portSinks(job.Port{Operator: src.ID, Name: "bad"}), totals: totals}}
		if src.Watermark.Kind == job.MarkerWatermark {
			if tasks[i].marker, err = newMarkerTest(spec); err != nil {
				return err
			}
		}
		if src.Watermark.Kind == job.PluginWatermark {
			if tasks[i].user, tasks[i].userCols, err = j.userGenerator(tasks[i].turn.of(ctx), spec); err != nil {
				return err
			}
		}
		if with != nil {
			if tasks[i].aligned, err = newAligned(with, fmt.Sprintf("%s/%d", src.ID, i)); err != nil {
				return err
			}
		}
		j.feeds = append(j.feeds, tasks[i])
	}
	out := &feed{id: src.ID, number: spec.id, fields: spec.columns()}
	for _, t := range tasks {
		out.tasks = append(out.tasks, t)
	}
	j.feedsByID[src.ID] = out
	if j.restored.knows(src.ID) {
		return j.resume(ctx, spec, tasks, found)
	}
	for i, f := range found {
		s, err := j.open(ctx, spec, f)
		if err != nil {
			return err
		}
		tasks[i%count].add(s)
	}
	return nil
}

// alignment returns the group that a source is in, nil for none. Its members agree on its
// settings, so those of the first count.
func (j *Job) alignment(a *job.Align) (*alignment, error) {
	if a == nil {
		return nil, nil
	}
	if g := j.alignments[a.Group]; g != nil {
		return g, nil
	}
	g, err := newAlignment(a)
	if err != nil {
		return nil, err
	}
	j.alignments[a.Group] = g
	return g, nil
}

// open numbers and opens a split.
func (j *Job) open(ctx context.Context, spec *sourceSpec, f source.Split) (*split, error) {
	return spec.open(ctx, j.newSplit(spec.ID, f.ID), f, stream.Time(j.opts.FirstStart.UnixMilli()))
}

// planStep makes the subtasks of a step and joins them to the tasks that feed it. A step
// without a window has no tasks: it runs on the edges of those that read it.
func (j *Job) planStep(ctx context.Context, n int) error {
	st := &j.graph.Steps[n]
	if st.Join != nil {
		return j.planJoin(ctx, n)
	}
	var inputs []*feed
	var before *statelessSpec
	for i, from := range st.From {
		f := j.feedOf(from)
		if i == 0 { // the inputs of a union have the same fields
			var err error
			if before, err = newStateless(st, f.fields, !st.Windowed()); err != nil {
				return err
			}
		}
		inputs = append(inputs, f.through(before))
	}
	if before != nil {
		j.stateless[st.ID] = before
	}
	if !st.Windowed() {
		return j.planPass(ctx, st, inputs)
	}
	spec := &stepSpec{Step: st, number: stream.SourceID(len(j.graph.Sources) + n), fields: inputs[0].fields, before: before}
	var cols []int
	for _, name := range st.Key {
		c := column(spec.fields, name)
		cols = append(cols, c)
		spec.key = append(spec.key, spec.fields[c])
	}
	for range inputs { // of a union, with the same fields
		spec.keyCols = append(spec.keyCols, cols)
	}
	j.steps = append(j.steps, spec)
	return j.planTasks(ctx, spec, inputs)
}

// planPass lets a step without a window be read, by others and by its sinks.
func (j *Job) planPass(ctx context.Context, st *job.Step, inputs []*feed) error {
	out := &feed{id: st.ID, number: inputs[0].number, fields: inputs[0].fields, chain: inputs[0].chain}
	for _, in := range inputs {
		if len(inputs) > 1 && len(in.chain) > 1 {
			return fault.Userf("step %s: a union without a window of steps without a window is not run by this version; give the window's step the union", st.ID)
		}
		out.tasks = append(out.tasks, in.tasks...)
	}
	j.feedsByID[st.ID] = out
	ports := j.portSinks(job.Port{Operator: st.ID})
	if len(ports) == 0 {
		return nil
	}
	for _, t := range out.tasks {
		e, err := j.newEdge(ctx, out.chain, t, st.ID)
		if err != nil {
			return err
		}
		e.sinks = j.portSinks(job.Port{Operator: st.ID})
		e.records = result.NewPassEncoder(j.graph.Name, st.ID, out.fields, j.splitName)
		t.addEdge(e)
	}
	return nil
}

// planTasks makes the subtasks of a windowed step or a join, and the edges to them.
func (j *Job) planTasks(ctx context.Context, spec *stepSpec, inputs []*feed) error {
	var senders []sender
	var numbers []int
	for i, in := range inputs {
		for _, t := range in.tasks {
			senders, numbers = append(senders, t), append(numbers, i)
		}
	}
	out := &feed{id: spec.ID, number: spec.number}
	split, known := j.restored.step(spec.ID)
	if !known {
		split = j.newSplit(spec.ID, spec.ID)
	}
	var inboxes []*exchange.Inbox
	for number := range spec.Parallelism {
		// Batches go back to the task that feeds the step; with several, to the first: a
		// pool is only a store of memory.
		pool := senders[0].store()
		t := &keyedTask{job: j, turn: j.newTurn(ctx), step: spec, number: number, pool: pool, drained: stream.MaxTime, share: share{of: j.budget}, inbox: exchange.NewInbox(exchange.Config{Inputs: numbers, Separate: !spec.Windowed(), Ordered: j.graph.Settings.OrderReplay,
			Depth: j.graph.Settings.QueueDepth, Rows: j.graph.Settings.BatchRows, Pool: pool})}
		if err := t.build(ctx); err != nil {
			return fmt.Errorf("step %s: %w", spec.ID, err)
		}
		out.fields = spec.resultFields()
		t.out = newForward(spec.number, split, kindsOf(out.fields), j.graph.Settings.OrderReplay)
		j.keyed = append(j.keyed, t)
		out.tasks = append(out.tasks, t)
		inboxes = append(inboxes, t.inbox)
	}
	j.feedsByID[spec.ID] = out
	spec.adds = spec.Windowed() && PlanOf(j.graph, spec.Step).Local
	n := 0
	for i, in := range inputs {
		for _, t := range in.tasks {
			e, err := j.newEdge(ctx, in.chain, t, fmt.Sprintf("%s#%d", spec.ID, i))
			if err != nil {
				return err
			}
			t.addEdge(e)
			e.router = exchange.NewRouter(n, spec.keyCols[i], j.graph.MaxParallelism, inboxes, t.store(), t.cpu().rest)
			if spec.adds {
				if e.local, err = j.newLocal(ctx, spec, n, spec.keyCols[i], e, inboxes); err != nil {
					return err
				}
			}
			n++
		}
	}
	return nil
}

// resultFields are the fields that a step's results have for those that read them.
func (s *stepSpec) resultFields() []stream.Field {
	fields := slices.Clone(s.key)
	for i, outs := range s.outputs {
		for _, o := range outs {
			name := s.names[i]
			if len(outs) > 1 || s.pairs() {
				name += "." + o.Name
			}
			fields = append(fields, stream.Field{Name: name, Kind: o.Kind})
		}
	}
	if !s.Windowed() {
		return fields
	}
	return append(fields, stream.Field{Name: "window_start", Kind: stream.Timestamp}, stream.Field{Name: "window_end", Kind: stream.Timestamp})
}

// pairs reports whether the values of the results are pairs of records.
func (s *stepSpec) pairs() bool { return s.join != nil && s.join.pairs }

func kindsOf(fields []stream.Field) []stream.Kind {
	kinds := make([]stream.Kind, len(fields))
	for i, f := range fields {
		kinds[i] = f.Kind
	}
	return kinds
}

// build makes the operator of a subtask and its ways out.
func (t *keyedTask) build(ctx context.Context) error {
	st := t.step
	if err := t.open(ctx); err != nil {
		return err
	}
	t.results = t.job.portSinks(job.Port{Operator: st.ID})
	t.late = t.job.portSinks(job.Port{Operator: st.ID, Name: "late"})
	t.refusals = t.job.newRefusals(st)
	t.openSides()
	t.line = t.encoder(result.RFC3339)
	for _, p := range t.results {
		t.encoders = append(t.encoders, t.encoder(p.format))
	}
	t.records = map[result.TimeFormat]*result.RecordEncoder{}
	for _, p := range t.late {
		t.records[p.format] = result.NewRecordEncoder(t.job.origin(), st.ID, st.key, p.format)
	}
	return nil
}

// open makes the operator.
func (t *keyedTask) open(ctx context.Context) error {
	st := t.step
	ctx = t.turn.of(ctx)
	if !st.Windowed() {
		op, err := st.join.interval(ctx, t.job, st, &pairTask{keyedTask: t})
		t.op = interval{op}
		return err
	}
	spec, err := t.job.windowSpec(ctx, st)
	if err != nil {
		return err
	}
	op, err := window.New(spec, t)
	if err != nil {
		return errors.Join(err, closeFunctions(&spec))
	}
	t.op, t.clocked = windows{Operator: op}, usesClock(st.Step)
	if spec.Guard != nil {
		t.op = windows{op, spec.Guard.Breaker}
	}
	return nil
}

// encoder makes an encoder of the step's results.
func (t *keyedTask) encoder(f result.TimeFormat) *result.Encoder {
	st := t.step
	if st.pairs() {
		return result.NewPairEncoder(t.job.graph.Name, st.ID, st.key, st.outputs[0], st.outputs[1], t.job.splitName, f)
	}
	e := result.NewEncoder(t.job.graph.Name, st.ID, st.key, st.names, st.outputs, f)
	e.NamePairs(t.job.splitName)
	return e
}

// closeFunctions closes the functions of a step that no operator owns.
func closeFunctions(s *window.Spec) error {
	var errs []error
	for _, f := range s.Functions {
		errs = append(errs, f.Agg.Close())
	}
	if s.Process != nil {
		errs = append(errs, s.Process.Fn.Close())
	}
	if s.Table != nil {
		errs = append(errs, s.Table.Close())
	}
	return errors.Join(append(errs, closeUserCode(s))...)
}

// function makes an instance of an aggregate for one subtask.
func (j *Job) function(ctx context.Context, st *stepSpec, a *job.Aggregate) (window.Function, error) {
	f := window.Function{Name: a.Name}
	var kinds []stream.Kind
	for _, c := range a.Columns {
		n := column(st.fields, c.Field)
		f.Cols = append(f.Cols, n)
		kinds = append(kinds, st.fields[n].Kind)
	}
	var err error
	f.Agg, err = j.instance(ctx, a, kinds)
	return f, err
}

func (j *Job) instance(ctx context.Context, a *job.Aggregate, kinds []stream.Kind) (udf.Aggregate, error) {
	if a.Plugin == "" {
		return agg.New(a.Function, kinds, a.Args...)
	}
	return j.opts.Plugins.Aggregate(ctx, j.plugin(a.Plugin), a, kinds)
}

func (j *Job) plugin(name string) *job.Plugin {
	for i := range j.graph.Plugins {
		if p := &j.graph.Plugins[i]; p.Name == name {
			return p
		}
	}
	panic("BUG: plug-in " + name + " is not declared")
}

// portSinks returns the ways from one task to the sinks of a port.
func (j *Job) portSinks(p job.Port) []portSink {
	var out []portSink
	for _, s := range j.sinks {
		if s.spec.From != p {
			continue
		}
		f := result.RFC3339
		if s.spec.TimeFormat == job.TimeMillis {
			f = result.Millis
		}
		out = append(out, portSink{task: s, number: s.barrier.join(), format: f})
	}
	return out
}

// origin names the places that records come from: sources, and steps whose results
// others read.
func (j *Job) origin() result.Origin {
	o := result.Origin{Split: j.splitName}
	for i := range j.graph.Sources {
		o.Sources = append(o.Sources, j.graph.Sources[i].ID)
		o.JSON = append(o.JSON, j.graph.Sources[i].Format.Kind == job.JSON)
	}
	for i := range j.graph.Steps {
		o.Sources = append(o.Sources, j.graph.Steps[i].ID)
		o.JSON = append(o.JSON, true)
	}
	return o
}
