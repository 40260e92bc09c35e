package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/engine/breaker"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// mapped is a plug-in's function of single records as a step: the fields that it does not
// make are carried over, and records that it refuses are found one by one.
type mapped struct {
	fn   udf.Map
	info udf.StatelessInfo
	made []int // for each column that is kept of those that fn makes, its number there
	rows udf.Rows
	out  udf.Emitted

	plugin  string
	breaker *breaker.Breaker // counts by split; nil: fn is never disabled
}

var _ udf.Stateless = (*mapped)(nil)

// mapInfo says what the records of a step look like behind its plug-in: their fields, and
// those that it makes, in place of fields of the same name; all of them, or those that
// project names. made are the numbers of those that are kept of what it makes.
func mapInfo(st *job.Step, fields []stream.Field) (info udf.StatelessInfo, made []int) {
	out := slices.Clone(fields)
	for _, f := range st.Map.Outputs {
		if i := slices.IndexFunc(out, func(o stream.Field) bool { return o.Name == f.Name }); i >= 0 {
			out[i] = f
		} else {
			out = append(out, f)
		}
	}
	if st.Project != nil {
		kept := make([]stream.Field, len(st.Project))
		for i, name := range st.Project {
			kept[i] = out[column(out, name)]
		}
		out = kept
	}
	input := func(name string) int {
		info.Inputs = append(info.Inputs, udf.Input{Name: name, Kind: fields[column(fields, name)].Kind, Nullable: true})
		return len(info.Inputs) - 1
	}
	for _, c := range st.Map.Columns {
		input(c.Field)
	}
	for _, f := range out {
		o := udf.StatelessOutput{Field: f, Carry: -1}
		if n := slices.IndexFunc(st.Map.Outputs, func(m stream.Field) bool { return m.Name == f.Name }); n >= 0 {
			made = append(made, n)
		} else {
			o.Carry = input(f.Name)
		}
		info.Outputs = append(info.Outputs, o)
	}
	return info, made
}

// newMapped makes an instance of the function for one edge.
func (j *Job) newMapped(ctx context.Context, st *job.Step, fields []stream.Field) (*mapped, error) {
	m := &mapped{plugin: st.Map.Plugin, breaker: newBreaker(st)}
	m.info, m.made = mapInfo(st, fields)
	var kinds []stream.Kind
	for _, in := range m.info.Inputs[:len(st.Map.Columns)] {
		kinds = append(kinds, in.Kind)
	}
	var err error
	m.fn, err = j.opts.Plugins.Map(ctx, j.plugin(st.Map.Plugin), st.Map, kinds)
	return m, err
}

// Info implements udf.Stateless.
func (m *mapped) Info() udf.StatelessInfo { return m.info }

// Close closes the function.
func (m *mapped) Close() error { return m.fn.Close() }

// Apply implements udf.Stateless.
func (m *mapped) Apply(rows *udf.Rows, out *udf.Mapped) error {
	out.Reset(&m.info)
	info := m.fn.Info()
	m.out.Reset(info.Outputs)
	m.rows = *rows
	m.rows.Cols = rows.Cols[:len(info.Inputs)]
	err := udf.Blame(0, len(rows.Sel), func(lo, hi int) (*udf.Failure, error) {
		if f := m.barred(rows, lo, hi); f != nil {
			return f, nil
		}
		return m.call(rows, lo, hi)
	}, func(item int, f *udf.Failure) { m.refuse(rows, item, f, out) })
	if err != nil {
		return err
	}
	m.out.N = len(m.out.Of)
	out.N, out.Of = m.out.N, append(out.Of, m.out.Of...)
	out.Blob = append(out.Blob, m.out.Blob...)
	for i, n := range m.made {
		// The columns change hands, as does their memory.
		out.Cols[i], m.out.Cols[n] = m.out.Cols[n], out.Cols[i]
	}
	return nil
}

// barred is why the first record from lo to hi that a disabled function would be shown is
// set aside, nil if there is none.
func (m *mapped) barred(rows *udf.Rows, lo, hi int) *udf.Failure {
	if !m.breaker.Any() {
		return nil
	}
	for i := lo; i < hi; i++ {
		if f := m.breaker.Bars(splitOf(rows, i), m.plugin); f != nil {
			f.Op = i - lo
			return f
		}
	}
	return nil
}

// splitOf is the part of the data that record i is in.
func splitOf(rows *udf.Rows, i int) int { return int(rows.Batch.Split[rows.Sel[i]]) }

// refuse sets record i aside.
func (m *mapped) refuse(rows *udf.Rows, i int, f *udf.Failure, out *udf.Mapped) {
	m.breaker.Failed(splitOf(rows, i), rows.Batch.Time[rows.Sel[i]], f)
	f.Op = i
	out.Refused = append(out.Refused, f)
}

// call makes one call; a failure leaves no row behind.
func (m *mapped) call(rows *udf.Rows, lo, hi int) (*udf.Failure, error) {
	n, blob := len(m.out.Of), len(m.out.Blob)
	m.rows.Sel = rows.Sel[lo:hi]
	err := m.fn.Call(&m.rows, &m.out)
	if err == nil {
		for i := n; i < len(m.out.Of); i++ {
			m.out.Of[i] += uint32(lo)
		}
		return nil, nil
	}
	m.out.Truncate(n, blob)
	var f *udf.Failure
	if errors.As(err, &f) {
		return f, nil
	}
	return nil, fmt.Errorf("map: %w", err)
}
