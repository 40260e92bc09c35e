package conformance

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// The operations of tm_aggregate_apply: records go into accumulators, which give results, are
// made anew and take in others.

// partOfAgenda is operations with no more records than they need. Rows of results begin anew.
func partOfAgenda(ops []abi.ContentOp, list *table) ([]abi.ContentOp, []*table) {
	part := slices.Clone(ops)
	var records renumbering
	rows := uint32(0)
	for i, op := range part {
		switch op.What {
		case abi.ApplyRecord:
			part[i].Arg = records.number(op.Arg)
		case abi.ApplyResult:
			part[i].Arg = rows
			rows++
		}
	}
	return part, []*table{list.pick(records.rows)}
}

// agendaBeside is the operations of c, and behind them those of d on accumulators of its own.
func agendaBeside(c, d *call) []abi.ContentOp {
	all, rows := slices.Clone(c.agenda), uint32(results(c.agenda))
	for _, op := range d.agenda {
		op.Acc += uint32(c.groups)
		switch op.What {
		case abi.ApplyRecord:
			op.Arg += uint32(c.lists[0].rows)
		case abi.ApplyResult:
			op.Arg += rows
		case abi.ApplyMerge:
			op.Arg += uint32(c.groups)
		}
		all = append(all, op)
	}
	return all
}

// results is how many rows operations answer.
func results(ops []abi.ContentOp) (n int) {
	for _, op := range ops {
		if op.What == abi.ApplyResult {
			n++
		}
	}
	return n
}

// opEnds reports whether op may be what a guest leaves there after all operations: the last
// one, or, if that is in a stretch of records, another one of these.
func opEnds(ops []abi.ContentOp, op int) bool {
	return op == len(ops)-1 || op >= 0 && op < len(ops) && !slices.ContainsFunc(ops[op:], func(o abi.ContentOp) bool { return o.What != abi.ApplyRecord })
}

// agenda reads the answer of tm_aggregate_apply: a row of each result that is done, said of
// its operation, and all accumulators.
func (r *reply) agenda(c *call, s *shape, f *frame, arena, out []byte, done int) error {
	for g := range c.groups {
		r.accs = append(r.accs, slices.Clone(arena[f.accs.at+g*s.width:][:s.width]))
	}
	if err := r.rows(c, s, f, arena, out, results(c.agenda[:done])); err != nil {
		return err
	}
	row := 0
	for i, op := range c.agenda[:done] {
		if op.What == abi.ApplyResult {
			r.said[row].item = i
			row++
		}
	}
	return nil
}

// sayAccs says of a call that changes accumulators, whatever its items are, what these are
// behind it.
func sayAccs(accs [][]byte) (list []said) {
	for g, b := range accs {
		list = append(list, sayAcc(g, b))
	}
	return list
}

// agendaOp reads an operation of tm_aggregate_apply.
func (p *parser) agendaOp(c *call, words []string) error {
	what := slices.Index([]string{"record", "result", "reset", "merge"}, words[0])
	if what < 0 {
		return fmt.Errorf("%s is none of record, result, reset, merge", words[0])
	}
	op := abi.ContentOp{What: uint32(what)}
	args := []func(string) error{index(&op.Acc, c.groups)}
	switch op.What {
	case abi.ApplyRecord:
		args = slices.Insert(args, 0, index(&op.Arg, c.lists[0].rows))
	case abi.ApplyResult:
		op.Arg = uint32(results(c.agenda))
	case abi.ApplyMerge:
		args = append(args, index(&op.Arg, c.groups))
	}
	if len(words) != 1+len(args) {
		return fmt.Errorf("record ROW ACCUMULATOR, result ACCUMULATOR, reset ACCUMULATOR or merge ACCUMULATOR FROM")
	}
	for i, arg := range args {
		if err := arg(words[1+i]); err != nil {
			return fmt.Errorf("%s %s: %w", words[0], words[1+i], err)
		}
	}
	gone := func(acc uint32) bool {
		return slices.ContainsFunc(c.agenda, func(o abi.ContentOp) bool { return o.What == abi.ApplyMerge && o.Arg == acc })
	}
	if merge := op.What == abi.ApplyMerge; gone(op.Acc) || merge && (gone(op.Arg) || op.Arg == op.Acc) {
		return fmt.Errorf("an accumulator that was merged into another is not named again")
	}
	c.agenda = append(c.agenda, op)
	return nil
}

// itemsOf is how many there are of which an answer says a thing.
func (s *step) itemsOf(word string) int {
	if s.fn == guest.Add || s.fn == guest.Apply && word == "accumulator" {
		return s.groups
	}
	return s.items()
}

// agendaDamages are what a guest must see of operations.
func agendaDamages(c *call) (out []damage) {
	field := func(name string, what uint32, at int, v func(f *frame) uint32) {
		i := slices.IndexFunc(c.agenda, func(o abi.ContentOp) bool { return o.What == what })
		if i < 0 {
			return
		}
		out = append(out, damage{"operation " + strconv.Itoa(i) + " " + name, func(arena []byte, f *frame) {
			items := binary.LittleEndian.Uint32(arena[f.header.Block:])
			binary.LittleEndian.PutUint32(arena[int(items)+i*abi.ContentOpBytes+at:], v(f))
		}})
	}
	groups := func(f *frame) uint32 { return f.header.Groups }
	field("of no kind", abi.ApplyRecord, 0, func(*frame) uint32 { return abi.ApplyMerge + 1 })
	field("on an accumulator that there is not", abi.ApplyRecord, 4, groups)
	field("on an accumulator that there is not", abi.ApplyReset, 4, groups)
	field("with a record that there is not", abi.ApplyRecord, 8, func(*frame) uint32 { return uint32(c.lists[0].rows) })
	field("with a row that there is not", abi.ApplyResult, 8, func(*frame) uint32 { return uint32(results(c.agenda)) })
	field("with an accumulator to merge that there is not", abi.ApplyMerge, 8, groups)
	return out
}
