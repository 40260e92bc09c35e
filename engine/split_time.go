package engine

import (
	"fmt"

	"tidemark/engine/expr"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/watermark"
)

// newGenerator makes the watermarks of one split; nil for the bounded kind, which a split
// keeps as a value of its own: it is the common one, and called without an interface. It
// also serves where there is no watermark, since nothing is ever emitted then.
func newGenerator(w *job.Watermark) watermark.Generator {
	switch w.Kind {
	case job.AscendingWatermark:
		return watermark.NewAscending()
	case job.MarkerWatermark:
		return watermark.NewPunctuated()
	case job.DelayWatermark:
		return watermark.NewDelayed()
	case job.IngestionWatermark:
		return watermark.NewIngestion()
	}
	return nil
}

// step moves the split's time on by row i of b: the watermark that the record causes
// comes behind it (S5).
func (s *split) step(b *stream.Batch, i int, ts stream.Time) {
	s.low, s.high = min(s.low, ts), max(s.high, ts)
	e := &s.source.Watermark.Emit
	if s.gen == nil {
		s.bounded.Event(ts)
	} else {
		s.gen.Record(s.signs(b, i, ts))
	}
	switch {
	case e.Record:
		s.out.Emit(s.current())
	case e.Every > 0:
		if s.since++; s.since == e.Every {
			s.since = 0
			s.out.Emit(s.current())
		}
	}
}

// current is what the generator says now.
func (s *split) current() stream.Time {
	if s.gen == nil {
		return s.bounded.Current()
	}
	return s.gen.Current()
}

// signs is what a row says about time beside its own.
func (s *split) signs(b *stream.Batch, i int, ts stream.Time) watermark.Record {
	r := watermark.Record{Time: ts, Delay: -1}
	if c := s.source.delayCol; c >= 0 && !b.Cols[c].Null(i) {
		r.Delay = stream.Time(b.Cols[c].Ints[i])
	}
	if s.marker != nil && s.marker.holds[i] {
		r.Marker = true
		if s.source.Watermark.MarkerForAll {
			s.spoken = append(s.spoken, marker{row: len(s.keep), time: ts})
		}
	}
	return r
}

// marker is a row of a batch that speaks for all splits of the source.
type marker struct {
	row  int
	time stream.Time
}

// markerTest finds the markers among the rows of a batch. A source task has one.
type markerTest struct {
	fn     *expr.Step
	rows   udf.Rows
	answer udf.Mapped
	holds  []bool // by row of the batch that was looked at last
}

// newMarkerTest compiles the marker of a source.
func newMarkerTest(s *sourceSpec) (*markerTest, error) {
	const name = "marker"
	fn, err := expr.New(expr.Config{Schema: s.columns(), Derive: []expr.Derived{{Name: name, Expr: s.Watermark.Marker}},
		Project: []expr.Projected{{Name: name, From: name}}})
	if err != nil {
		return nil, fmt.Errorf("source %s: marker: %w", s.ID, err)
	}
	m := &markerTest{fn: fn}
	for _, in := range fn.Info().Inputs {
		m.rows.Cols = append(m.rows.Cols, column(s.columns(), in.Name))
	}
	return m, nil
}

// look tests all rows of a batch. One for which the condition is null or cannot be
// computed is no marker: nobody has said that time has come so far.
func (m *markerTest) look(b *stream.Batch) error {
	m.rows.Batch, m.rows.Sel, m.holds = b, m.rows.Sel[:0], m.holds[:0]
	for i := range b.N {
		m.rows.Sel = append(m.rows.Sel, uint32(i))
		m.holds = append(m.holds, false)
	}
	if err := m.fn.Apply(&m.rows, &m.answer); err != nil {
		return fmt.Errorf("marker: %w", err)
	}
	c := &m.answer.Cols[0]
	for n, row := range m.answer.Of {
		m.holds[row] = !c.Null(n) && c.Bools[n]
	}
	return nil
}

// heartbeat takes a marker of another split that speaks for this one too. Who is spoken
// for is not quiet.
func (s *split) heartbeat(t stream.Time) {
	if g, ok := s.gen.(watermark.Heartbeats); ok {
		g.Heartbeat(t)
		s.out.Emit(s.gen.Current())
		if s.idle != nil {
			s.idle.Event()
		}
	}
}

// stamp gives each row the time at which it was read (ingestion time).
func (s *split) stamp(b *stream.Batch, g *watermark.Ingestion, now stream.Time) {
	for i := range b.N {
		ts := g.Stamp(now)
		b.WM = append(b.WM, s.out.Last())
		s.step(b, i, ts)
		b.Time = append(b.Time, ts)
		b.High = append(b.High, s.high)
		b.Split = append(b.Split, s.id)
		s.read++
	}
}

// probe lets the watermark step as processing time does: where the job says so, and with
// ingestion time, where time goes on without records.
func (s *split) probe(now stream.Time) error {
	clocked := true
	switch g := s.gen.(type) {
	case watermark.Clocked:
		g.Clock(now)
	case *userTime:
		if err := g.tick(now); err != nil {
			return s.userTimeError(err, nil)
		}
	default:
		clocked = false
	}
	if clocked || s.source.Watermark.Emit.Period > 0 {
		s.out.Emit(s.current())
	}
	return nil
}

// regressions counts the records whose time fell, where it should not.
func (s *split) regressions() int64 {
	if a, ok := s.gen.(*watermark.Ascending); ok {
		return a.Regressions()
	}
	return 0
}
