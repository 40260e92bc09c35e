package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// A plug-in's function runs under a test without a job: the calls are those that an engine
// makes, and the states are kept here.

func sortedNodes[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// columnsOf lays the objects of a test out in the columns of inputs. The time of a record is
// its field time, where no input has that name.
func columnsOf(inputs []udf.Input, nodes []yaml.Node) (*stream.Batch, error) {
	b := &stream.Batch{}
	kinds := make([]stream.Kind, len(inputs))
	for i, in := range inputs {
		kinds[i] = in.Kind
	}
	b.Reset(kinds)
	for i := range nodes {
		n := &nodes[i]
		if n.Kind != yaml.MappingNode {
			return nil, fault.Userf("line %d: a record is an object of columns", n.Line)
		}
		at := stream.Time(0)
		set := make([]bool, len(inputs))
		for k := 0; k < len(n.Content); k += 2 {
			name, v := n.Content[k].Value, n.Content[k+1]
			c := slices.IndexFunc(inputs, func(in udf.Input) bool { return in.Name == name })
			switch {
			case c >= 0:
				set[c] = true
				if err := appendNode(&b.Columns, c, v); err != nil {
					return nil, fault.Userf("line %d: %s: %w", v.Line, name, err)
				}
			case name == "time":
				var m moment
				if err := m.UnmarshalYAML(v); err != nil {
					return nil, fault.As(fault.ErrUser, err)
				}
				at = stream.Time(m)
			default:
				return nil, fault.Userf("line %d: the plug-in has no input %q", n.Content[k].Line, name)
			}
		}
		for c := range inputs {
			if !set[c] {
				b.Cols[c].AppendNull()
			}
		}
		b.Time = append(b.Time, at)
	}
	b.N = len(nodes)
	return b, nil
}

// appendNode appends a scalar to a column of its kind.
func appendNode(t *stream.Columns, col int, n *yaml.Node) (err error) {
	c := &t.Cols[col]
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("must be %s", c.Kind)
	}
	if n.ShortTag() == "!!null" {
		c.AppendNull()
		return nil
	}
	switch c.Kind {
	case stream.String:
		c.AppendStr(stream.Str{Off: uint32(len(t.Blob)), Len: uint32(len(n.Value))})
		t.Blob = append(t.Blob, n.Value...)
	case stream.Float64:
		var f float64
		err = n.Decode(&f)
		c.AppendFloat(f)
	case stream.Bool:
		var b bool
		err = n.Decode(&b)
		c.AppendBool(b)
	case stream.Timestamp:
		var m moment
		err = m.UnmarshalYAML(n)
		c.AppendInt(int64(m))
	default:
		var i int64
		err = n.Decode(&i)
		c.AppendInt(i)
	}
	if err != nil {
		return fmt.Errorf("%q is no %s", n.Value, c.Kind)
	}
	return nil
}

// rowValue is a row as a value of JSON.
func rowValue(fields []stream.Field, t *stream.Columns, row int) map[string]any {
	out := map[string]any{}
	for i, f := range fields {
		c := &t.Cols[i]
		switch {
		case c.Null(row):
			out[f.Name] = nil
		case f.Kind == stream.String:
			out[f.Name] = string(c.Strs[row].Bytes(t.Blob))
		case f.Kind == stream.Float64:
			out[f.Name] = json.Number(strconv.FormatFloat(c.Floats[row], 'g', -1, 64))
		case f.Kind == stream.Bool:
			out[f.Name] = c.Bools[row]
		case f.Kind == stream.Timestamp:
			out[f.Name] = timeText(stream.Time(c.Ints[row]))
		default:
			out[f.Name] = json.Number(strconv.FormatInt(c.Ints[row], 10))
		}
	}
	return out
}

func timeText(t stream.Time) string {
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// shown selects all rows of a batch for one group.
func shown(b *stream.Batch, inputs []udf.Input, groups int) *udf.Rows {
	r := &udf.Rows{Batch: b, Groups: groups}
	for i := range inputs {
		r.Cols = append(r.Cols, i)
	}
	return r
}

// judged compares what came with what the test expects. It returns the differences.
func (t *PluginTest) judged(got any, err error) ([]string, error) {
	f, refused := errors.AsType[*udf.Failure](err)
	if err != nil && !refused {
		return nil, err
	}
	if t.Error != "" {
		switch {
		case !refused:
			return []string{fmt.Sprintf("error: want %q, but it answers %s", t.Error, show(got))}, nil
		case !strings.Contains(f.Error(), t.Error):
			return []string{fmt.Sprintf("error: want %q, got %q", t.Error, f)}, nil
		case t.At > 0 && f.Op+1 != t.At:
			return []string{fmt.Sprintf("at: want %d, got %d: %s", t.At, f.Op+1, f)}, nil
		}
		return nil, nil
	}
	if refused {
		return []string{fmt.Sprintf("%d: %s", f.Op+1, f)}, nil
	}
	text, err := appendJSON(nil, &t.Expect)
	if err != nil {
		return nil, fault.As(fault.ErrUser, err)
	}
	want, err := parseJSON(text)
	if err != nil {
		return nil, fault.Userf("line %d: %w", t.Expect.Line, err)
	}
	diffs := differences("", want, got)
	if len(diffs) > 0 {
		diffs = append([]string{"want " + show(want), "got  " + show(got)}, diffs...)
	}
	return diffs, nil
}

// Aggregate runs the test on an aggregate: the records of each group are one batch, with
// those of the other groups.
func (t *PluginTest) Aggregate(a udf.Aggregate) ([]string, error) {
	if err := t.must("an aggregate", "records", "groups"); err != nil {
		return nil, err
	}
	info := a.Info()
	groups := map[string][]yaml.Node{"": t.Records}
	if t.Groups != nil {
		groups = t.Groups
	}
	names := sortedNodes(groups)
	var all []yaml.Node
	var of []uint32
	for g, name := range names {
		for range groups[name] {
			of = append(of, uint32(g))
		}
		all = append(all, groups[name]...)
	}
	b, err := columnsOf(info.Inputs, all)
	if err != nil {
		return nil, err
	}
	rows := shown(b, info.Inputs, len(names))
	for i := range b.N { // records with a null that is not taken are left out
		if !lacking(info.Inputs, &b.Columns, i) {
			rows.Sel, rows.Group = append(rows.Sel, uint32(i)), append(rows.Group, of[i])
		}
	}
	var accs udf.Accs
	accs.Reset(info.Width)
	if info.Width > 0 {
		err = a.Create(&accs, len(names))
	}
	if err == nil {
		err = a.Add(&accs, rows)
		if f, ok := errors.AsType[*udf.Failure](err); ok && f.Op >= 0 && f.Op < len(rows.Sel) {
			f.Op = int(rows.Sel[f.Op])
		}
	}
	out := &stream.Columns{}
	for _, f := range info.Outputs {
		out.Cols = append(out.Cols, stream.Column{Kind: f.Kind})
	}
	if err == nil {
		err = a.Result(&accs, out)
	}
	if err != nil {
		return t.judged(nil, err)
	}
	if t.Groups == nil {
		return t.judged(rowValue(info.Outputs, out, 0), nil)
	}
	got := map[string]any{}
	for g, name := range names {
		got[name] = rowValue(info.Outputs, out, g)
	}
	return t.judged(got, nil)
}

// lacking reports whether a row has a null where the function takes none.
func lacking(inputs []udf.Input, c *stream.Columns, row int) bool {
	for i, in := range inputs {
		if !in.Nullable && c.Cols[i].Null(row) {
			return true
		}
	}
	return false
}

// Map runs the test on a function of single records, which sees all of them in one call.
func (t *PluginTest) Map(m udf.Map) ([]string, error) {
	if err := t.must("a function of single records", "records"); err != nil {
		return nil, err
	}
	info := m.Info()
	b, err := columnsOf(info.Inputs, t.Records)
	if err != nil {
		return nil, err
	}
	rows := shown(b, info.Inputs, 1)
	for i := range b.N {
		rows.Sel, rows.Group = append(rows.Sel, uint32(i)), append(rows.Group, 0)
	}
	var out udf.Emitted
	out.Reset(info.Outputs)
	err = m.Call(rows, &out)
	got := make([]any, b.N)
	for i := range got {
		got[i] = []any{}
	}
	if err == nil {
		for row, of := range out.Of {
			got[of] = append(got[of].([]any), rowValue(info.Outputs, &out.Columns, row))
		}
	}
	return t.judged(got, err)
}

// Assigner runs the test on a window assigner, which sees all records in one call.
func (t *PluginTest) Assigner(a udf.Assigner) ([]string, error) {
	if err := t.must("a window assigner", "records"); err != nil {
		return nil, err
	}
	info := a.Info()
	b, err := columnsOf(info.Inputs, t.Records)
	if err != nil {
		return nil, err
	}
	rows := shown(b, info.Inputs, 1)
	for i := range b.N {
		rows.Sel = append(rows.Sel, uint32(i))
	}
	var out udf.Assigned
	got := make([]any, b.N)
	if err = a.Assign(rows, &out); err == nil {
		out.Each(b.N, func(item int, ws []stream.Window) {
			ws, f := info.Judge(ws)
			if f != nil && err == nil {
				f.Op, err = item, f
			}
			list := []any{}
			for _, w := range ws {
				list = append(list, map[string]any{"start": timeText(w.Start), "end": timeText(w.End)})
			}
			got[item] = list
		})
	}
	return t.judged(got, err)
}

// Pair runs the test on a pair function: every record of the left side with every one of
// the right, left one by left one, as in a window join.
func (t *PluginTest) Pair(p udf.Pair) ([]string, error) {
	if err := t.must("a pair function", "left and right"); err != nil {
		return nil, err
	}
	info := p.Info()
	l, err := columnsOf(info.Left, t.Left)
	if err != nil {
		return nil, err
	}
	r, err := columnsOf(info.Right, t.Right)
	if err != nil {
		return nil, err
	}
	in := udf.Pairs{Left: udf.PairSide{Columns: &l.Columns, Time: l.Time}, Right: udf.PairSide{Columns: &r.Columns, Time: r.Time}}
	for i := range l.N {
		for k := range r.N {
			in.L, in.R = append(in.L, uint32(i)), append(in.R, uint32(k))
			in.Time = append(in.Time, max(l.Time[i], r.Time[k]))
		}
	}
	var out udf.Emitted
	out.Reset(info.Outputs)
	err = p.Call(&in, &out)
	return t.judged(emittedRows(info.Outputs, &out), err)
}

func emittedRows(fields []stream.Field, e *udf.Emitted) []any {
	rows := []any{}
	for row := range e.Of {
		rows = append(rows, rowValue(fields, &e.Columns, row))
	}
	return rows
}

// Generator runs the test on a watermark generator: the records are of one split.
func (t *PluginTest) Generator(g udf.Generator) ([]string, error) {
	if err := t.must("a watermark generator", "records"); err != nil {
		return nil, err
	}
	info := g.Info()
	b, err := columnsOf(info.Inputs, t.Records)
	if err != nil {
		return nil, err
	}
	wm := make([]stream.Time, b.N)
	for i := range wm {
		wm[i] = stream.MinTime
	}
	_, err = g.Records(&udf.Timed{Columns: &b.Columns, Cols: shown(b, info.Inputs, 1).Cols, Time: b.Time}, nil, wm)
	got := make([]any, len(wm))
	for i, at := range wm {
		if at != stream.MinTime {
			got[i] = timeText(at)
		}
	}
	return t.judged(got, err)
}

// Process runs the test on a process function, which sees its firings in one call. States
// are those of the test's keys and windows, none before the first firing.
func (t *PluginTest) Process(p udf.Process) ([]string, error) {
	if err := t.must("a process function", "firings"); err != nil {
		return nil, err
	}
	info := p.Info()
	in, err := firingsOf(&info, t.Firings)
	if err != nil {
		return nil, err
	}
	out := make([]udf.Emitted, 1+len(info.Side))
	out[0].Reset(info.Outputs)
	for i, s := range info.Side {
		out[i+1].Reset(s.Outputs)
	}
	err = p.Call(in, out)
	got := map[string]any{"rows": emittedRows(info.Outputs, &out[0])}
	side := map[string]any{}
	for i, s := range info.Side {
		side[s.Name] = emittedRows(s.Outputs, &out[i+1])
	}
	got["side"] = side
	return t.judged(got, err)
}

// firingsOf lays firings out as the engine does.
func firingsOf(info *udf.ProcessInfo, specs []firingSpec) (*udf.Firings, error) {
	in := &udf.Firings{Lists: make([]udf.FiringList, len(info.Lists))}
	var inputs []yaml.Node
	lists := make([][]yaml.Node, len(info.Lists))
	keys, windows := map[string]uint32{}, map[string]uint32{}
	for l := range lists {
		in.Lists[l].Off = append(in.Lists[l].Off, 0)
	}
	for i := range specs {
		s := &specs[i]
		if s.Inputs.IsZero() {
			s.Inputs = yaml.Node{Kind: yaml.MappingNode}
		}
		inputs = append(inputs, s.Inputs)
		w := s.window()
		if w.End <= w.Start {
			return nil, fault.Userf("firing %d: its window must end behind its start", i+1)
		}
		in.Window = append(in.Window, w)
		in.Watermark = append(in.Watermark, s.Watermark.or(w.MaxTimestamp()))
		in.Now = append(in.Now, s.Now.or(w.MaxTimestamp()))
		in.Revision = append(in.Revision, s.Revision)
		given := [][]yaml.Node{s.Records}
		if len(lists) == 2 {
			given = [][]yaml.Node{s.Left, s.Right}
		}
		for l := range lists {
			lists[l] = append(lists[l], given[l]...)
			in.Lists[l].Off = append(in.Lists[l].Off, uint32(len(lists[l])))
		}
		if info.KeyState {
			slot(&in.Keys, keys, s.Key)
		}
		if info.WindowState {
			slot(&in.Windows, windows, fmt.Sprintf("%s %d %d", s.Key, w.Start, w.End))
		}
	}
	b, err := columnsOf(info.Inputs, inputs)
	if err != nil {
		return nil, err
	}
	in.Inputs = b.Columns
	for l, nodes := range lists {
		b, err := columnsOf(info.Lists[l], nodes)
		if err != nil {
			return nil, err
		}
		in.Lists[l].Columns, in.Lists[l].Time = b.Columns, b.Time
	}
	return in, nil
}

// slot gives a firing the state of its name.
func slot(s *udf.States, of map[string]uint32, name string) {
	if _, ok := of[name]; !ok {
		of[name] = s.Add(nil)
	}
	s.Slot = append(s.Slot, of[name])
}
