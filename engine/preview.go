package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// PreviewRow is a record as a job would see it, before any watermark.
type PreviewRow struct {
	Source, Split string
	Line          int64
	// Reason and Message are set for a record that would go to the bad output; it has
	// nothing below.
	Reason, Message string
	Time            stream.Time
	Fields          []PreviewValue // of the schema, in its order
	Steps           []PreviewStep  // for each step that reads the source itself
}

// PreviewValue is a field: an int64, float64, bool, string, stream.Time, or nil for
// null.
type PreviewValue struct {
	Name  string
	Value any
}

// PreviewStep is where a record would go in a step.
type PreviewStep struct {
	Step string
	// Computed: the step filters or computes fields first, which a preview does not do;
	// there is nothing below then.
	Computed bool
	Key      []PreviewValue
	// Plugin: a plug-in says which windows hold the record, and a preview runs none.
	Plugin bool
	// Windows is how many windows would hold the record: several if they slide, none if
	// the step has no windows or these leave gaps. Window is the one that starts last; of
	// a session, the record alone. In processing time it is the one of now.
	Windows int
	Window  stream.Window
}

// Preview reads the first n records of each source the way a run does: the same
// decoding, the same times, the same guards. Nothing is written. Of a followed source
// it takes what is there. times holds what the check of the first times has to say,
// which would end a run; the rows are returned all the same, to be looked at.
func Preview(ctx context.Context, g *job.Graph, o Options, n int) (rows []PreviewRow, times []error, err error) {
	j := &Job{graph: g, opts: o}
	for i := range g.Sources {
		found, implausible, err := j.preview(ctx, i, n)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, found...)
		if implausible != nil {
			times = append(times, implausible)
		}
	}
	return rows, times, nil
}

func (j *Job) preview(ctx context.Context, i, n int) (rows []PreviewRow, implausible, err error) {
	src := &j.graph.Sources[i]
	if src.Watermark.Kind == job.IngestionWatermark {
		return nil, nil, fault.Userf("source %s: with ingestion time, records have no time before they are read", src.ID)
	}
	reads, err := newSource(src, j.opts)
	if err != nil {
		return nil, nil, fmt.Errorf("source %s: %w", src.ID, err)
	}
	spec, err := newSourceSpec(src, stream.SourceID(i), reads)
	if err != nil {
		return nil, nil, err
	}
	splits, err := reads.Splits(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("source %s: %w", src.ID, err)
	}
	var b stream.Batch
	for _, from := range splits {
		if len(rows) >= n {
			break
		}
		s, err := j.open(ctx, spec, from)
		if err != nil {
			return nil, nil, err
		}
		s.judged = true // judged below, so that the rows can be shown
		found, err := j.first(ctx, s, &b, n-len(rows))
		if cerr := s.close(); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, nil, err
		}
		var first []stream.Time
		for _, r := range found {
			if r.Reason == "" && len(first) < plausibleRows {
				first = append(first, r.Time)
			}
		}
		if implausible == nil && src.Time.Plausible {
			if err := spec.assigner.Plausible(first, j.now()); err != nil {
				implausible = fmt.Errorf("source %s: split %s: %w", src.ID, s.name, err)
			}
		}
		rows = append(rows, found...)
	}
	return rows, implausible, nil
}

// first returns the first n records of a split, good and bad, by line.
func (j *Job) first(ctx context.Context, s *split, b *stream.Batch, n int) ([]PreviewRow, error) {
	var rows []PreviewRow
	bad := func(r *result.Bad) error {
		rows = append(rows, PreviewRow{Source: r.Source, Split: r.Split, Line: r.Line, Reason: r.Reason, Message: r.Message, Time: r.Time})
		return nil
	}
	for len(rows) < n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := s.fill(b, n, j.now(), bad)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			rows = append(rows, j.previewRow(s, b, i))
		}
		if b.N == 0 {
			if !s.source.Bounded() {
				break
			}
			if err := j.opts.Env.Clock.Sleep(ctx, inputPoll); err != nil { // standard input
				return nil, err
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b PreviewRow) int { return cmp.Compare(a.Line, b.Line) })
	return rows[:min(n, len(rows))], nil
}

func (j *Job) previewRow(s *split, b *stream.Batch, i int) PreviewRow {
	r := PreviewRow{Source: s.source.ID, Split: s.name, Line: b.Pos[i], Time: b.Time[i]}
	for c, f := range s.source.Schema {
		r.Fields = append(r.Fields, PreviewValue{f.Name, valueOf(&b.Cols[c], i, b.Blob)})
	}
	for k := range j.graph.Steps {
		if st := &j.graph.Steps[k]; slices.Contains(st.From, s.source.ID) {
			r.Steps = append(r.Steps, j.previewStep(st, s.source, &r))
		}
	}
	return r
}

func (j *Job) previewStep(st *job.Step, src *sourceSpec, r *PreviewRow) PreviewStep {
	p := PreviewStep{Step: st.ID}
	if st.Filter != "" || st.Derive != nil {
		p.Computed = true
		return p
	}
	key := st.Key
	if st.Join != nil && st.From[0] == src.ID {
		key = st.Join.LeftKey
	} else if st.Join != nil {
		key = st.Join.RightKey
	}
	for i, name := range key {
		p.Key = append(p.Key, PreviewValue{st.Key[i], r.Fields[column(src.columns(), name)].Value})
	}
	if p.Plugin = st.Windowed() && st.Window.Kind == job.PluginWindow; p.Plugin || !st.Windowed() {
		return p
	}
	var gap stream.Time // 0 where it is null: there is no window then
	if f := st.Window.GapField; f != "" {
		ms, _ := r.Fields[column(src.columns(), f)].Value.(int64)
		gap = stream.Time(ms)
	}
	assign, err := assigner(st.Window)
	if err != nil {
		panic("BUG: the job was checked: " + err.Error())
	}
	windows, err := assign.Assign(nil, r.Time, j.now(), gap)
	if err == nil && len(windows) > 0 {
		p.Windows, p.Window = len(windows), windows[0]
	}
	return p
}

func valueOf(c *stream.Column, i int, blob []byte) any {
	if c.Null(i) {
		return nil
	}
	switch c.Kind {
	case stream.Int64:
		return c.Ints[i]
	case stream.Timestamp:
		return stream.Time(c.Ints[i])
	case stream.Float64:
		return c.Floats[i]
	case stream.Bool:
		return c.Bools[i]
	}
	return string(c.Strs[i].Bytes(blob))
}
