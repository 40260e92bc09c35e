package laws

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// identity: a fresh accumulator is neutral, on either side.
func (j *judge) identity(records []Record) (*broken, error) {
	want, err := j.whole(records)
	if err != nil || want.fail != nil {
		j.law.Unjudged++
		return nil, err
	}
	fresh, f, err := j.create(j.a)
	if err != nil || f != nil {
		j.law.Unjudged++
		return nil, err
	}
	for _, side := range []struct {
		how        string
		into, from []byte
	}{{"a fresh accumulator is merged into theirs", want.acc, fresh}, {"they are merged into a fresh accumulator", fresh, want.acc}} {
		acc, f, err := j.mergeOf(j.a, side.into, side.from)
		got, err := j.ended(j.a, acc, f, err)
		if err != nil {
			return nil, err
		}
		if b := j.agree(side.how, want, got, j.merging(), went(records)); b != nil {
			return b, nil
		}
	}
	return nil, nil
}

// cuts are places to cut n records at: all of few, some of many.
func cuts(n int) []int {
	d := dice(n)
	var at []int
	for i := range n + 1 {
		if n <= 8 || i == 0 || i == n || d.below(n) < 6 {
			at = append(at, i)
		}
	}
	return at
}

// merge: parts merged are one pass, two parts and three, from either end.
func (j *judge) merge(records []Record) (*broken, error) {
	want, err := j.whole(records)
	if err != nil {
		return nil, err
	}
	n, total := len(records), went(records)
	for _, at := range cuts(n) {
		got, err := j.tree(records[:at], records[at:])
		if err != nil {
			return nil, err
		}
		if b := j.agree(fmt.Sprintf("cut at %d of %d, and merged", at, n), want, got, j.merging(), total); b != nil {
			return b, nil
		}
		mid := at / 2
		if got, err = j.tree(records[:mid], records[mid:at], records[at:]); err != nil {
			return nil, err
		}
		if b := j.agree(fmt.Sprintf("cut at %d and %d of %d, and merged one by one", mid, at, n), want, got, j.merging(), total); b != nil {
			return b, nil
		}
	}
	return nil, nil
}

// tree adds up parts each alone and merges them from the last to the first, so that the
// accumulator of the first comes in last.
func (j *judge) tree(parts ...[]Record) (outcome, error) {
	var acc []byte
	for i := len(parts) - 1; i >= 0; i-- {
		part, f, err := j.add(j.a, nil, parts[i])
		if err == nil && f == nil && acc != nil {
			part, f, err = j.mergeOf(j.a, part, acc)
		}
		if err != nil || f != nil {
			return outcome{fail: f}, err
		}
		acc = part
	}
	return j.ended(j.a, acc, nil, nil)
}

// cut: one batch, two and one for each record are the same, and so are groups in one call
// and each alone.
func (j *judge) cut(records []Record) (*broken, error) {
	want, err := j.whole(records)
	if err != nil {
		return nil, err
	}
	n, total := len(records), went(records)
	for _, at := range cuts(n) {
		acc, f, err := j.add(j.a, nil, records[:at])
		if err == nil && f == nil {
			acc, f, err = j.add(j.a, acc, records[at:])
		}
		got, err := j.ended(j.a, acc, f, err)
		if err != nil {
			return nil, err
		}
		if b := j.agree(fmt.Sprintf("added in two batches, cut at %d of %d", at, n), want, got, j.merging(), total); b != nil {
			return b, nil
		}
	}
	var acc []byte
	var f *udf.Failure
	for i := 0; i < n && f == nil; i++ {
		if acc, f, err = j.add(j.a, acc, records[i:i+1]); err != nil {
			return nil, err
		}
	}
	if n > 0 {
		got, err := j.ended(j.a, acc, f, nil)
		if err != nil {
			return nil, err
		}
		if b := j.agree("added one by one", want, got, j.merging(), total); b != nil {
			return b, nil
		}
	}
	return j.groups(records, total)
}

// groups adds records to three groups in one call.
func (j *judge) groups(records []Record, total float64) (*broken, error) {
	const groups = 3
	var accs udf.Accs
	accs.Reset(j.info.Width)
	if j.info.Width > 0 {
		if err := j.a.Create(&accs, groups); err != nil {
			_, err := failed(err)
			j.law.Unjudged++
			return nil, err
		}
	}
	if err := j.a.Add(&accs, rowsOf(j.info.Inputs, records, groups)); err != nil {
		_, err := failed(err)
		j.law.Unjudged++
		return nil, err
	}
	for g := range groups {
		var alone []Record
		for i := g; i < len(records); i += groups {
			alone = append(alone, records[i])
		}
		want, err := j.whole(alone)
		if err != nil {
			return nil, err
		}
		got, err := j.ended(j.a, slices.Clone(accs.At(g)), nil, nil)
		if err != nil {
			return nil, err
		}
		if b := j.agree(fmt.Sprintf("dealt out to %d groups in one call: group %d", groups, g), want, got, j.merging(), total); b != nil {
			return b, nil
		}
	}
	return nil, nil
}

// order: reversed, shuffled and with the parts exchanged, the row is the same.
func (j *judge) order(records []Record) (*broken, error) {
	want, err := j.whole(records)
	if err != nil {
		return nil, err
	}
	n, total := len(records), went(records)
	try := func(how string, got outcome, err error) (*broken, error) {
		if err != nil {
			return nil, err
		}
		return j.agree(how, want, got, rows, total), nil
	}
	back := slices.Clone(records)
	slices.Reverse(back)
	got, err := j.whole(back)
	if b, err := try("added in reverse", got, err); b != nil || err != nil {
		return b, err
	}
	d := dice(n)
	for range 3 {
		mixed := make([]Record, n)
		p := d.perm(n)
		for i, from := range p {
			mixed[i] = records[from]
		}
		got, err := j.whole(mixed)
		if b, err := try(fmt.Sprintf("added in the order %v", p), got, err); b != nil || err != nil {
			return b, err
		}
	}
	for _, at := range cuts(n) {
		got, err := j.tree(records[at:], records[:at])
		if b, err := try(fmt.Sprintf("cut at %d of %d, and merged the other way round", at, n), got, err); b != nil || err != nil {
			return b, err
		}
	}
	return nil, nil
}

// result: asked twice, the row and the accumulator are what they were.
func (j *judge) result(records []Record) (*broken, error) {
	if j.Touched != nil {
		j.Touched() // what was before does not count
	}
	first, err := j.whole(records)
	if err != nil || first.fail != nil {
		j.law.Unjudged++
		return nil, err
	}
	again, err := j.ended(j.a, first.acc, nil, nil)
	if err != nil {
		return nil, err
	}
	if b := j.agree("the result is asked for twice", first, again, allBits, 1); b != nil {
		return b, nil
	}
	if j.Touched != nil && j.Touched() {
		return &broken{"the result is asked for", j.show(first, true), "the accumulator was changed by that"}, nil
	}
	return nil, nil
}

// sequence makes calls of every sort. Each outcome has the accumulator and the row of one.
func (j *judge) sequence(records []Record, a udf.Aggregate) (steps []outcome, err error) {
	half, rest := records[:len(records)/2], records[len(records)/2:]
	step := func(acc []byte, f *udf.Failure, e error) []byte {
		if err != nil {
			return nil
		}
		var o outcome
		o, err = j.ended(a, acc, f, e)
		steps = append(steps, o)
		return acc
	}
	x := step(j.add(a, nil, half))
	y := step(j.add(a, nil, rest))
	if x != nil && y != nil {
		step(j.mergeOf(a, x, y))
	}
	if x != nil {
		step(j.add(a, x, rest))
	}
	step(j.add(a, nil, records))
	return steps, err
}

// stepNames are what sequence does.
var stepNames = [...]string{"the first half is added", "the second half is added", "the two are merged", "the second half is added to the first", "all are added"}

// same compares the steps of two sequences.
func (j *judge) same(how string, want, got []outcome, as accord) *broken {
	if len(want) != len(got) {
		j.law.Judged++
		return &broken{how, fmt.Sprintf("%d calls worked", len(want)), fmt.Sprintf("%d calls worked", len(got))}
	}
	for i := range want {
		name := "all are added"
		if len(want) == len(stepNames) {
			name = stepNames[i]
		}
		if b := j.agree(how+": "+name, want[i], got[i], as, 1); b != nil {
			return b
		}
	}
	return nil
}

// once runs the sequence on one new instance.
func (j *judge) once(records []Record) (steps []outcome, err error) {
	a, err := j.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return j.sequence(records, a)
}

// repeat: the same calls on two new instances, to the bit.
func (j *judge) repeat(records []Record) (*broken, error) {
	want, err := j.once(records)
	if err != nil {
		return nil, err
	}
	got, err := j.once(records)
	if err != nil {
		return nil, err
	}
	return j.same("the same calls on two fresh instances", want, got, allBits), nil
}

// amnesia: a new instance for every call. Accumulators may be written in another way then,
// unless the aggregate is exact; rows may not.
func (j *judge) amnesia(records []Record) (*broken, error) {
	want, err := j.once(records)
	if err != nil {
		return nil, err
	}
	got, err := j.sequence(records, forgetful{j.Open, j.info})
	if err != nil {
		return nil, err
	}
	as := rowBits
	if j.info.Exact {
		as = allBits
	}
	return j.same("a fresh instance for every call", want, got, as), nil
}

// forgetful is an aggregate that makes each call on a new instance.
type forgetful struct {
	open func() (udf.Aggregate, error)
	info udf.Info
}

var _ udf.Aggregate = forgetful{}

func (f forgetful) Info() udf.Info { return f.info }
func (f forgetful) Close() error   { return nil }

func (f forgetful) call(do func(udf.Aggregate) error) error {
	a, err := f.open()
	if err != nil {
		return err
	}
	return errors.Join(do(a), a.Close())
}

func (f forgetful) Create(dst *udf.Accs, n int) error {
	return f.call(func(a udf.Aggregate) error { return a.Create(dst, n) })
}

func (f forgetful) Add(accs *udf.Accs, rows *udf.Rows) error {
	return f.call(func(a udf.Aggregate) error { return a.Add(accs, rows) })
}

func (f forgetful) Merge(into, from *udf.Accs) error {
	return f.call(func(a udf.Aggregate) error { return a.Merge(into, from) })
}

func (f forgetful) Result(accs *udf.Accs, out *stream.Columns) error {
	return f.call(func(a udf.Aggregate) error { return a.Result(accs, out) })
}
