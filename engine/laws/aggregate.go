package laws

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// rounding is how far numbers may lie apart where merging is not exact, in parts of the
// sum of the numbers that went in.
const rounding = 1e-9

// freshCases is for how many cases instances are made anew, which costs milliseconds each.
const freshCases = 12

// Options say on what a function is checked.
type Options struct {
	Seed    uint64
	Records int      // to generate
	Own     []Record // of the author's, beside them
}

// Aggregate is an aggregate to be judged.
type Aggregate struct {
	// Open makes an instance that knows nothing of any other.
	Open func() (udf.Aggregate, error)
	// Touched tells whether a call of Result since the last question has changed an
	// accumulator where Result itself does not show it; nil: that cannot be.
	Touched func() bool
}

// Check judges the aggregate. An error means that it could not be judged at all.
func (s Aggregate) Check(o Options) (r *Report, err error) {
	j := &judge{Aggregate: s, dice: dice(o.Seed)}
	if j.a, err = s.Open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.a.Close()) }()
	j.info = j.a.Info()
	samples := j.dice.generate(j.info.Inputs, nil, 0, 0, o.Records)
	samples = append(samples, own(o.Own)...)
	samples = append(samples, sample{own: true}) // no records at all
	r = &Report{}
	for i := range samples {
		if err := j.drop(&samples[i], r); err != nil {
			return nil, err
		}
	}
	up := !j.info.Exact
	_, applies := j.a.(udf.Applier)
	for _, l := range []struct {
		Law
		check func([]Record) (*broken, error)
	}{
		{Law{Name: "identity", Says: "merging with a fresh accumulator changes nothing", Rounded: up}, j.identity},
		{Law{Name: "merge", Says: "merging parts equals one pass", Rounded: up}, j.merge},
		{Law{Name: "cut", Says: "batches cut anywhere, and groups side by side, give the same", Rounded: up}, j.cut},
		{Law{Name: "order", Says: "the order of records and merges does not matter", Rounded: up}, j.order},
		{Law{Name: "result", Says: "result changes nothing, and gives the same twice"}, j.result},
		{Law{Name: "apply", Says: "one call for records, results and resets gives what single calls give"}, j.apply},
		{Law{Name: "repeat", Says: "the same calls give the same answers on a fresh instance", fresh: true}, j.repeat},
		{Law{Name: "amnesia", Says: "so does a fresh instance for every call: all state is in the accumulators", fresh: true}, j.amnesia},
	} {
		if l.Name == "order" && !j.info.OrderInsensitive || l.Name == "apply" && !applies {
			continue
		}
		if err := j.judgeLaw(&l.Law, l.check, samples); err != nil {
			return nil, fmt.Errorf("law %s: %w", l.Name, err)
		}
		r.Laws = append(r.Laws, l.Law)
	}
	return r, nil
}

// own cuts an author's records into pieces, beside the whole.
func own(records []Record) (out []sample) {
	for from := 0; len(records) > maxCase && from < len(records); from += maxCase {
		out = append(out, sample{own: true, records: records[from:min(from+maxCase, len(records))]})
	}
	if len(records) > 0 {
		out = append(out, sample{own: true, records: records})
	}
	return out
}

// judge is a check at work.
type judge struct {
	Aggregate
	a    udf.Aggregate
	info udf.Info
	dice dice
	law  *Law // that is being judged
	flav flavour
	anew bool // instances may be made for the case
}

// judgeLaw judges a law on all samples, until one breaks it.
func (j *judge) judgeLaw(l *Law, check func([]Record) (*broken, error), samples []sample) error {
	j.law = l
	show := func(r Record) string { return showRow(fieldsOf(j.info.Inputs), r.Values) }
	for i, s := range samples {
		if j.anew = s.own || i < freshCases; l.fresh && !j.anew {
			continue
		}
		j.flav = s.flavour
		if err := l.judge(s.records, j.info.Inputs, 0, check, show); err != nil || l.Broken != nil {
			return err
		}
	}
	return nil
}

// drop takes out the records that the engine does not show, and those that the function
// does not take alone.
func (j *judge) drop(s *sample, r *Report) error {
	var kept []Record
	for _, rec := range s.records {
		if lacks(j.info.Inputs, rec.Values) {
			continue
		}
		_, f, err := j.add(j.a, nil, []Record{rec})
		switch {
		case err != nil:
			return err
		case f == nil:
			kept = append(kept, rec)
			r.Taken++
		default:
			r.count(f)
		}
	}
	s.records = kept
	return nil
}

// lacks reports whether a record has a null where none is taken.
func lacks(inputs []udf.Input, values []Value) bool {
	for i, in := range inputs {
		if values[i].Null && !in.Nullable {
			return true
		}
	}
	return false
}

// The calls. Each returns what the function refused in place of an answer; an error ends
// the check.

func failed(err error) (*udf.Failure, error) {
	if f, ok := errors.AsType[*udf.Failure](err); ok {
		return f, nil
	}
	return nil, err
}

func (j *judge) accs(acc []byte) *udf.Accs {
	var a udf.Accs
	a.Reset(j.info.Width)
	a.Append(acc)
	return &a
}

func (j *judge) create(a udf.Aggregate) ([]byte, *udf.Failure, error) {
	var accs udf.Accs
	if err := a.Create(&accs, 1); err != nil {
		f, err := failed(err)
		return nil, f, err
	}
	return bytes.Clone(accs.At(0)), nil, nil
}

// add folds records into an accumulator as the engine does; nil is a fresh one.
func (j *judge) add(a udf.Aggregate, acc []byte, records []Record) ([]byte, *udf.Failure, error) {
	if acc == nil && j.info.Width > 0 {
		var f *udf.Failure
		var err error
		if acc, f, err = j.create(a); f != nil || err != nil {
			return nil, f, err
		}
	}
	rows := rowsOf(j.info.Inputs, records, 1)
	var accs udf.Accs
	accs.Reset(j.info.Width)
	if j.info.Width > 0 {
		accs.Append(acc)
	}
	if err := a.Add(&accs, rows); err != nil {
		f, err := failed(err)
		return nil, f, err
	}
	part := bytes.Clone(accs.At(0))
	if j.info.Width > 0 || acc == nil {
		return part, nil, nil
	}
	return j.mergeOf(a, acc, part)
}

// rowsOf selects all records, record i going to group i%groups.
func rowsOf(inputs []udf.Input, records []Record, groups int) *udf.Rows {
	rows := &udf.Rows{Batch: table(inputs, records), Groups: groups}
	for i := range inputs {
		rows.Cols = append(rows.Cols, i)
	}
	for i := range records {
		rows.Sel, rows.Group = append(rows.Sel, uint32(i)), append(rows.Group, uint32(i%groups))
	}
	return rows
}

func (j *judge) mergeOf(a udf.Aggregate, into, from []byte) ([]byte, *udf.Failure, error) {
	x, y := j.accs(into), j.accs(from)
	if err := a.Merge(x, y); err != nil {
		f, err := failed(err)
		return nil, f, err
	}
	return bytes.Clone(x.At(0)), nil, nil
}

func (j *judge) resultOf(a udf.Aggregate, acc []byte) ([]Value, *udf.Failure, error) {
	out := j.noRows()
	if err := a.Result(j.accs(acc), out); err != nil {
		f, err := failed(err)
		return nil, f, err
	}
	return rowOf(out, 0), nil, nil
}

// noRows are the columns of results.
func (j *judge) noRows() *stream.Columns {
	out := &stream.Columns{}
	for _, f := range j.info.Outputs {
		out.Cols = append(out.Cols, stream.Column{Kind: f.Kind})
	}
	return out
}

func rowOf(t *stream.Columns, r int) []Value {
	row := make([]Value, len(t.Cols))
	for i := range row {
		row[i] = cell(t, i, r)
	}
	return row
}

// outcome is what some calls came to: an accumulator and its row, or a failure.
type outcome struct {
	acc  []byte
	row  []Value
	fail *udf.Failure
}

// ended finishes an outcome with the accumulator's row.
func (j *judge) ended(a udf.Aggregate, acc []byte, f *udf.Failure, err error) (outcome, error) {
	if err != nil || f != nil {
		return outcome{fail: f}, err
	}
	row, f, err := j.resultOf(a, acc)
	return outcome{acc, row, f}, err
}

func (j *judge) whole(records []Record) (outcome, error) {
	acc, f, err := j.add(j.a, nil, records)
	return j.ended(j.a, acc, f, err)
}

// show writes an outcome for people.
func (j *judge) show(o outcome, withAcc bool) string {
	if o.fail != nil {
		return o.fail.Error()
	}
	s := showRow(j.info.Outputs, o.row)
	if withAcc {
		acc := o.acc
		dots := ""
		if len(acc) > maxShown {
			acc, dots = acc[:maxShown], "…"
		}
		s += fmt.Sprintf(" of the accumulator %x%s", acc, dots)
	}
	return s
}

// How outcomes must agree.
type accord int

const (
	rows    accord = iota // the rows, up to rounding unless the aggregate is exact
	rowBits               // the rows, to the bit
	allBits               // the accumulators, too
)

// agree compares two outcomes.
func (j *judge) agree(how string, want, got outcome, as accord, went float64) *broken {
	if want.fail != nil || got.fail != nil {
		w, g := want.fail, got.fail
		if (w == nil && g.Trap) || (g == nil && w.Trap) {
			j.law.Judged++
			return &broken{how, j.show(want, false), j.show(got, false)}
		}
		j.law.Unjudged++ // refused one way at least: no fault
		return nil
	}
	if as == rows && !j.info.Exact {
		if j.flav == edges {
			j.law.Unjudged++
			return nil
		}
		j.law.Judged++
		for i, f := range j.info.Outputs {
			if !j.near(f.Kind, want.row[i], got.row[i], went) {
				return &broken{how, j.show(want, false), j.show(got, false)}
			}
		}
		return nil
	}
	j.law.Judged++
	same := slices.EqualFunc(want.row, got.row, sameBits)
	if as == allBits && same && !bytes.Equal(want.acc, got.acc) {
		return &broken{how, j.show(want, true), j.show(got, true)}
	}
	if !same {
		return &broken{how, j.show(want, false), j.show(got, false)}
	}
	return nil
}

// near compares two cells up to rounding.
func (j *judge) near(k stream.Kind, a, b Value, went float64) bool {
	if k != stream.Float64 || a.Null || b.Null {
		return sameBits(a, b)
	}
	x, y := a.Float, b.Float
	if x == y || x != x && y != y {
		return true
	}
	apart := math.Abs(x-y) / max(went, math.Abs(x), math.Abs(y))
	if !(apart <= rounding) { // also where one of them is no number
		return false
	}
	j.law.Near = max(j.law.Near, apart)
	return true
}

// went is the sum of the numbers that records bring, at least 1.
func went(records []Record) float64 {
	sum := 0.0
	for _, r := range records {
		for _, v := range r.Values {
			sum += math.Abs(v.Float) + math.Abs(float64(v.Int))
		}
	}
	return max(1, sum)
}

// merging is how far the outcomes of different merges must agree.
func (j *judge) merging() accord {
	if j.info.Exact {
		return allBits
	}
	return rows
}
