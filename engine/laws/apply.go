package laws

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// agendas are tried with the records of a case, on so many accumulators.
const (
	agendas    = 3
	agendaAccs = 3
)

// maxShownOps bounds what is shown of an agenda.
const maxShownOps = 20

// agenda makes operations of n records, in order: each goes into an accumulator, some into
// two, with results and resets in between.
func (d *dice) agenda(n int) (ops []udf.ContentOp) {
	for row := range uint32(n) {
		acc := d.below(agendaAccs)
		ops = append(ops, udf.ContentOp{What: udf.OpAdd, Acc: uint32(acc), Row: row})
		if d.below(3) == 0 {
			other := (acc + 1 + d.below(agendaAccs-1)) % agendaAccs
			ops = append(ops, udf.ContentOp{What: udf.OpAdd, Acc: uint32(other), Row: row})
		}
		if d.below(3) == 0 {
			ops = append(ops, udf.ContentOp{What: udf.OpEmit, Acc: uint32(d.below(agendaAccs))})
		}
		if d.below(4) == 0 {
			ops = append(ops, udf.ContentOp{What: udf.OpReset, Acc: uint32(d.below(agendaAccs))})
		}
	}
	for acc := range uint32(agendaAccs) { // so that there is something to do also without records
		ops = append(ops, udf.ContentOp{What: udf.OpEmit, Acc: acc})
	}
	return ops
}

// showOps writes operations for people.
func showOps(ops []udf.ContentOp) string {
	var words []string
	for _, op := range ops[:min(len(ops), maxShownOps)] {
		switch op.What {
		case udf.OpAdd:
			words = append(words, fmt.Sprintf("record %d into %d", op.Row, op.Acc))
		case udf.OpEmit:
			words = append(words, fmt.Sprintf("result of %d", op.Acc))
		case udf.OpReset:
			words = append(words, fmt.Sprintf("reset of %d", op.Acc))
		}
	}
	if len(ops) > maxShownOps {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

// carried is what came of an agenda: the rows of its results, in order, and the accumulators
// behind it with theirs; or a failure.
type carried struct {
	results [][]Value
	accs    []outcome
	fail    *udf.Failure
}

// apply: an agenda in one call, and in two, gives what the single calls give.
func (j *judge) apply(records []Record) (*broken, error) {
	for i := range agendas {
		d := dice(agendas*len(records) + i)
		ops := d.agenda(len(records))
		want, err := j.singly(records, ops)
		if err != nil {
			return nil, err
		}
		try := func(how string, a udf.Applier, at int) (*broken, error) {
			got, err := j.applied(a, records, ops, at)
			if err != nil {
				return nil, err
			}
			return j.carriedAgree(fmt.Sprintf("%s: %s", how, showOps(ops)), want, got), nil
		}
		for _, at := range cuts(len(ops)) {
			how := fmt.Sprintf("in two calls, cut at %d", at)
			if at == 0 || at == len(ops) {
				how = "in one call"
			}
			if b, err := try(how, j.a.(udf.Applier), at); b != nil || err != nil {
				return b, err
			}
		}
		if !j.anew {
			continue
		}
		for _, at := range []int{0, len(ops) / 2} {
			if b, err := try(fmt.Sprintf("on fresh instances, cut at %d", at), forgetful{j.Open, j.info}, at); b != nil || err != nil {
				return b, err
			}
		}
	}
	return nil, nil
}

// singly carries out operations by Create, Add and Result, one call for each.
func (j *judge) singly(records []Record, ops []udf.ContentOp) (c carried, err error) {
	accs := make([][]byte, agendaAccs)
	for i := range accs {
		if accs[i], c.fail, err = j.create(j.a); c.fail != nil || err != nil {
			return c, err
		}
	}
	for _, op := range ops {
		acc := &accs[op.Acc]
		switch op.What {
		case udf.OpAdd:
			*acc, c.fail, err = j.add(j.a, *acc, records[op.Row:op.Row+1])
		case udf.OpReset:
			*acc, c.fail, err = j.create(j.a)
		case udf.OpEmit:
			var row []Value
			row, c.fail, err = j.resultOf(j.a, *acc)
			c.results = append(c.results, row)
		}
		if c.fail != nil || err != nil {
			return c, err
		}
	}
	return c, j.behind(&c, accs)
}

// behind adds the accumulators as they are in the end.
func (j *judge) behind(c *carried, accs [][]byte) error {
	for _, acc := range accs {
		o, err := j.ended(j.a, acc, nil, nil)
		if err != nil {
			return err
		}
		c.accs = append(c.accs, o)
	}
	return nil
}

// applied carries out operations in two calls, those before at in the first one. A call
// without any is not made.
func (j *judge) applied(a udf.Applier, records []Record, ops []udf.ContentOp, at int) (c carried, err error) {
	var accs udf.Accs
	if err := a.Create(&accs, agendaAccs); err != nil {
		c.fail, err = failed(err)
		return c, err
	}
	rows := rowsOf(j.info.Inputs, records, 1)
	for _, part := range [][]udf.ContentOp{ops[:at], ops[at:]} {
		if len(part) == 0 {
			continue
		}
		out := j.noRows()
		if err := a.Apply(&accs, part, rows, out); err != nil {
			c.fail, err = failed(err)
			return c, err
		}
		for r := range out.Cols[0].Len() {
			c.results = append(c.results, rowOf(out, r))
		}
	}
	all := make([][]byte, accs.N())
	for i := range all {
		all[i] = bytes.Clone(accs.At(i))
	}
	return c, j.behind(&c, all)
}

// carriedAgree compares to the bit: results first, since they say more. What one way refuses
// the other way must refuse, too.
func (j *judge) carriedAgree(how string, want, got carried) *broken {
	if want.fail != nil && got.fail != nil {
		j.law.Unjudged++
		return nil
	}
	j.law.Judged++
	worked := func(c carried) string {
		if c.fail != nil {
			return c.fail.Error()
		}
		return fmt.Sprintf("%d results", len(c.results))
	}
	if want.fail != nil || got.fail != nil || len(want.results) != len(got.results) {
		return &broken{how, worked(want), worked(got)}
	}
	for i, row := range want.results {
		if !slices.EqualFunc(row, got.results[i], sameBits) {
			say := func(row []Value) string { return fmt.Sprintf("result %d is %s", i, showRow(j.info.Outputs, row)) }
			return &broken{how, say(row), say(got.results[i])}
		}
	}
	for i, o := range want.accs {
		if !bytes.Equal(o.acc, got.accs[i].acc) {
			say := func(o outcome) string { return fmt.Sprintf("in the end %d is %s", i, j.show(o, true)) }
			return &broken{how, say(o), say(got.accs[i])}
		}
	}
	return nil
}

var _ udf.Applier = forgetful{}

// Apply implements udf.Applier, for aggregates that do.
func (f forgetful) Apply(accs *udf.Accs, ops []udf.ContentOp, rows *udf.Rows, out *stream.Columns) error {
	return f.call(func(a udf.Aggregate) error { return a.(udf.Applier).Apply(accs, ops, rows, out) })
}
