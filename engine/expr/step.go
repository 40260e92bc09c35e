package expr

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// Config is a stateless step of expressions: a filter, then derived columns, then a
// projection; each may be missing. All expressions see the record as it came in.
type Config struct {
	Schema []stream.Field // of the records that come in
	Filter string         // true for the records to keep; empty: all
	Derive []Derived
	// Project are the columns of the records that come out, in order; nil: those of the
	// schema, then the derived ones, each of which takes the place of a field of its name.
	Project []Projected
}

// Derived is a column that is computed.
type Derived struct{ Name, Expr string }

// Projected is a column of the records that come out: a field or a derived column, under
// a name of its own.
type Projected struct{ Name, From string }

// Problem is what is wrong with a Config, at a place of one of its texts.
type Problem struct {
	Part         string // "filter", "derive.NAME" or "project.NAME"
	Line, Column int    // in the expression, from 1; 0: the problem is not in an expression
	Message      string
}

func (p *Problem) Error() string {
	switch {
	case p.Line == 0:
		return fmt.Sprintf("%s: %s", p.Part, p.Message)
	case p.Line == 1:
		return fmt.Sprintf("%s, column %d: %s", p.Part, p.Column, p.Message)
	}
	return fmt.Sprintf("%s, line %d, column %d: %s", p.Part, p.Line, p.Column, p.Message)
}

// Problems are all that is wrong with a Config. The class is fault.ErrUser.
type Problems []*Problem

func (ps Problems) Error() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap gives the class.
func (ps Problems) Unwrap() error { return fault.ErrUser }

// Step runs the expressions of a Config.
type Step struct {
	info   udf.StatelessInfo
	filter node // nil: keep all
	made   []made

	chunk chunk
	good  []uint32 // places in the chunk of the records that come out
	part  []uint32 // rows of the records that the filter kept
}

// made is a column that Apply makes.
type made struct {
	name string
	expr node
}

// New compiles a Config. What is wrong with it is a Problems with all that was found.
func New(cfg Config) (*Step, error) {
	lang, err := newLanguage(cfg.Schema)
	if err != nil {
		return nil, err
	}
	b := builder{language: lang, cfg: cfg, inputs: make([]int, len(cfg.Schema)), step: &Step{}}
	for i := range b.inputs {
		b.inputs[i] = -1
	}
	b.build()
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	return b.step, nil
}

// builder makes a Step.
type builder struct {
	*language
	cfg      Config
	step     *Step
	inputs   []int // for each field of the schema its number among the inputs, -1: not read
	derived  map[string]int
	problems Problems
}

func (b *builder) report(part, format string, args ...any) {
	b.problems = append(b.problems, &Problem{Part: part, Message: fmt.Sprintf(format, args...)})
}

// input returns the number of a field among the inputs.
func (b *builder) input(field int) int {
	if b.inputs[field] < 0 {
		f := b.cfg.Schema[field]
		b.inputs[field] = len(b.step.info.Inputs)
		b.step.info.Inputs = append(b.step.info.Inputs, udf.Input{Name: f.Name, Kind: f.Kind, Nullable: true})
	}
	return b.inputs[field]
}

func (b *builder) field(name string) int {
	return slices.IndexFunc(b.cfg.Schema, func(f stream.Field) bool { return f.Name == name })
}

func (b *builder) compile(part, text string) node {
	if strings.TrimSpace(text) == "" {
		b.report(part, "the expression is empty")
		return nil
	}
	n, p := b.language.compile(text, b.input)
	if p != nil {
		p.Part = part
		b.problems = append(b.problems, p)
		return nil
	}
	return n
}

func (b *builder) build() {
	if b.cfg.Filter != "" {
		if b.step.filter = b.compile("filter", b.cfg.Filter); b.step.filter != nil && b.step.filter.kind() != boolKind {
			b.report("filter", "must be true or false, is %s", b.step.filter.kind())
		}
	}
	b.derived = map[string]int{}
	nodes := make([]node, len(b.cfg.Derive))
	for i, d := range b.cfg.Derive {
		part := "derive." + d.Name
		if _, ok := b.derived[d.Name]; ok {
			b.report(part, "is there twice")
		}
		b.derived[d.Name] = i
		if nodes[i] = b.compile(part, d.Expr); nodes[i] == nil {
			continue
		}
		if _, ok := kindTo(nodes[i].kind()); !ok {
			fix := ""
			if nodes[i].kind() == spanKind {
				fix = "; take getMilliseconds() or getSeconds() of it"
			}
			b.report(part, "a column cannot be %s%s", nodes[i].kind(), fix)
		}
	}
	if len(b.problems) == 0 {
		b.project(nodes)
	}
}

// project lays out the records that come out.
func (b *builder) project(nodes []node) {
	columns := b.cfg.Project
	if columns == nil {
		for _, f := range b.cfg.Schema {
			columns = append(columns, Projected{f.Name, f.Name})
		}
		for _, d := range b.cfg.Derive {
			if b.field(d.Name) < 0 {
				columns = append(columns, Projected{d.Name, d.Name})
			}
		}
	}
	if len(columns) == 0 {
		b.report("project", "no column is left")
	}
	used := map[int]bool{}
	names := map[string]bool{}
	for _, p := range columns {
		part := "project." + p.Name
		if names[p.Name] {
			b.report(part, "is there twice")
		}
		names[p.Name] = true
		if d, ok := b.derived[p.From]; ok {
			used[d] = true
			k, _ := kindTo(nodes[d].kind())
			b.step.info.Outputs = append(b.step.info.Outputs, udf.StatelessOutput{Field: stream.Field{Name: p.Name, Kind: k}, Carry: -1})
			b.step.made = append(b.step.made, made{p.From, nodes[d]})
			continue
		}
		i := b.field(p.From)
		if i < 0 {
			b.report(part, "there is no field or derived column %s", p.From)
			continue
		}
		b.step.info.Outputs = append(b.step.info.Outputs,
			udf.StatelessOutput{Field: stream.Field{Name: p.Name, Kind: b.cfg.Schema[i].Kind}, Carry: b.input(i)})
	}
	for i, d := range b.cfg.Derive {
		if !used[i] {
			b.report("derive."+d.Name, "has no effect: project does not name it")
		}
	}
}

// Info describes the step.
func (s *Step) Info() udf.StatelessInfo { return s.info }

// Close does nothing: there is nothing to close.
func (s *Step) Close() error { return nil }

// Apply filters and computes, chunk by chunk.
func (s *Step) Apply(rows *udf.Rows, out *udf.Mapped) error {
	out.Reset(&s.info)
	s.chunk.batch, s.chunk.cols = rows.Batch, rows.Cols
	for lo := 0; lo < len(rows.Sel); lo += chunkRows {
		hi := min(lo+chunkRows, len(rows.Sel))
		s.apply(rows.Sel[lo:hi], uint32(lo), out)
	}
	out.N = len(out.Of)
	return nil
}

// apply takes the records sel, whose indices begin at base.
func (s *Step) apply(sel []uint32, base uint32, out *udf.Mapped) {
	refused := len(out.Refused)
	kept := s.good[:0]
	s.chunk.sel = sel
	if s.filter == nil {
		for i := range sel {
			kept = append(kept, uint32(i))
		}
	} else {
		s.chunk.start()
		v := s.filter.eval(&s.chunk)
		for i := range sel {
			if why := v.why(i); why != fine {
				out.Refused = append(out.Refused, refusal(base+uint32(i), "filter", why))
			} else if v.truth(i) {
				kept = append(kept, uint32(i))
			}
		}
	}
	if len(s.made) > 0 && len(kept) > 0 {
		kept = s.compute(sel, kept, base, out)
	}
	for _, i := range kept {
		out.Of = append(out.Of, base+i)
	}
	s.good = kept
	if s.filter != nil && len(s.made) > 0 {
		slices.SortFunc(out.Refused[refused:], func(a, b *udf.Failure) int { return a.Op - b.Op })
	}
}

// compute appends the made columns for the records at the places kept of sel, and
// returns those that have them all.
func (s *Step) compute(sel, kept []uint32, base uint32, out *udf.Mapped) []uint32 {
	if len(kept) < len(sel) {
		s.part = s.part[:0]
		for _, i := range kept {
			s.part = append(s.part, sel[i])
		}
		s.chunk.sel = s.part
	}
	var bad []bool // by place in kept
	for i := range s.made {
		m := &s.made[i]
		s.chunk.start()
		v := m.expr.eval(&s.chunk)
		for n := range v.bad {
			if v.bad[n] == fine || bad != nil && bad[n] {
				continue
			}
			if bad == nil {
				bad = make([]bool, len(kept))
			}
			bad[n] = true
			out.Refused = append(out.Refused, refusal(base+kept[n], m.name, v.bad[n]))
		}
		appendColumn(&out.Columns, i, m.expr.kind(), v, len(kept))
	}
	if bad == nil {
		return kept
	}
	for i := range s.made {
		dropRows(&out.Cols[i], out.Cols[i].Len()-len(kept), bad)
	}
	n := 0
	for i, at := range kept {
		if !bad[i] {
			kept[n] = at
			n++
		}
	}
	return kept[:n]
}

func refusal(op uint32, part string, why reason) *udf.Failure {
	return &udf.Failure{Op: int(op), Message: part + ": " + reasonTexts[why]}
}

// appendColumn appends n values to column i. Text is copied into the blob: what the
// expression made goes with the next one.
func appendColumn(out *stream.Columns, i int, k kind, v *vector, n int) {
	c := &out.Cols[i]
	switch {
	case v.null == nil && v.bad == nil && c.Valid == nil && k == floatKind:
		c.Floats = append(c.Floats, v.floats[:n]...)
		return
	case v.null == nil && v.bad == nil && c.Valid == nil && (k == intKind || k == timeKind):
		c.Ints = append(c.Ints, v.ints[:n]...)
		return
	}
	for r := range n {
		switch {
		case v.isNull(r) || v.why(r) != fine:
			c.AppendNull()
		case k == floatKind:
			c.AppendFloat(v.floats[r])
		case k == boolKind:
			c.AppendBool(v.bools[r])
		case k == textKind:
			c.AppendStr(stream.Str{Off: uint32(len(out.Blob)), Len: uint32(len(v.texts[r]))})
			out.Blob = append(out.Blob, v.texts[r]...)
		default:
			c.AppendInt(v.ints[r])
		}
	}
}

// dropRows takes the marked rows out of those from start on.
func dropRows(c *stream.Column, start int, drop []bool) {
	n := start
	valid := c.Valid
	for i, gone := range drop {
		if gone {
			continue
		}
		r := start + i
		switch c.Kind {
		case stream.Float64:
			c.Floats[n] = c.Floats[r]
		case stream.Bool:
			c.Bools[n] = c.Bools[r]
		case stream.String:
			c.Strs[n] = c.Strs[r]
		default:
			c.Ints[n] = c.Ints[r]
		}
		if valid != nil { // n is never above r, so nothing is read that was written
			bit := valid.Get(r)
			valid[n>>6] &^= 1 << (n & 63)
			if bit {
				valid[n>>6] |= 1 << (n & 63)
			}
		}
		n++
	}
	c.Truncate(n)
}

var _ udf.Stateless = (*Step)(nil)
