package conformance

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// shape is what a manifest says of frames and answers, the same for all kinds of plug-in.
type shape struct {
	fns     []guest.Func // the calls that it must serve, beside tm_configure
	params  []abi.Param
	inputs  []abi.Column   // of records in tm_aggregate_add, of firings in tm_process
	lists   [][]abi.Column // of records, behind their times
	timed   bool           // each record of a list has a time
	outputs [][]abi.Column // results, then side outputs
	ports   []string       // names of side outputs
	width   int            // of accumulators; 0: they vary
	exact   bool
	// States that it keeps: of keys, in tm_trigger of windows, in tm_watermark of the split.
	keys, windows bool
	oneWindow     bool // of an assigner: a record is in one at most
}

func shapeOf(m *abi.Manifest) *shape {
	s := shapeOfKind(m)
	if len(m.Upgrades()) > 0 {
		s.fns = append(s.fns, guest.Upgrade)
	}
	return s
}

func shapeOfKind(m *abi.Manifest) *shape {
	switch {
	case m.Aggregate != nil:
		a := m.Aggregate
		s := &shape{fns: []guest.Func{guest.Create, guest.Add, guest.Merge, guest.Result}, params: a.Params, inputs: a.Inputs,
			outputs: [][]abi.Column{a.Outputs}, width: a.Width, exact: a.Exact}
		if a.Width > 0 {
			s.fns = append(s.fns, guest.Apply) // where the module offers it
		}
		return s
	case m.Process != nil:
		p := m.Process
		s := &shape{fns: []guest.Func{guest.Process}, params: p.Params, inputs: p.Inputs, lists: p.Lists,
			outputs: [][]abi.Column{p.Outputs}, keys: p.KeyState, windows: p.WindowState}
		for _, side := range p.Side {
			s.outputs, s.ports = append(s.outputs, side.Outputs), append(s.ports, side.Name)
		}
		return s
	case m.Pair != nil:
		p := m.Pair
		return &shape{fns: []guest.Func{guest.Pair}, params: p.Params, lists: [][]abi.Column{p.Left, p.Right}, outputs: [][]abi.Column{p.Outputs}}
	case m.Map != nil:
		f := m.Map
		return &shape{fns: []guest.Func{guest.Map}, params: f.Params, lists: [][]abi.Column{f.Inputs}, outputs: [][]abi.Column{f.Outputs}}
	case m.Generator != nil:
		g := m.Generator
		return &shape{fns: []guest.Func{guest.Watermark}, params: g.Params, lists: [][]abi.Column{g.Inputs}, timed: true,
			outputs: [][]abi.Column{{{Name: "watermark", Kind: abi.Timestamp}}}, keys: g.Schema > 0}
	case m.Assigner != nil:
		a := m.Assigner
		return &shape{fns: []guest.Func{guest.Assign}, params: a.Params, lists: [][]abi.Column{a.Inputs}, timed: true, oneWindow: a.Merges}
	default:
		t := m.Trigger
		return &shape{fns: []guest.Func{guest.Trigger}, params: t.Params, lists: [][]abi.Column{t.Inputs}, keys: t.Schema > 0}
	}
}

// column is a column of a frame, with a cell a row.
type column struct {
	abi.Column
	cells []cell
}

// table is columns of the same number of rows.
type table struct {
	rows int
	cols []column
}

func newTable(columns ...abi.Column) *table {
	t := &table{}
	for _, c := range columns {
		t.cols = append(t.cols, column{Column: c})
	}
	return t
}

// cut is the rows from lo up to hi.
func (t *table) cut(lo, hi int) *table {
	c := &table{rows: hi - lo}
	for _, col := range t.cols {
		c.cols = append(c.cols, column{col.Column, col.cells[lo:hi]})
	}
	return c
}

// pick is some of the rows.
func (t *table) pick(rows []int) *table {
	c := &table{rows: len(rows)}
	for _, col := range t.cols {
		picked := column{Column: col.Column}
		for _, r := range rows {
			picked.cells = append(picked.cells, col.cells[r])
		}
		c.cols = append(c.cols, picked)
	}
	return c
}

// join is the rows of t, and behind them those of u.
func (t *table) join(u *table) *table {
	c := &table{rows: t.rows + u.rows}
	for i, col := range t.cols {
		c.cols = append(c.cols, column{col.Column, slices.Concat(col.cells, u.cols[i].cells)})
	}
	return c
}

// call is a call as a vector pictures it: what its frame carries. A call is not changed once
// it is made.
type call struct {
	fn     guest.Func
	groups int
	inputs *table   // of tm_configure, tm_aggregate_add and tm_process; nil: none
	group  []uint32 // of each record in tm_aggregate_add
	lists  []*table // their first columns are the records' times, but in tm_aggregate_apply

	accs, from    [][]byte
	keys, windows [][]byte // states

	firings []abi.Firing
	pairs   []abi.PairRow
	ops     []abi.PaneOp
	agenda  []abi.ContentOp

	schema uint32   // of accs in tm_upgrade
	what   abi.Kept // what these are
}

// items is how many operations the call has: what op counts.
func (c *call) items() int {
	switch c.fn {
	case guest.Configure:
		return 1
	case guest.Add:
		return len(c.group)
	case guest.Create, guest.Merge, guest.Result, guest.Upgrade:
		return c.groups
	case guest.Process:
		return len(c.firings)
	case guest.Pair:
		return len(c.pairs)
	case guest.Trigger:
		return len(c.ops)
	case guest.Apply:
		return len(c.agenda)
	}
	return c.lists[0].rows
}

// inPlace reports whether the call changes accumulators of a fixed size.
func (c *call) inPlace(s *shape) bool {
	return s.width > 0 && (c.fn == guest.Create || c.fn == guest.Add || c.fn == guest.Merge || c.fn == guest.Apply)
}

// mayFill reports whether the call answers something for which there may be no room.
func (c *call) mayFill(s *shape) bool {
	return c.fn == guest.Apply || c.fn != guest.Configure && !c.inPlace(s)
}

// answersAccs reports whether the call answers accumulators of varying size.
func (c *call) answersAccs(s *shape) bool {
	return slices.Contains(s.fns, guest.Merge) && s.width == 0 && (c.fn == guest.Create || c.fn == guest.Add || c.fn == guest.Merge)
}

// part is the items from lo up to hi, with no more records than they need. States are those
// of the whole call.
func (c *call) part(lo, hi int) *call {
	p := *c
	switch c.fn {
	case guest.Configure:
	case guest.Add:
		p.inputs, p.group = c.inputs.cut(lo, hi), c.group[lo:hi]
	case guest.Create, guest.Merge, guest.Result, guest.Upgrade:
		p.groups = hi - lo
		p.accs, p.from = piece(c.accs, lo, hi), piece(c.from, lo, hi)
	case guest.Process:
		p.inputs = c.inputs.cut(lo, hi)
		p.firings = slices.Clone(c.firings[lo:hi])
		p.lists = nil
		for l, list := range c.lists {
			from, to := 0, 0
			if hi > lo {
				from, to = int(p.firings[0].From[l]), int(p.firings[hi-lo-1].To[l])
			}
			p.lists = append(p.lists, list.cut(from, to))
			for i := range p.firings {
				p.firings[i].From[l] -= uint32(from)
				p.firings[i].To[l] -= uint32(from)
			}
		}
	case guest.Pair:
		p.pairs = slices.Clone(c.pairs[lo:hi])
		var left, right renumbering
		for i, pair := range p.pairs {
			p.pairs[i].Left, p.pairs[i].Right = left.number(pair.Left), right.number(pair.Right)
		}
		p.lists = []*table{c.lists[0].pick(left.rows), c.lists[1].pick(right.rows)}
	case guest.Trigger:
		p.ops = slices.Clone(c.ops[lo:hi])
		var records renumbering
		for i, op := range p.ops {
			if op.What == element {
				p.ops[i].Row = records.number(op.Row)
			}
		}
		p.lists = []*table{c.lists[0].pick(records.rows)}
	case guest.Apply:
		p.agenda, p.lists = partOfAgenda(c.agenda[lo:hi], c.lists[0])
	default:
		p.lists = []*table{c.lists[0].cut(lo, hi)}
	}
	return &p
}

func piece(list [][]byte, lo, hi int) [][]byte {
	if list == nil {
		return nil
	}
	return list[lo:hi]
}

// renumbering numbers rows in the order of their first use.
type renumbering struct {
	rows []int
	of   map[uint32]uint32
}

func (r *renumbering) number(row uint32) uint32 {
	n, known := r.of[row]
	if !known {
		if r.of == nil {
			r.of = map[uint32]uint32{}
		}
		n = uint32(len(r.rows))
		r.rows, r.of[row] = append(r.rows, int(row)), n
	}
	return n
}

// beside is c and, independent of it, d: with accumulators and states of its own. It is not
// for watermark generators, which have one state.
func (c *call) beside(d *call) *call {
	j := *c
	j.groups += d.groups
	if c.inputs != nil {
		j.inputs = c.inputs.join(d.inputs)
	}
	j.group = slices.Clone(c.group)
	for _, g := range d.group {
		j.group = append(j.group, g+uint32(c.groups))
	}
	j.accs, j.from = slices.Concat(c.accs, d.accs), slices.Concat(c.from, d.from)
	j.keys, j.windows = slices.Concat(c.keys, d.keys), slices.Concat(c.windows, d.windows)
	j.lists = nil
	for i, l := range c.lists {
		j.lists = append(j.lists, l.join(d.lists[i]))
	}
	slot := func(n uint32, before [][]byte) uint32 {
		if n == abi.NoSlot {
			return n
		}
		return n + uint32(len(before))
	}
	j.firings = slices.Clone(c.firings)
	for _, f := range d.firings {
		f.Key, f.Window = slot(f.Key, c.keys), slot(f.Window, c.windows)
		for l := range c.lists {
			f.From[l] += uint32(c.lists[l].rows)
			f.To[l] += uint32(c.lists[l].rows)
		}
		j.firings = append(j.firings, f)
	}
	j.pairs = slices.Clone(c.pairs)
	for _, p := range d.pairs {
		j.pairs = append(j.pairs, abi.PairRow{Left: p.Left + uint32(c.lists[0].rows), Right: p.Right + uint32(c.lists[1].rows), Time: p.Time})
	}
	j.ops = slices.Clone(c.ops)
	for _, op := range d.ops {
		op.Slot = slot(op.Slot, c.keys)
		switch op.What {
		case element:
			op.Row += uint32(c.lists[0].rows)
		case merged:
			op.From = slot(op.From, c.keys)
		}
		j.ops = append(j.ops, op)
	}
	j.agenda = agendaBeside(c, d)
	return &j
}

// What an operation of tm_trigger is.
const (
	element = iota
	eventTimer
	processingTimer
	merged
	cleared
)

// said is one thing that an answer says of an item, in words that are equal exactly if the
// things are.
type said struct {
	item int
	// class sorts what is said of an item, and parts what has an order from what has none:
	// rows of an output stay in theirs.
	class int
	// key: of several with the same one, not empty, of an item the last one counts.
	key  string
	text string
}

// Classes of what is said, behind the numbers of outputs.
const (
	saidVerdict = 1_000 + iota
	saidTimer
	saidIn
	saidKey
	saidWindow
	saidAcc
)

// settle takes out what does not count, and puts the rest into an order that two equal
// answers share.
func settle(list []said) []said {
	type place struct {
		item int
		key  string
	}
	last := map[place]int{}
	for i, s := range list {
		if s.key != "" {
			last[place{s.item, s.key}] = i
		}
	}
	var out []said
	for i, s := range list {
		if s.text != "" && (s.key == "" || last[place{s.item, s.key}] == i) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b said) int {
		return cmp.Or(cmp.Compare(a.item, b.item), cmp.Compare(a.class, b.class), cmp.Compare(a.key, b.key))
	})
	return out
}

// The words of answers, for what is expected and for what came.

func sayRow(s *shape, fn guest.Func, item, output int, cells []cell) said {
	cols := s.outputs[output]
	if fn == guest.Watermark || fn == guest.Tick { // the last one counts, a null says nothing
		if cells[0].null {
			return said{item: item}
		}
		return said{item, 0, "watermark", "watermark " + cells[0].show(abi.Timestamp)}
	}
	text := "row"
	if output > 0 {
		text = "side " + s.ports[output-1]
	}
	for i, c := range cells {
		text += fmt.Sprintf(" %s=%s", cols[i].Name, c.show(cols[i].Kind))
	}
	return said{item, output, "", text}
}

func sayAcc(group int, b []byte) said { return said{group, saidAcc, "", "accumulator " + showBytes(b)} }

func sayState(item int, window bool, b []byte) said {
	if window {
		return said{item, saidWindow, "window", "window's state " + showBytes(b)}
	}
	return said{item, saidKey, "state", "state " + showBytes(b)}
}

func sayVerdict(item int, v uint64) said {
	text := [...]string{"", "fire", "purge", "fire and purge"}[v&3] // no verdict says nothing
	return said{item, saidVerdict, "verdict", text}
}

func sayTimer(item int, what uint32, at int64) said {
	verb := map[bool]string{true: "set", false: "delete"}[what <= abi.SetProcessingTimer]
	domain := map[bool]string{true: "event", false: "processing"}[what%2 == 1]
	return said{item, saidTimer, fmt.Sprintf("%s %d", domain, at), fmt.Sprintf("%s timer of %s time at %d", verb, domain, at)}
}

func sayIn(item int, from, to int64) said {
	text := fmt.Sprintf("in [%d, %d)", from, to)
	return said{item, saidIn, text, text}
}
