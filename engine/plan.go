package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/engine/agg"
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
	input   *sourceSpec
	keyCols []int
	key     []stream.Field
}

// runnable refuses what job files can say and this engine does not do, so that nothing
// is taken and then ignored. The class is fault.ErrUser.
func runnable(g *job.Graph) error {
	refuse := func(operator, id, what string) error {
		return fault.Userf("%s %s: %s not run by this version", operator, id, what)
	}
	for i := range g.Sources {
		w := &g.Sources[i].Watermark
		what := ""
		switch {
		case w.Kind == job.IngestionWatermark:
			what = "ingestion time is"
		case w.Kind != job.BoundedWatermark:
			what = "watermarks of the kind " + w.Kind + " are"
		case w.Align != nil:
			what = "alignment groups are"
		case w.WhenAllIdle != job.HoldWhenAllIdle:
			what = "when_all_idle: " + w.WhenAllIdle + " is"
		default:
			continue
		}
		return refuse("source", g.Sources[i].ID, what)
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		what := ""
		switch {
		case s.Join != nil:
			what = "joins are"
		case len(s.From) > 1:
			what = "unions are"
		case !slices.ContainsFunc(g.Sources, func(src job.Source) bool { return src.ID == s.From[0] }):
			what = "steps that read steps are"
		case s.Filter != "" || s.Derive != nil || s.Project != nil:
			what = "filter, derive and project are"
		case s.Window.Kind != job.Tumbling:
			what = s.Window.Kind + " windows are"
		case s.Window.Time != job.EventTime:
			what = "windows in processing time are"
		case s.Trigger != nil && s.Trigger.Kind != job.TriggerEventTime:
			what = "triggers of the kind " + s.Trigger.Kind + " are"
		case s.Evictor != nil:
			what = "evictors are"
		default:
			continue
		}
		return refuse("step", s.ID, what)
	}
	return nil
}

// plan turns the graph into tasks: the logical operators into subtasks, the edges into
// inboxes and routers.
func (j *Job) plan(ctx context.Context) error {
	if err := runnable(j.graph); err != nil {
		return err
	}
	for i := range j.graph.Sinks {
		s := &j.graph.Sinks[i]
		opened, err := j.openSink(s)
		if err != nil {
			return err
		}
		j.sinks = append(j.sinks, newSinkTask(s, opened))
	}
	for i := range j.graph.Sources {
		if err := j.planSource(ctx, i); err != nil {
			return err
		}
	}
	for i := range j.graph.Steps {
		if err := j.planStep(ctx, &j.graph.Steps[i]); err != nil {
			return err
		}
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
	count := 1
	if src.Bounded() {
		count = max(1, min(j.graph.Parallelism, len(found)))
	}
	totals := &badTotals{}
	tasks := make([]*sourceTask, count)
	for i := range tasks {
		tasks[i] = &sourceTask{job: j, spec: spec, index: i, mail: exchange.NewMailbox(), pool: &exchange.Pool{},
			bad: &badOutput{to: j.portSinks(job.Port{Operator: src.ID, Name: "bad"}), totals: totals}}
		j.feeds = append(j.feeds, tasks[i])
	}
	for i, f := range found {
		s, err := j.open(ctx, spec, f)
		if err != nil {
			return err
		}
		t := tasks[i%count]
		t.splits = append(t.splits, s)
	}
	return nil
}

// open numbers and opens a split.
func (j *Job) open(ctx context.Context, spec *sourceSpec, f source.Split) (*split, error) {
	return spec.open(ctx, j.newSplit(f.ID), f, stream.Time(j.opts.FirstStart.UnixMilli()))
}

// planStep makes the subtasks of a step and joins them to the tasks that feed it.
func (j *Job) planStep(ctx context.Context, st *job.Step) error {
	input := j.source(st.From[0])
	if input == nil {
		panic("BUG: step " + st.ID + " reads something that is no source")
	}
	spec := &stepSpec{Step: st, input: input}
	for _, name := range st.Key {
		c := input.column(name)
		spec.keyCols = append(spec.keyCols, c)
		spec.key = append(spec.key, stream.Field{Name: name, Kind: input.kinds[c]})
	}
	j.steps = append(j.steps, spec)
	var senders []*sourceTask
	for _, t := range j.feeds {
		if t.spec == input {
			senders = append(senders, t)
		}
	}
	inboxes := make([]*exchange.Inbox, st.Parallelism)
	for i := range inboxes {
		// Batches of a step go back to the task that feeds it; with several, to the
		// first: a pool is only a store of memory.
		pool := senders[0].pool
		inboxes[i] = exchange.NewInbox(exchange.Config{Inputs: make([]int, len(senders)), Ordered: j.graph.Settings.OrderReplay,
			Depth: j.graph.Settings.QueueDepth, Rows: j.graph.Settings.BatchRows, Pool: pool})
		t := &keyedTask{job: j, step: spec, inbox: inboxes[i], pool: pool}
		if err := t.build(ctx); err != nil {
			return fmt.Errorf("step %s: %w", st.ID, err)
		}
		j.keyed = append(j.keyed, t)
	}
	for i, s := range senders {
		s.routers = append(s.routers, exchange.NewRouter(i, spec.keyCols, j.graph.MaxParallelism, inboxes, s.pool))
	}
	return nil
}

// build makes the operator of a subtask and its ways out.
func (t *keyedTask) build(ctx context.Context) error {
	st := t.step
	var names []string
	var outputs [][]stream.Field
	var fns []window.Function
	for i := range st.Aggregates {
		a := &st.Aggregates[i]
		f, err := t.job.function(ctx, st, a)
		if err != nil {
			return errors.Join(fmt.Errorf("aggregate %s: %w", a.Name, err), closeAll(fns))
		}
		fns = append(fns, f)
		names = append(names, a.Name)
		outputs = append(outputs, f.Agg.Info().Outputs)
	}
	op, err := window.NewAligned(window.Config{
		Size: stream.Time(st.Window.Size.Milliseconds()), Offset: stream.Time(st.Window.Offset.Milliseconds()),
		Lateness: stream.Time(st.AllowedLateness.Milliseconds()), Key: st.key, DropNullKey: st.NullKey == job.Drop,
		Functions: fns, Groups: t.job.graph.MaxParallelism,
	}, t)
	if err != nil {
		return errors.Join(err, closeAll(fns))
	}
	t.op = op
	t.results = t.job.portSinks(job.Port{Operator: st.ID})
	t.late = t.job.portSinks(job.Port{Operator: st.ID, Name: "late"})
	t.failed = t.job.portSinks(job.Port{Operator: st.ID, Name: "failed"})
	for _, p := range t.results {
		t.encoders = append(t.encoders, result.NewEncoder(t.job.graph.Name, st.ID, st.key, names, outputs, p.format))
	}
	t.records = map[result.TimeFormat]*result.RecordEncoder{}
	for _, p := range slices.Concat(t.late, t.failed) {
		t.records[p.format] = result.NewRecordEncoder(t.job.origin(), st.ID, st.key, p.format)
	}
	return nil
}

// closeAll closes functions that no operator owns.
func closeAll(fns []window.Function) error {
	var errs []error
	for _, f := range fns {
		errs = append(errs, f.Agg.Close())
	}
	return errors.Join(errs...)
}

// function makes an instance of an aggregate for one subtask.
func (j *Job) function(ctx context.Context, st *stepSpec, a *job.Aggregate) (window.Function, error) {
	f := window.Function{Name: a.Name}
	var kinds []stream.Kind
	for _, c := range a.Columns {
		n := st.input.column(c.Field)
		f.Cols = append(f.Cols, n)
		kinds = append(kinds, st.input.kinds[n])
	}
	var err error
	f.Agg, err = j.instance(ctx, a, kinds)
	return f, err
}

func (j *Job) instance(ctx context.Context, a *job.Aggregate, kinds []stream.Kind) (udf.Aggregate, error) {
	if a.Plugin == "" {
		return agg.New(a.Function, kinds, a.Args...)
	}
	for i := range j.graph.Plugins {
		if p := &j.graph.Plugins[i]; p.Name == a.Plugin {
			return j.opts.Plugins.Aggregate(ctx, p, a, kinds)
		}
	}
	panic("BUG: plug-in " + a.Plugin + " is not declared")
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
		out = append(out, portSink{task: s, format: f})
	}
	return out
}

func (j *Job) source(id string) *sourceSpec {
	for _, s := range j.sources {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// column returns the number of a field of the schema. The job was checked: it is there.
func (s *sourceSpec) column(field string) int {
	return slices.IndexFunc(s.Schema, func(f job.Field) bool { return f.Name == field })
}

// origin names the places that records come from.
func (j *Job) origin() result.Origin {
	o := result.Origin{Split: j.splitName}
	for _, s := range j.sources {
		o.Sources = append(o.Sources, s.ID)
		o.JSON = append(o.JSON, s.Format.Kind == job.JSON)
	}
	return o
}
