package laws

import (
	"errors"
	"fmt"

	"tidemark/engine/udf"
)

// Trigger is a trigger to be judged.
//
// Much cannot be asked of a trigger, since what it decides is its own affair: not that
// order does not matter, nor that a merge of two windows decides as one window would
// have. What is asked is what hosts rely on: that answers follow from the operation and
// the state, that they keep within the contract, and that a window which has had nothing
// brings nothing along into another.
type Trigger struct {
	Info udf.TriggerInfo
	// Open makes an instance that knows nothing of any other.
	Open func() (udf.Trigger, error)
}

// Check judges the trigger. An error means that it could not be judged at all.
func (s Trigger) Check(o Options) (r *Report, err error) {
	j := &triggerJudge{functionJudge: functionJudge{Function: Function{inputs: s.Info.Inputs, keyed: true, open: func() (shower, error) {
		t, err := s.Open()
		return triggerShower{t}, err
	}}}}
	if j.works, err = j.open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.works.Close()) }()
	d := dice(o.Seed)
	samples := append(d.generate(s.Info.Inputs, nil, 0, 0, o.Records), own(o.Own)...)
	r = &Report{}
	for i := range samples {
		if err := j.drop(&samples[i], r); err != nil {
			return nil, err
		}
	}
	type law struct {
		Law
		check func([]Record) (*broken, error)
	}
	laws := []law{
		{Law{Name: "verdict", Says: "windows that merge or go do not fire, and nothing purges undeclared"}, j.contract("verdict")},
		{Law{Name: "timers", Says: "a window has at most 1,000 timers, and those that come let time move on"}, j.contract("timers")},
		{Law{Name: "clear", Says: "a window that goes takes its timers back"}, j.contract("clear")},
		{Law{Name: "repeat", Says: "the same operations give the same answers twice, and on a fresh instance", fresh: true}, j.on(true, j.repeat)},
		{Law{Name: "cut", Says: "frames cut anywhere give the same verdicts, timers and states"}, j.on(true, j.cut)},
		{Law{Name: "apart", Says: "windows in one frame do not touch each other"}, j.on(false, j.apart)},
		{Law{Name: "amnesia", Says: "so does a fresh instance for every operation: the window's state carries everything", fresh: true}, j.on(true, j.amnesia)},
	}
	if s.Info.Merges {
		laws = append(laws, law{Law{Name: "merge", Says: "a window that has had nothing brings nothing along into another"}, j.fresh})
	}
	for _, l := range laws {
		if err := j.judgeLaw(&l.Law, l.check, samples); err != nil {
			return nil, fmt.Errorf("law %s: %w", l.Name, err)
		}
		if r.Laws = append(r.Laws, l.Law); l.Name == "timers" && l.Broken != nil {
			break // what happens has no end, and thousands of operations
		}
	}
	return r, nil
}

// triggerJudge is a check at work: what functions are judged on, of operations.
type triggerJudge struct{ functionJudge }

func (j *triggerJudge) trigger() triggerShower { return j.works.(triggerShower) }

// drop takes out records that the trigger does not take alone, or is not shown.
func (j *triggerJudge) drop(s *sample, r *Report) error {
	var kept []Record
	for _, rec := range s.records {
		if lacks(j.inputs, rec.Values) {
			continue
		}
		h, err := drive(j.trigger(), []Record{rec}, false, false)
		switch {
		case err != nil:
			return err
		case h.refused == nil:
			kept = append(kept, rec)
			r.Taken++
		default:
			r.count(h.refused)
		}
	}
	s.records = kept
	return nil
}

// on judges a law of functions on the operations that come of records.
func (j *triggerJudge) on(merging bool, check func([]Record) (*broken, error)) func([]Record) (*broken, error) {
	return func(records []Record) (*broken, error) {
		h, err := drive(j.trigger(), records, merging, false)
		if err != nil {
			return nil, err
		}
		items := make([]Record, len(h.steps))
		for i := range items {
			items[i].step = &h.steps[i]
		}
		return check(items)
	}
}

// apart: a frame about all windows, and one for each window.
func (j *triggerJudge) apart(items []Record) (*broken, error) {
	want, err := ask(j.works, newStates(), items)
	if err != nil {
		return nil, err
	}
	places := map[int][]int{}
	var panes []int
	for i, it := range items {
		if places[it.step.pane] == nil {
			panes = append(panes, it.step.pane)
		}
		places[it.step.pane] = append(places[it.step.pane], i)
	}
	for _, pane := range panes {
		var own []Record
		all := answers{fail: want.fail}
		for _, i := range places[pane] {
			own = append(own, items[i])
			if want.fail == nil {
				all.of = append(all.of, want.of[i])
			}
		}
		got, err := ask(j.works, newStates(), own)
		if err != nil {
			return nil, err
		}
		if b := j.agree("the operations on the window "+show(own[0].step.Window)+" in a frame of their own", got, all); b != nil {
			return b, nil
		}
	}
	return nil, nil
}

// contract is what a law of the contract has to say about what happens.
func (j *triggerJudge) contract(law string) func([]Record) (*broken, error) {
	return func(records []Record) (*broken, error) {
		h, err := drive(j.trigger(), records, true, false)
		if err != nil {
			return nil, err
		}
		j.law.Judged += len(h.steps)
		return h.broken[law], nil
	}
}

// fresh: windows into which others go that have had nothing do as they would without.
func (j *triggerJudge) fresh(records []Record) (*broken, error) {
	without, err := drive(j.trigger(), records, false, false)
	if err != nil {
		return nil, err
	}
	with, err := drive(j.trigger(), records, false, true)
	if err != nil {
		return nil, err
	}
	if without.refused != nil || with.refused != nil {
		j.law.Unjudged++
		return nil, nil
	}
	j.law.Judged++
	if w, g, different := differs(without.story(), with.story()); different {
		return &broken{"behind each record its window takes over one that has had nothing", w, g}, nil
	}
	return nil, nil
}
