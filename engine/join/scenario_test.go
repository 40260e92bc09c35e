package join_test

import (
	"errors"
	"fmt"
	"testing"

	"tidemark/engine/join"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/watermark"
	"tidemark/internal/fault"
	"tidemark/internal/naive"
	"tidemark/spec"
)

var fields = []stream.Field{{Name: "key", Kind: stream.String}, {Name: "value", Kind: stream.String}}

// runner drives a join through a scenario. Records, with the watermarks between them,
// are gathered to batches of one side; whose step a result belongs to can be told from
// the places of its records, which are the numbers of their steps.
type runner struct {
	t       *testing.T
	cfg     join.IntervalConfig
	op      *join.Interval
	lateOut bool
	size    int // rows of a batch, at most
	wm      *watermark.Min
	b       *stream.Batch
	last    int // step of the last record
	entries map[int]*spec.Entry
}

func config(j *spec.Job) join.IntervalConfig {
	return join.IntervalConfig{Lower: stream.Time(j.LowerMS), Upper: stream.Time(j.UpperMS),
		LowerInclusive: j.LowerInclusive == nil || *j.LowerInclusive, UpperInclusive: j.UpperInclusive == nil || *j.UpperInclusive,
		Key: fields[:1], Pair: join.NewIdentity(fields[1:], fields[1:]), LeftCols: []int{1}, RightCols: []int{1}}
}

// run returns what a scenario produces, with all state in memory or, between batches, none.
func run(t *testing.T, s *spec.Scenario, size int, onDisk bool) []spec.Entry {
	cfg := config(&s.Job)
	if onDisk {
		cfg.Spill = &state.Spill{Open: func() state.Backing { return state.NewRAM() }}
	}
	r := &runner{t: t, cfg: cfg, lateOut: s.Job.LateOutput, size: size, wm: watermark.NewMin(2), entries: map[int]*spec.Entry{}}
	var err error
	if r.op, err = join.NewInterval(r.cfg, r); err != nil {
		if !errors.Is(err, fault.ErrUser) {
			t.Fatal(err)
		}
		return []spec.Entry{{AfterStep: spec.ConfigStep, Error: spec.ErrInvalidConfig}}
	}
	for i := range s.Steps {
		if err = r.step(i, &s.Steps[i]); err != nil {
			break
		}
	}
	if err == nil {
		err = r.flush()
	}
	switch {
	case errors.Is(err, join.ErrNoTimestamp):
		r.entry(r.last).Error = spec.ErrMissingTimestamp
	case err != nil:
		t.Fatal(err)
	}
	for side := range uint8(2) {
		if l := r.op.Ledger(side); l.Counted != l.Open+l.Fired+l.Unfired {
			t.Errorf("side %d: the ledger does not balance: %+v", side, l)
		}
	}
	var out []spec.Entry
	for _, e := range r.entries {
		out = append(out, *e)
	}
	return out
}

func (r *runner) entry(step int) *spec.Entry {
	if r.entries[step] == nil {
		r.entries[step] = &spec.Entry{AfterStep: step}
	}
	return r.entries[step]
}

func (r *runner) step(n int, st *spec.Step) error {
	inputs := []int{0, 1}
	if st.Input != nil {
		inputs = []int{*st.Input}
	}
	switch {
	case st.Record != nil:
		return r.record(n, inputs[0], st.Record)
	case st.Watermark != nil:
		for _, i := range inputs {
			r.wm.Watermark(i, stream.Time(*st.Watermark))
		}
	case st.Idle != nil:
		for _, i := range inputs {
			r.wm.SetIdle(i, *st.Idle)
		}
	case st.EndOfInput:
		for _, i := range inputs {
			r.wm.Watermark(i, stream.MaxTime)
		}
	case st.CheckpointRestore:
		if err := r.flush(); err != nil {
			return err
		}
		cut := cutOf(r.op)
		op, err := join.NewInterval(r.cfg, r)
		if err != nil {
			return err
		}
		r.op = op
		return op.Restore(cut.AsItWas())
	case st.Probe:
		if err := r.flush(); err != nil {
			return err
		}
		kept := &spec.State{}
		r.op.Each(func(side uint8, _ []byte, t stream.Time) {
			if side == 0 {
				kept.Left = append(kept.Left, int64(t))
			} else {
				kept.Right = append(kept.Right, int64(t))
			}
		})
		if n := int64(len(kept.Left) + len(kept.Right)); n != r.op.Buffered() {
			r.t.Errorf("step %d: %d records are kept, but %d are counted", n, n, r.op.Buffered())
		}
		r.entry(n).State = kept
	default:
		r.t.Fatalf("step %d is of no kind this test knows", n)
	}
	return nil
}

func (r *runner) record(n, side int, rec *spec.Record) error {
	if r.b != nil && (r.b.Input != uint8(side) || r.b.N == r.size) {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if r.b == nil {
		r.b = newBatch(side)
	}
	r.last = n
	ts := stream.MinTime
	if rec.TS != nil {
		ts = stream.Time(*rec.TS)
	}
	appendRecord(r.b, ts, r.wm.Out(), int64(n), rec.Key.String(), rec.Value.String())
	if r.size == 1 {
		return r.flush()
	}
	return nil
}

func newBatch(side int) *stream.Batch {
	b := new(stream.Batch)
	b.Reset([]stream.Kind{stream.String, stream.String})
	b.Input = uint8(side)
	return b
}

func appendRecord(b *stream.Batch, ts, wm stream.Time, pos int64, texts ...string) {
	for c, text := range texts {
		b.Cols[c].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
		b.Blob = append(b.Blob, text...)
	}
	b.Time, b.WM, b.High = append(b.Time, ts), append(b.WM, wm), append(b.High, ts)
	b.Split, b.Pos, b.Raw = append(b.Split, 0), append(b.Pos, pos), append(b.Raw, stream.Str{})
	b.N++
}

// flush sends what is gathered, with the watermark as of now behind it.
func (r *runner) flush() error {
	b := r.b
	if r.b = nil; b == nil {
		b = newBatch(0)
	}
	b.Trailing = r.wm.Out()
	b.SetKeys([]int{0})
	return r.op.Process(b)
}

func (r *runner) Pairs(rows *join.Rows) error {
	for i := range rows.N {
		value := func(side int) spec.Value {
			c := &rows.Values.Cols[side]
			return spec.Value(c.Strs[i].Bytes(rows.Values.Blob))
		}
		e := r.entry(int(max(rows.Left[i].Pos, rows.Right[i].Pos)))
		key := spec.Value(rows.Key.Cols[0].Strs[i].Bytes(rows.Key.Blob))
		e.Out = append(e.Out, spec.Result{Key: key, Window: spec.Span{None: true}, Value: spec.List(value(0), value(1)), TS: int64(rows.Time[i])})
	}
	return nil
}

func (r *runner) Late(b *stream.Batch, i int, side uint8, wm stream.Time) error {
	if !r.lateOut {
		return nil
	}
	text := func(c int) spec.Value { return spec.Value(b.Cols[c].Strs[i].Bytes(b.Blob)) }
	input := int(side)
	e := r.entry(int(b.Pos[i]))
	e.Late = append(e.Late, spec.Late{Key: text(0), Value: text(1), TS: int64(b.Time[i]), Input: &input})
	return nil
}

func (r *runner) Refused(_ *stream.Batch, _ int, _ *udf.Pairs, _ int, f *udf.Failure) error { return f }

// check runs a scenario at several batch sizes, as it is and restored at every step.
func check(t *testing.T, s spec.Scenario, sizes ...int) {
	for _, v := range []struct {
		name string
		s    spec.Scenario
	}{{"", s}, {", restored at every step", spec.WithRestoreAfterEveryStep(s)}} {
		for _, size := range sizes {
			for _, onDisk := range []bool{false, true} {
				if d := spec.Diff(&v.s, run(t, &v.s, size, onDisk)); d != "" {
					t.Errorf("%s, batches of %d%s, on disk %v: %s", s.ID, size, v.name, onDisk, d)
				}
			}
		}
	}
}

func TestPublishedScenarios(t *testing.T) {
	n := 0
	for _, s := range spec.Published() {
		if s.Job.Kind == spec.KindIntervalJoin {
			check(t, s, 1, 1024)
			n++
		}
	}
	if n == 0 {
		t.Fatal("no scenario of an interval join is published")
	}
}

// The seed of a scenario is in its name.
func TestScenariosMadeAtRandom(t *testing.T) {
	for seed := range uint64(10_000) {
		if s := naive.Generate(seed); s.Job.Kind == spec.KindIntervalJoin {
			check(t, s, 1, 3, 1024)
		}
	}
}

// A stream that is long enough for records to go in masses, with many keys and bounds
// on either side of 0.
func TestALongStream(t *testing.T) {
	for _, bounds := range [][2]int64{{-40, 25}, {5, 60}, {-60, -5}} {
		s := spec.Scenario{ID: fmt.Sprint("bounds ", bounds), Job: spec.Job{Kind: spec.KindIntervalJoin, LowerMS: bounds[0], UpperMS: bounds[1], LateOutput: true}}
		x := uint64(7)
		next := func(n uint64) int64 { // a plain generator: the test needs no quality
			x = x*6364136223846793005 + 1442695040888963407
			return int64(x >> 33 % n)
		}
		side := 0
		for i := range int64(12_000) {
			if next(10) == 0 {
				side = 1 - side
			}
			in := side
			ts := i - next(30)
			s.Steps = append(s.Steps, spec.Step{Input: &in, Record: &spec.Record{TS: &ts, Key: spec.Int(next(50)), Value: spec.Int(i)}})
			if next(4) == 0 {
				wm := i - 25
				s.Steps = append(s.Steps, spec.Step{Watermark: &wm})
			}
		}
		s.Steps = append(s.Steps, spec.Step{Probe: true}, spec.Step{CheckpointRestore: true}, spec.Step{EndOfInput: true}, spec.Step{Probe: true})
		s.Expect = naive.Evaluate(&s)
		for _, size := range []int{1, 7, 1024} {
			if d := spec.Diff(&s, run(t, &s, size, size == 7)); d != "" {
				t.Errorf("%s, batches of %d: %s", s.ID, size, d)
			}
		}
	}
}
