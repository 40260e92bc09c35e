package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/breaker"
	"tidemark/engine/job"
	"tidemark/engine/join"
	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
)

// joinSpec is what a step that joins has beside other steps.
type joinSpec struct {
	taken [2][]stream.Field // of either side: what the result holds
	cols  [2][]int          // of taken: columns of the records that the operator sees
	// order has, for a window join, the columns of either side's batches with those that
	// the step needs first, and kept is their number: windows keep whole records, so they
	// are given no more than that, and what both sides must have stands at one place.
	order [2][]int
	kept  [2]int
	// pairs: values are two records: neither lists nor what a pair function makes.
	pairs bool
}

// sideNames are what a result and a report call the inputs of a join.
func sideNames() []string { return []string{"left", "right"} }

// planJoin makes the subtasks of a join.
func (j *Job) planJoin(ctx context.Context, n int) error {
	st := &j.graph.Steps[n]
	inputs := []*feed{j.feedOf(st.From[0]), j.feedOf(st.From[1])}
	spec := &stepSpec{Step: st, number: stream.SourceID(len(j.graph.Sources) + n), join: newJoinSpec(st, inputs)}
	for side, names := range [2][]string{st.Join.LeftKey, st.Join.RightKey} {
		var cols []int
		for _, name := range names {
			cols = append(cols, column(inputs[side].fields, name))
		}
		spec.keyCols = append(spec.keyCols, cols)
	}
	for i, name := range st.Key {
		spec.key = append(spec.key, stream.Field{Name: name, Kind: inputs[0].fields[spec.keyCols[0][i]].Kind})
	}
	for _, c := range spec.join.order[0][:spec.join.kept[0]] {
		spec.fields = append(spec.fields, inputs[0].fields[c])
	}
	j.steps = append(j.steps, spec)
	return j.planTasks(ctx, spec, inputs)
}

func newJoinSpec(st *job.Step, inputs []*feed) *joinSpec {
	s := &joinSpec{pairs: st.Join.Kind != job.CoGroupJoin && st.Apply == nil}
	for side, names := range [2][]string{st.Join.Left, st.Join.Right} {
		fields := inputs[side].fields
		var order []int
		need := func(name string) int {
			c := column(fields, name)
			if !slices.Contains(order, c) {
				order = append(order, c)
			}
			return slices.Index(order, c)
		}
		if st.Windowed() && st.Window.GapField != "" {
			need(st.Window.GapField) // first on both sides
		}
		if st.Windowed() {
			for _, c := range st.Window.Columns { // likewise
				need(c.Field)
			}
		}
		for _, name := range names {
			c := column(fields, name)
			s.taken[side] = append(s.taken[side], fields[c])
			if st.Windowed() {
				c = need(name)
			}
			s.cols[side] = append(s.cols[side], c)
		}
		s.kept[side] = len(order)
		for c := range fields {
			if !slices.Contains(order, c) {
				order = append(order, c)
			}
		}
		s.order[side] = order
	}
	return s
}

// arrange gives a batch the columns that a window join needs, in its order. No value is
// moved.
func (s *joinSpec) arrange(b *stream.Batch) {
	if b.N == 0 {
		return
	}
	was := append([]stream.Column(nil), b.Cols...)
	for i, c := range s.order[b.Input] {
		b.Cols[i] = was[c]
	}
	b.Cols = b.Cols[:s.kept[b.Input]]
}

// functions gives a window join its function.
func (s *joinSpec) functions(ctx context.Context, j *Job, st *stepSpec, w *window.Spec) error {
	w.Join = true
	if st.Process != nil { // it looks at both sides itself
		st.names, st.outputs = nil, nil
		return nil
	}
	if st.Join.Kind != job.CoGroupJoin {
		fn, err := s.pair(ctx, j, st)
		if err == nil {
			w.Table = join.NewProduct(fn, s.cols[0], s.cols[1])
		}
		return err
	}
	st.names, st.outputs = sideNames(), nil
	for side, name := range sideNames() {
		f := window.WholeFunction{Name: name, Fn: join.NewList(side, s.taken[side]), Cols: s.cols[side]}
		w.Whole = append(w.Whole, f)
		st.outputs = append(st.outputs, f.Fn.Outputs())
	}
	return nil
}

// pair makes the function of a join of pairs: the job's, or the one that gives both
// records as they are.
func (s *joinSpec) pair(ctx context.Context, j *Job, st *stepSpec) (udf.Pair, error) {
	if st.Apply == nil {
		st.names, st.outputs = sideNames(), [][]stream.Field{s.taken[0], s.taken[1]}
		return join.NewIdentity(s.taken[0], s.taken[1]), nil
	}
	st.names, st.outputs = valueFields(st.Apply.Outputs)
	fn, err := j.opts.Plugins.Pair(ctx, j.plugin(st.Apply.Plugin), st.Apply, kindsOf(s.taken[0]), kindsOf(s.taken[1]))
	if err != nil {
		return nil, fmt.Errorf("pair function: %w", err)
	}
	return fn, nil
}

// interval makes the operator of an interval join.
func (s *joinSpec) interval(ctx context.Context, j *Job, st *stepSpec, out join.Output) (*join.Interval, error) {
	fn, err := s.pair(ctx, j, st)
	if err != nil {
		return nil, err
	}
	in, plugin := st.Join, ""
	if st.Apply != nil {
		plugin = st.Apply.Plugin
	}
	op, err := join.NewInterval(join.IntervalConfig{
		Lower: ms(in.Lower), Upper: ms(in.Upper), LowerInclusive: !in.LowerExclusive, UpperInclusive: !in.UpperExclusive,
		Key: st.key, DropNullKey: st.NullKey == job.Drop,
		Pair: fn, LeftCols: s.cols[0], RightCols: s.cols[1],
		Breaker: newBreaker(st.Step), Plugin: plugin, Groups: j.graph.MaxParallelism, Spill: j.spill.of(st.ID),
	}, out)
	if err != nil {
		return nil, errors.Join(err, fn.Close())
	}
	return op, nil
}

// valuesOf makes the tables of the values of a row: those of both records, or of each column
// that a function makes.
func (t *keyedTask) valuesOf(c *stream.Columns) []stream.Columns {
	if t.step.pairs() {
		return t.step.join.split(c)
	}
	t.values = spread(t.values, c)
	return t.values
}

// split makes two tables of the columns of pairs: those of the left record, and those of
// the right one.
func (s *joinSpec) split(c *stream.Columns) []stream.Columns {
	n := len(s.taken[0])
	return []stream.Columns{{N: c.N, Cols: c.Cols[:n], Blob: c.Blob}, {N: c.N, Cols: c.Cols[n:], Blob: c.Blob}}
}

// operator is what a keyed task runs: windows, or an interval join. See window.Operator.
type operator interface {
	Process(b *stream.Batch) error
	Clock(now stream.Time) error
	Stamp(now stream.Time)
	Watermark() stream.Time
	Freeze() state.Cut
	Restore(state.Restore) error
	Close() error
	Bytes() int64
	Weigh(f func(key []byte, w stream.Window, bytes int64))
	// onDisk is what of the state is there, in bytes, and not in Bytes.
	onDisk() int64
	// held counts what is kept: panes, or records.
	held() int64
	// disabled lists the plug-ins that are disabled in some key groups.
	disabled() []breaker.Disabled
	// ledgers accounts for the records of the inputs, which have these names.
	ledgers(from []string) []Ledger
}

// windows is a windowed step: its inputs are one stream to it.
type windows struct {
	window.Operator
	breaker *breaker.Breaker
}

func (w windows) disabled() []breaker.Disabled { return w.breaker.Disabled() }

func (w windows) held() int64 { return w.Panes() }

func (w windows) onDisk() int64 { return w.Spilled().Bytes }

func (w windows) ledgers(from []string) []Ledger {
	l := w.Ledger()
	return []Ledger{{Source: strings.Join(from, sourceSep), Filtered: l.Filtered, Failed: l.Failed, Late: l.Late, NoWindow: l.NoWindow, Counted: l.Counted,
		Open: l.Open, Fired: l.Fired, Unfired: l.Unfired, Behind: l.Behind, LateAccepted: l.LateAccepted, Partials: l.Partials, InPartials: l.InPartials}}
}

// interval is an interval join. It has no clock.
type interval struct{ *join.Interval }

func (j interval) disabled() []breaker.Disabled { return j.Disabled() }

func (interval) Stamp(stream.Time) {}

func (j interval) onDisk() int64 { return j.Spilled().Bytes }

func (j interval) held() int64 { return j.Buffered() }

func (j interval) ledgers(from []string) []Ledger {
	var out []Ledger
	for side, name := range sideNames() {
		l := j.Ledger(uint8(side))
		out = append(out, Ledger{Source: from[side], Side: name, Filtered: l.Filtered, Late: l.Late, Counted: l.Counted,
			Open: l.Open, Fired: l.Fired, Unfired: l.Unfired, Behind: l.Behind})
	}
	return out
}

// pairTask is a keyed task as the output of an interval join.
type pairTask struct {
	*keyedTask
	rows result.Rows
}

// Pairs writes pairs as result rows (join.Output).
func (t *pairTask) Pairs(p *join.Rows) error {
	r := &t.rows
	*r = result.Rows{N: p.N, Key: p.Key, Values: t.valuesOf(p.Values), Before: p.WM, Pairs: &result.Pairs{Time: p.Time},
		Window: r.Window[:0], Kind: r.Kind[:0], Revision: r.Revision[:0], SinceLast: r.SinceLast[:0], Replaces: r.Replaces[:0], Ordinal: r.Ordinal[:0], Of: r.Of[:0]}
	for i := range p.N {
		r.Window, r.Kind, r.Revision = append(r.Window, stream.Global), append(r.Kind, result.NoKind), append(r.Revision, 0)
		r.SinceLast, r.Replaces = append(r.SinceLast, false), append(r.Replaces, nil)
		r.Ordinal, r.Of = append(r.Ordinal, uint64(p.Ordinal[i])), append(r.Of, uint64(p.Of[i]))
		r.Pairs.Left, r.Pairs.Right = append(r.Pairs.Left, result.Place(p.Left[i])), append(r.Pairs.Right, result.Place(p.Right[i]))
	}
	return t.write(r)
}

// Late writes a record that came too late for its side.
func (t *pairTask) Late(b *stream.Batch, i int, _ uint8, wm stream.Time) error {
	return t.keyedTask.Late(b, i, stream.Global, wm)
}

// Refused applies the step's policy to a pair, by the record that made it.
func (t *pairTask) Refused(b *stream.Batch, i int, _ *udf.Pairs, _ int, f *udf.Failure) error {
	return t.keyedTask.Refused(b, i, stream.Global, f)
}

var (
	_ operator    = windows{}
	_ operator    = interval{}
	_ join.Output = (*pairTask)(nil)
)
