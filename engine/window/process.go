package window

import (
	"errors"
	"fmt"

	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Process is the process function of a step, with where its inputs are. The operator
// closes it.
type Process struct {
	Fn     udf.Process
	Inputs []ProcessInput // one for each of Fn's
	Lists  [][]int        // columns of the input batches, as Info().Lists
	// TTL is how long, in event time, a key's state stays that is not written; 0: for ever.
	TTL stream.Time
}

// ProcessInput is a column of what a firing gives without a process function.
type ProcessInput struct {
	Value int // number of the function; -1: the key
	Col   int // of its outputs, or of the key's fields
}

// lists reports whether the function looks at records, which contents must then keep.
func (p *Process) lists() bool { return p != nil && len(p.Fn.Info().Lists) > 0 }

// processor stands between firings and their rows: what would be the row of a firing is
// shown to the process function, and its rows take that one's place. It is a part of
// computing a result: a firing whose call fails has not fired, and its states are what
// they were. It owns the states of keys and of windows.
type processor struct {
	Process
	key  []stream.Field
	info udf.ProcessInfo

	keys    keyStates
	windows windowStates
	cold    *coldStates // nil: all of them are in memory

	in    udf.Firings
	out   []udf.Emitted
	shown []int             // of in: the row of each firing in the result
	slots map[string]uint32 // of in.Keys, by key
	panes map[owner]uint32  // of in.Windows
	rows  result.Rows
}

func newProcessor(p *Process, key []stream.Field) *processor {
	if p == nil {
		return nil
	}
	o := &processor{Process: *p, key: key, info: p.Fn.Info(), keys: newKeyStates(p.TTL), windows: windowStates{of: map[stream.Window]map[string]*keptState{}}}
	o.slots, o.panes = map[string]uint32{}, map[owner]uint32{}
	o.out = make([]udf.Emitted, 1+len(o.info.Side))
	o.in.Lists = make([]udf.FiringList, len(o.info.Lists))
	return o
}

// outputs are the columns of an output: 0 are the results.
func (p *processor) outputs(n int) []stream.Field {
	if n == 0 {
		return p.info.Outputs
	}
	return p.info.Side[n-1].Outputs
}

// attach gives the operator its process function and its guard, if it has them. fine is
// that of GeneralConfig; groups is the number of key groups, 0 where there is but one.
func (o *contents) attach(p *Process, key []stream.Field, fine bool, guard *Guard, groups int) {
	o.process, o.fine, o.guard, o.groups = newProcessor(p, key), fine, guard, max(groups, 1)
}

// seen is the watermark that user code is shown: with fine steps a timer sees its own
// time, however far the watermark has jumped (T6).
func (o *contents) seen() stream.Time {
	if o.fine && o.before < o.wm {
		return o.before + 1
	}
	return o.wm
}

// run shows the function the firings that r describes, with the times that they see and
// the cells that they are of. Those of one key share its state; but not if it can expire:
// then there is one of each key. What the function puts is kept if it succeeds; a failure
// changes nothing, and at is the row of r that failed, or -1.
func (p *processor) run(r *result.Rows, seen []moment, cells []cell) (f *udf.Failure, at int, err error) {
	if err := p.keys.expire(seen[0].wm); err != nil { // the others see no less
		return nil, 0, err
	}
	if err := p.makeRoom(); err != nil {
		return nil, 0, err
	}
	if err := p.gather(r, seen); err != nil {
		return nil, 0, err
	}
	p.gatherRecords(cells)
	for n := range p.out {
		p.out[n].Reset(p.outputs(n))
	}
	if len(p.shown) == 0 {
		return nil, 0, nil
	}
	err = p.Fn.Call(&p.in, p.out)
	for n := 0; n < len(p.out) && err == nil; n++ {
		p.out[n].N = len(p.out[n].Of)
		err = p.finite(n)
	}
	if err != nil {
		if !errors.As(err, &f) {
			return nil, 0, fmt.Errorf("process function: %w", err)
		}
		if f.Op < 0 || f.Op >= len(p.shown) {
			return f, -1, nil
		}
		return f, p.shown[f.Op], nil
	}
	for i, row := range p.shown {
		if s := &p.in.Keys; p.info.KeyState && s.Put[s.Slot[i]] {
			p.keys.put(r.EncodedKey[row], s.Get(i), seen[row].wm)
		}
		if s := &p.in.Windows; p.info.WindowState && s.Put[s.Slot[i]] {
			p.windows.put(r.Window[row], r.EncodedKey[row], s.Get(i))
		}
	}
	return nil, 0, nil
}

// forgets reports whether states of keys expire.
func (p *processor) forgets() bool { return p != nil && p.keys.ttl > 0 }

// moments are those of cells that fire.
func (o *contents) moments(cells []cell) []moment {
	list := o.emitter.moments[:0]
	for _, c := range cells {
		if c.firing != nil {
			list = append(list, c.firing.moment)
		} else {
			list = append(list, o.moment())
		}
	}
	o.emitter.moments = list
	return list
}

// gather fills in what the function is shown of each firing.
func (p *processor) gather(r *result.Rows, seen []moment) error {
	in := &p.in
	p.shown = p.shown[:0]
	for i := range r.N {
		if !p.lacks(r, i) {
			p.shown = append(p.shown, i)
		}
	}
	if in.Inputs.Cols == nil {
		in.Inputs.Cols = make([]stream.Column, len(p.Inputs))
	}
	in.Inputs.N, in.Inputs.Blob = len(p.shown), in.Inputs.Blob[:0]
	for n, from := range p.Inputs {
		in.Inputs.Cols[n].Reset(p.info.Inputs[n].Kind)
		src := from.table(r)
		for _, i := range p.shown {
			in.Inputs.AppendCell(n, src, from.Col, i)
		}
	}
	in.Window, in.Watermark, in.Now, in.Revision = in.Window[:0], in.Watermark[:0], in.Now[:0], in.Revision[:0]
	in.Keys.Reset()
	in.Windows.Reset()
	clear(p.slots)
	clear(p.panes)
	for _, i := range p.shown {
		in.Window, in.Revision = append(in.Window, r.Window[i]), append(in.Revision, r.Revision[i])
		in.Watermark, in.Now = append(in.Watermark, seen[i].wm), append(in.Now, seen[i].now)
		if p.info.KeyState {
			slot, taken := p.slots[string(r.EncodedKey[i])]
			if !taken {
				data, err := p.keys.get(r.EncodedKey[i], seen[i].wm)
				if err != nil {
					return err
				}
				slot = in.Keys.Add(data)
				p.slots[string(r.EncodedKey[i])] = slot
			}
			in.Keys.Slot = append(in.Keys.Slot, slot)
		}
		if p.info.WindowState {
			of := owner{string(r.EncodedKey[i]), r.Window[i]}
			slot, taken := p.panes[of]
			if !taken {
				data, err := p.windows.get(of.window, r.EncodedKey[i])
				if err != nil {
					return err
				}
				slot = in.Windows.Add(data)
				p.panes[of] = slot
			}
			in.Windows.Slot = append(in.Windows.Slot, slot)
		}
	}
	return nil
}

// lacks reports whether a firing has a null that the function does not take.
func (p *processor) lacks(r *result.Rows, i int) bool {
	for n, from := range p.Inputs {
		if !p.info.Inputs[n].Nullable && from.table(r).Cols[from.Col].Null(i) {
			return true
		}
	}
	return false
}

func (from ProcessInput) table(r *result.Rows) *stream.Columns {
	if from.Value < 0 {
		return &r.Key
	}
	return &r.Values[from.Value]
}

// gatherRecords fills in the records of each firing.
func (p *processor) gatherRecords(cells []cell) {
	for s, inputs := range p.info.Lists {
		to := &p.in.Lists[s]
		if to.Cols == nil {
			to.Cols = make([]stream.Column, len(inputs))
		}
		for n, in := range inputs {
			to.Cols[n].Reset(in.Kind)
		}
		to.N, to.Blob, to.Time, to.Off = 0, to.Blob[:0], to.Time[:0], append(to.Off[:0], 0)
		for _, i := range p.shown {
			p.appendRecords(to, s, cells[i].firing.list)
			to.Off = append(to.Off, uint32(to.N))
		}
	}
}

// appendRecords appends those of one side of a list.
func (p *processor) appendRecords(to *udf.FiringList, side int, list *elements) {
	inputs, cols, src := p.info.Lists[side], p.Lists[side], &list.sides[side]
records:
	for _, e := range list.refs {
		if int(e.side) != side {
			continue
		}
		for n, in := range inputs {
			if !in.Nullable && src.Cols[cols[n]].Null(int(e.row)) {
				continue records
			}
		}
		for n := range inputs {
			to.AppendCell(n, src, cols[n], int(e.row))
		}
		to.Time = append(to.Time, e.time)
		to.N++
	}
}

// finite refuses rows with what is no number.
func (p *processor) finite(n int) error {
	out := &p.out[n]
	for c, f := range p.outputs(n) {
		if i := notFinite(&out.Cols[c]); i >= 0 {
			return &udf.Failure{Op: int(out.Of[i]), Message: fmt.Sprintf("output %s is %v, which is not a number that can be written", f.Name, out.Cols[c].Floats[i])}
		}
	}
	return nil
}

// emit hands on the rows of the last run over r.
func (p *processor) emit(out Output, r *result.Rows) error {
	for n := range p.out {
		if err := p.emitOne(out, n, r); err != nil {
			return err
		}
	}
	return nil
}

func (p *processor) emitOne(to Output, n int, r *result.Rows) error {
	out, rows := &p.out[n], &p.rows
	if out.N == 0 {
		return nil
	}
	rows.Reset(p.key, nil)
	rows.N, rows.Side = out.N, n
	rows.Values = append(rows.Values[:0], out.Columns)
	for first := 0; first < out.N; {
		last := first
		for last < out.N && out.Of[last] == out.Of[first] {
			last++
		}
		i := p.shown[out.Of[first]]
		for ordinal := range last - first {
			rows.Key.AppendRow(&r.Key, i)
			rows.EncodedKey = append(rows.EncodedKey, r.EncodedKey[i])
			rows.Window = append(rows.Window, r.Window[i])
			rows.Kind = append(rows.Kind, r.Kind[i])
			rows.Revision = append(rows.Revision, r.Revision[i])
			rows.SinceLast = append(rows.SinceLast, r.SinceLast[i])
			rows.Replaces = append(rows.Replaces, r.Replaces[i])
			rows.Before = append(rows.Before, r.Before[i])
			rows.Ordinal, rows.Of = append(rows.Ordinal, uint64(ordinal)), append(rows.Of, uint64(last-first))
		}
		first = last
	}
	return to.Rows(rows)
}
