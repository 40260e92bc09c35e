package conformance

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// vector is a case of a file of vectors: calls of one instance, in order, and what each must
// answer.
type vector struct {
	name string
	file string
	line int
	// once: it runs as it is written, and not in variants, because it takes long.
	once  bool
	calls []*step
}

// step is a call with its expected answer.
type step struct {
	*call
	line  int
	want  answer
	after bool // an answer is given
}

// answer is what came of a call, or must come.
type answer struct {
	status string // one of the words below
	op     int    // of a refusal and a trap; -1: of nothing, or it does not matter
	text   string // of a refusal; of a trap a part of it
	any    bool   // any text will do: it is the SDK's
	said   []said
}

// The words for statuses in vectors; a trap is none of SPEC section 5.
const (
	ok       = "OK"
	refused  = "REFUSED"
	trapped  = "TRAP"
	badFrame = "BAD_FRAME"
)

// parser reads a file of vectors (abi/conformance/vectors/README.md).
type parser struct {
	shape *shape
	file  string
	line  int
	out   []*vector
	rows  func(words []string) error // takes the rows of the section that is open; nil: none is
}

func parse(s *shape, file, text string) ([]*vector, error) {
	p := &parser{shape: s, file: file}
	for line := range strings.Lines(text) {
		p.line++
		line = strings.TrimRight(line, " \n")
		if strings.HasPrefix(strings.TrimLeft(line, " "), "#") || line == "" {
			continue
		}
		if err := p.take(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, p.line, err)
		}
	}
	for _, v := range p.out {
		for _, s := range v.calls {
			if !s.after {
				return nil, fmt.Errorf("%s:%d: the call has no answer", file, s.line)
			}
		}
	}
	return p.out, nil
}

func (p *parser) take(line string) error {
	words, err := tokens(line)
	if err != nil {
		return err
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	switch {
	case indent == 0 && words[0] == "case":
		name := strings.TrimPrefix(line, "case ")
		p.out = append(p.out, &vector{name: name, file: p.file, line: p.line})
		return nil
	case len(p.out) == 0:
		return fmt.Errorf("a file begins with a case")
	case indent == 0:
		p.rows = nil
		return p.head(words)
	case indent == 2 && p.last() != nil && p.last().after:
		return p.answer(p.last(), words)
	case indent == 2 && p.last() == nil && words[0] == "once":
		p.out[len(p.out)-1].once = true
		return nil
	case indent == 2 && p.last() != nil:
		return p.section(p.last(), words)
	case indent == 4 && p.rows != nil:
		return p.rows(words)
	}
	return fmt.Errorf("an indent of %d, or at this place, means nothing", indent)
}

// last is the step that is being read.
func (p *parser) last() *step {
	v := p.out[len(p.out)-1]
	if len(v.calls) == 0 {
		return nil
	}
	return v.calls[len(v.calls)-1]
}

// head reads a call or a status.
func (p *parser) head(words []string) error {
	v := p.out[len(p.out)-1]
	if fn := slices.Index(exports(), words[0]); fn >= 0 {
		c, err := p.begin(guest.Func(fn), words[1:])
		if err != nil {
			return err
		}
		if (c.fn == guest.Configure) != (len(v.calls) == 0) {
			return fmt.Errorf("a case begins with tm_configure, and has one")
		}
		st := &step{call: c, line: p.line}
		if c.fn == guest.Configure { // unless it says something else
			st.want, st.after = answer{status: ok, op: -1}, true
		}
		v.calls = append(v.calls, st)
		return nil
	}
	s := p.last()
	if s == nil || s.after && s.fn != guest.Configure {
		return fmt.Errorf("%s is neither a call nor the status of one", words[0])
	}
	s.after = true
	s.want = answer{status: words[0], op: -1}
	switch words[0] {
	case ok, badFrame:
		if len(words) > 1 {
			return fmt.Errorf("%s stands alone", words[0])
		}
		return nil
	case refused, trapped:
	default:
		return fmt.Errorf("%s is neither a call nor one of OK, REFUSED, TRAP, BAD_FRAME", words[0])
	}
	s.want.any = true
	for _, w := range words[1:] {
		var err error
		if number, isOp := strings.CutPrefix(w, "op="); isOp {
			s.want.op, err = strconv.Atoi(number)
		} else {
			s.want.any = false
			s.want.text, err = parseText(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exports are the names of guest's functions, by number.
func exports() []string {
	var names []string
	for f := guest.Configure; f <= guest.Upgrade; f++ {
		names = append(names, f.String())
	}
	return names
}

// timeOf is the column in front of a list.
func (s *shape) timeOf() abi.Column {
	return abi.Column{Name: "time", Kind: abi.Timestamp, Nullable: !s.timed}
}

// begin is a call without items yet.
func (p *parser) begin(fn guest.Func, options []string) (*call, error) {
	c := &call{fn: fn}
	s := p.shape
	switch fn {
	case guest.Configure:
		return p.configure(c, options)
	case guest.Add:
		c.inputs = newTable(s.inputs...)
	case guest.Process:
		c.inputs = newTable(s.inputs...)
	case guest.Apply:
		c.lists = []*table{newTable(s.inputs...)}
	}
	if !slices.Contains(s.fns, fn) {
		return nil, fmt.Errorf("the plug-in has no %s", fn)
	}
	if fn == guest.Upgrade {
		return p.upgrade(c, options)
	}
	for _, l := range s.lists {
		c.lists = append(c.lists, newTable(append([]abi.Column{s.timeOf()}, l...)...))
	}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		n, err := strconv.Atoi(value)
		if name != "groups" || err != nil || n < 0 {
			return nil, fmt.Errorf("%s: a call takes groups=N only", o)
		}
		c.groups = n
	}
	if (c.fn == guest.Add || c.fn == guest.Apply) && s.width > 0 { // from fresh ones that are zero, unless it says so
		for range c.groups {
			c.accs = append(c.accs, make([]byte, s.width))
		}
	}
	return c, nil
}

// configure makes the one row of arguments, with defaults where none is given.
func (p *parser) configure(c *call, options []string) (*call, error) {
	c.inputs = newTable()
	c.inputs.rows = 1
	used := 0
	for _, param := range p.shape.params {
		arg := cell{null: true}
		if param.HasDefault {
			d := param.Default
			arg = cell{word: uint64(d.Int), text: d.Str}
			switch param.Kind {
			case abi.Float64:
				arg.word = math.Float64bits(d.Float)
			case abi.Bool:
				arg.word = map[bool]uint64{true: 1}[d.Bool]
			}
		}
		for _, o := range options {
			if value, ok := strings.CutPrefix(o, param.Name+"="); ok {
				var err error
				if arg, err = parseCell(param.Kind, value); err != nil {
					return nil, err
				}
				used++
			}
		}
		c.inputs.cols = append(c.inputs.cols, column{abi.Column{Name: param.Name, Kind: param.Kind, Nullable: true}, []cell{arg}})
	}
	if used != len(options) {
		return nil, fmt.Errorf("one of %s is no parameter, or given twice", strings.Join(options, " "))
	}
	return c, nil
}

// section opens a part of the picture.
func (p *parser) section(s *step, words []string) error {
	c := s.call
	list := func(i int) error {
		if i >= len(c.lists) {
			return fmt.Errorf("the plug-in is shown no %s", words[0])
		}
		p.rows = p.columns(c.lists[i], words[1:], nil)
		return nil
	}
	pieces := func(dst *[][]byte) error {
		*dst = nil
		p.rows = func(words []string) error {
			b, err := parseBytes(words)
			*dst = append(*dst, b)
			return err
		}
		return nil
	}
	switch words[0] {
	case "records":
		if c.fn == guest.Add {
			if len(words) < 2 || words[1] != "group" {
				return fmt.Errorf("the first column of records is group")
			}
			p.rows = p.columns(c.inputs, words[2:], func(word string) error {
				g, err := strconv.ParseUint(word, 10, 32)
				if err == nil && int(g) >= c.groups {
					err = fmt.Errorf("group %d of %d", g, c.groups)
				}
				c.group = append(c.group, uint32(g))
				return err
			})
			return nil
		}
		return list(0)
	case "left":
		return list(0)
	case "right":
		return list(1)
	case "accumulators":
		return pieces(&c.accs)
	case "from":
		return pieces(&c.from)
	case "states":
		if c.fn == guest.Upgrade {
			p.rows = c.oldStates
			return nil
		}
		return pieces(&c.keys)
	case "keys", "state":
		return pieces(&c.keys)
	case "windows":
		return pieces(&c.windows)
	case "pairs":
		p.rows = func(words []string) error {
			if len(words) != 3 {
				return fmt.Errorf("a pair is the row of the left record, that of the right one, and a time")
			}
			left, err1 := strconv.ParseUint(words[0], 10, 32)
			right, err2 := strconv.ParseUint(words[1], 10, 32)
			at, err3 := strconv.ParseInt(words[2], 10, 64)
			if err1 != nil || err2 != nil || err3 != nil || int(left) >= c.lists[0].rows || int(right) >= c.lists[1].rows {
				return fmt.Errorf("%v is no pair of these records", words)
			}
			c.pairs = append(c.pairs, abi.PairRow{Left: uint32(left), Right: uint32(right), Time: at})
			return nil
		}
		return nil
	case "firings":
		p.rows = func(words []string) error { return p.firing(c, words) }
		return nil
	case "operations":
		if c.fn == guest.Apply {
			p.rows = func(words []string) error { return p.agendaOp(c, words) }
			return nil
		}
		p.rows = func(words []string) error { return p.operation(c, words) }
		return nil
	}
	return fmt.Errorf("%q is no part of a frame", words[0])
}

// columns reads rows of a table whose columns have these names; first takes the word in
// front.
func (p *parser) columns(t *table, names []string, first func(word string) error) func([]string) error {
	return func(words []string) error {
		if first != nil {
			if err := first(words[0]); err != nil {
				return err
			}
			words = words[1:]
		}
		if len(words) != len(names) || len(names) != len(t.cols) {
			return fmt.Errorf("%d values under %d names, the plug-in is shown %d columns", len(words), len(names), len(t.cols))
		}
		for i := range t.cols {
			col := &t.cols[i]
			if col.Name != names[i] {
				return fmt.Errorf("column %d is %s, not %s", i, col.Name, names[i])
			}
			c, err := parseCell(col.Kind, words[i])
			if err != nil {
				return err
			}
			if c.null && !col.Nullable {
				return fmt.Errorf("%s is never null", col.Name)
			}
			col.cells = append(col.cells, c)
		}
		t.rows++
		return nil
	}
}

// option reads name=value.
type option struct {
	name string
	to   func(value string) error
}

func options(words []string, known ...option) error {
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		i := slices.IndexFunc(known, func(o option) bool { return o.name == name })
		if i < 0 {
			return fmt.Errorf("%s is not known here", w)
		}
		if err := known[i].to(value); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

func number(dst *int64) func(string) error {
	return func(v string) (err error) { *dst, err = strconv.ParseInt(v, 10, 64); return err }
}

// index reads a number below n.
func index(dst *uint32, n int) func(string) error {
	return func(v string) error {
		i, err := strconv.ParseUint(v, 10, 32)
		if err == nil && int(i) >= n {
			err = fmt.Errorf("there are %d", n)
		}
		*dst = uint32(i)
		return err
	}
}

// span reads FROM..TO.
func span[T int64 | uint32](from, to *T) func(string) error {
	return func(v string) error {
		a, b, _ := strings.Cut(v, "..")
		lo, err1 := strconv.ParseInt(a, 10, 64)
		hi, err2 := strconv.ParseInt(b, 10, 64)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("must be FROM..TO")
		}
		*from, *to = T(lo), T(hi)
		return nil
	}
}

func (p *parser) firing(c *call, words []string) error {
	f := abi.Firing{Watermark: math.MinInt64, Key: abi.NoSlot, Window: abi.NoSlot}
	known := []option{{"window", span(&f.Start, &f.End)}, {"watermark", number(&f.Watermark)}, {"clock", number(&f.Now)},
		{"key", index(&f.Key, len(c.keys))}, {"slot", index(&f.Window, len(c.windows))}, {"revision", index(&f.Revision, math.MaxUint32)},
		{"records", span(&f.From[0], &f.To[0])}, {"left", span(&f.From[0], &f.To[0])}, {"right", span(&f.From[1], &f.To[1])}}
	cells := make([]cell, len(c.inputs.cols))
	for i := range c.inputs.cols {
		cells[i].null = true
		known = append(known, option{"in." + c.inputs.cols[i].Name, func(v string) (err error) { cells[i], err = parseCell(c.inputs.cols[i].Kind, v); return err }})
	}
	if err := options(words, known...); err != nil {
		return err
	}
	for l := range c.lists {
		before := uint32(0) // records of firings stand one behind the other
		if n := len(c.firings); n > 0 {
			before = c.firings[n-1].To[l]
		}
		if f.From[l] != before || f.From[l] > f.To[l] || int(f.To[l]) > c.lists[l].rows {
			return fmt.Errorf("records %d..%d of %d, behind %d", f.From[l], f.To[l], c.lists[l].rows, before)
		}
	}
	for i := range cells {
		c.inputs.cols[i].cells = append(c.inputs.cols[i].cells, cells[i])
	}
	c.inputs.rows++
	c.firings = append(c.firings, f)
	return nil
}

func (p *parser) operation(c *call, words []string) error {
	what := slices.Index([]string{"element", "event", "processing", "merge", "clear"}, words[0])
	if what < 0 {
		return fmt.Errorf("%s is none of element, event, processing, merge, clear", words[0])
	}
	op := abi.PaneOp{Watermark: math.MinInt64, What: uint32(what), Slot: abi.NoSlot}
	ending := option{"ending", func(string) error { op.Flags = abi.Ending; return nil }}
	err := options(words[1:], option{"window", span(&op.Start, &op.End)}, option{"watermark", number(&op.Watermark)}, option{"clock", number(&op.Now)},
		option{"slot", index(&op.Slot, len(c.keys))}, option{"time", number(&op.Time)}, option{"row", index(&op.Row, c.lists[0].rows)},
		option{"from", index(&op.From, len(c.keys))}, ending)
	if err != nil {
		return err
	}
	if what == element {
		if op.Time = math.MinInt64; !c.lists[0].cols[0].cells[op.Row].null {
			op.Time = int64(c.lists[0].cols[0].cells[op.Row].word)
		}
	}
	c.ops = append(c.ops, op)
	return nil
}

// answer reads a line of what is expected.
func (p *parser) answer(s *step, words []string) error {
	if s.want.status != ok {
		return fmt.Errorf("only OK has an answer")
	}
	word, output, sh := words[0], 0, p.shape
	words = words[1:]
	if word == "side" && len(words) > 0 {
		output = 1 + slices.Index(sh.ports, words[0])
		if output == 0 {
			return fmt.Errorf("there is no side output %s", words[0])
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return fmt.Errorf("%s: of which item?", word)
	}
	item, err := strconv.Atoi(words[0])
	n := s.itemsOf(word)
	if err != nil || item < 0 || item >= n {
		return fmt.Errorf("%s is none of %d items", words[0], n)
	}
	words = words[1:]
	say := func(x said) error { s.want.said = append(s.want.said, x); return nil }
	switch word {
	case "row", "side":
		if s.fn == guest.Apply && s.agenda[item].What != abi.ApplyResult {
			return fmt.Errorf("operation %d gives no row", item)
		}
		cells := make([]cell, len(sh.outputs[output]))
		var known []option
		for i, col := range sh.outputs[output] {
			cells[i].null = true
			known = append(known, option{col.Name, func(v string) (err error) { cells[i], err = parseCell(col.Kind, v); return err }})
		}
		if err := options(words, known...); err != nil {
			return err
		}
		return say(sayRow(sh, s.fn, item, output, cells))
	case "watermark":
		var at int64
		if len(words) != 1 || number(&at)(words[0]) != nil {
			return fmt.Errorf("watermark ITEM TIME")
		}
		return say(sayRow(sh, s.fn, item, 0, []cell{{word: uint64(at)}}))
	case "accumulator", "state", "window", "upgraded":
		b, err := parseBytes(words)
		if err != nil {
			return err
		}
		switch {
		case word == "accumulator":
			return say(sayAcc(item, b))
		case word == "upgraded":
			return say(sayUpgraded(item, b))
		}
		return say(sayState(item, word == "window", b))
	case "in":
		var from, to int64
		if len(words) != 2 || number(&from)(words[0]) != nil || number(&to)(words[1]) != nil {
			return fmt.Errorf("in ITEM FROM TO")
		}
		return say(sayIn(item, from, to))
	case "verdict":
		v := slices.Index([]string{"", "fire", "purge", "fire and purge"}, strings.Join(words, " "))
		if v < 1 {
			return fmt.Errorf("a verdict is fire, purge, or fire and purge; without one nothing is written")
		}
		return say(sayVerdict(item, uint64(v)))
	case "set", "delete":
		var at int64
		if len(words) != 2 || number(&at)(words[1]) != nil {
			return fmt.Errorf("%s ITEM event|processing TIME", word)
		}
		what := uint32(1 + slices.Index([]string{"event", "processing"}, words[0]))
		if what == 0 {
			return fmt.Errorf("%s is neither event nor processing", words[0])
		}
		if word == "delete" {
			what += 2
		}
		return say(sayTimer(item, what, at))
	}
	return fmt.Errorf("%s is no part of an answer", word)
}
