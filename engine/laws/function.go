package laws

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/udf"
)

// Function is a function that answers item by item, to be judged: of single records, of
// pairs, of firings, a watermark generator or a window assigner. Maps, Pairs, Processes,
// Generators and Assigners make one.
type Function struct {
	open   func() (shower, error)
	inputs []udf.Input
	lists  [][]udf.Input
	// least and most are how many records a list has.
	least, most int
	states      string // what it keeps; empty: nothing
	keyed       bool   // which key an item is of matters
}

// shower shows items to an instance.
type shower interface {
	// show returns what is answered for each item, in words that are equal only if the
	// answers are equal to the bit. States are found in kept, and left there.
	show(items []Record, kept *states) ([]string, error)
	Close() error
}

// states are what the host keeps for a function; it is copied to go back to it.
type states struct {
	keys    map[int][]byte
	windows map[[2]int64][]byte
	split   []byte
	panes   map[int][]byte // of triggers
}

func newStates() *states {
	return &states{keys: map[int][]byte{}, windows: map[[2]int64][]byte{}, panes: map[int][]byte{}}
}

// answers is what came of showing items, or why nothing did.
type answers struct {
	of   []string
	fail *udf.Failure
}

// Check judges the function. An error means that it could not be judged at all.
func (s Function) Check(o Options) (r *Report, err error) {
	j := &functionJudge{Function: s}
	if j.works, err = s.open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.works.Close()) }()
	d := dice(o.Seed)
	samples := append(d.generate(s.inputs, s.lists, s.least, s.most, o.Records), own(o.Own)...)
	r = &Report{}
	for i := range samples {
		if err := j.drop(&samples[i], r); err != nil {
			return nil, err
		}
	}
	amnesia := "so does a fresh instance for every item: nothing is kept between calls"
	if s.states != "" {
		amnesia = "so does a fresh instance for every item: " + s.states + " carries everything"
	}
	for _, l := range []struct {
		Law
		check func([]Record) (*broken, error)
	}{
		{Law{Name: "repeat", Says: "the same call gives the same answers twice, and on a fresh instance", fresh: true}, j.repeat},
		{Law{Name: "cut", Says: "calls cut anywhere give the same"}, j.cut},
		{Law{Name: "amnesia", Says: amnesia, fresh: true}, j.amnesia},
	} {
		if err := j.judgeLaw(&l.Law, l.check, samples); err != nil {
			return nil, fmt.Errorf("law %s: %w", l.Name, err)
		}
		r.Laws = append(r.Laws, l.Law)
	}
	return r, nil
}

// functionJudge is a check at work.
type functionJudge struct {
	Function
	works shower
	law   *Law
}

// ask shows items, a call for each piece.
func ask(s shower, kept *states, pieces ...[]Record) (a answers, err error) {
	for _, p := range pieces {
		of, err := s.show(p, kept)
		if err != nil {
			f, err := failed(err)
			return answers{fail: f}, err
		}
		a.of = append(a.of, of...)
	}
	return a, nil
}

// drop takes out items that the function does not take alone, or is not shown.
func (j *functionJudge) drop(s *sample, r *Report) error {
	var kept []Record
	for _, rec := range s.records {
		if lacks(j.inputs, rec.Values) {
			continue
		}
		a, err := ask(j.works, newStates(), []Record{rec})
		switch {
		case err != nil:
			return err
		case a.fail == nil:
			kept = append(kept, rec)
			r.Taken++
		default:
			r.count(a.fail)
		}
	}
	s.records = kept
	return nil
}

func (j *functionJudge) judgeLaw(l *Law, check func([]Record) (*broken, error), samples []sample) error {
	j.law = l
	for i, s := range samples {
		if l.fresh && !s.own && i >= freshCases {
			continue
		}
		if err := l.judge(s.records, j.inputs, j.least, check, j.showRecord); err != nil || l.Broken != nil {
			return err
		}
	}
	return nil
}

func (j *functionJudge) showRecord(r Record) string {
	s := showRow(fieldsOf(j.inputs), r.Values)
	for i, l := range j.lists {
		var rows []string
		for _, x := range r.Lists[i] {
			rows = append(rows, showRow(fieldsOf(l), x.Values))
		}
		s += " [" + strings.Join(rows, ", ") + "]"
	}
	s += fmt.Sprintf(" at %d", r.Time)
	if j.keyed {
		s += fmt.Sprintf(" of key %d", r.Key)
	}
	return s
}

// agree compares answers item by item.
func (j *functionJudge) agree(how string, want, got answers) *broken {
	switch {
	case want.fail != nil && got.fail != nil:
		j.law.Unjudged++
		return nil
	case want.fail != nil || got.fail != nil:
		w, g, f := "answers", "answers", want.fail
		if f != nil {
			w = f.Error()
		} else {
			f = got.fail
			g = f.Error()
		}
		if !f.Trap {
			j.law.Unjudged++
			return nil
		}
		j.law.Judged++
		return &broken{how, w, g}
	}
	j.law.Judged++
	for i := range want.of {
		if want.of[i] != got.of[i] {
			return &broken{fmt.Sprintf("%s: item %d of %d", how, i+1, len(want.of)), want.of[i], got.of[i]}
		}
	}
	return nil
}

// repeat: the same call again, by the instance that made it and by another.
func (j *functionJudge) repeat(items []Record) (*broken, error) {
	want, err := ask(j.works, newStates(), items)
	if err != nil {
		return nil, err
	}
	got, err := ask(j.works, newStates(), items)
	if err != nil {
		return nil, err
	}
	if b := j.agree("the same call twice", want, got); b != nil {
		return b, nil
	}
	got, err = j.anew(items)
	if err != nil {
		return nil, err
	}
	return j.agree("the same call on a fresh instance", want, got), nil
}

// anew shows items to a new instance, a call for each piece.
func (j *functionJudge) anew(items []Record) (a answers, err error) {
	s, err := j.open()
	if err != nil {
		return a, err
	}
	a, err = ask(s, newStates(), items)
	return a, errors.Join(err, s.Close())
}

// cut: two calls and one for each item are the same as one.
func (j *functionJudge) cut(items []Record) (*broken, error) {
	want, err := ask(j.works, newStates(), items)
	if err != nil {
		return nil, err
	}
	for _, at := range cuts(len(items)) {
		got, err := ask(j.works, newStates(), items[:at], items[at:])
		if err != nil {
			return nil, err
		}
		if b := j.agree(fmt.Sprintf("cut at %d of %d", at, len(items)), want, got); b != nil {
			return b, nil
		}
	}
	got, err := ask(j.works, newStates(), slices.Collect(slices.Chunk(items, 1))...)
	if err != nil {
		return nil, err
	}
	return j.agree("one call for each item", want, got), nil
}

// amnesia: one new instance for all items, and one for each; states are the host's.
func (j *functionJudge) amnesia(items []Record) (*broken, error) {
	want, err := j.anew(items)
	if err != nil {
		return nil, err
	}
	kept := newStates()
	var got answers
	for i := 0; i < len(items) && got.fail == nil; i++ {
		s, err := j.open()
		if err != nil {
			return nil, err
		}
		one, err := ask(s, kept, items[i:i+1])
		if err = errors.Join(err, s.Close()); err != nil {
			return nil, err
		}
		got.of, got.fail = append(got.of, one.of...), one.fail
	}
	return j.agree("a fresh instance for every item", want, got), nil
}
