//go:build !wasip1

package tidemark

import (
	"encoding/binary"
	"errors"
	"slices"
)

// TriggerTwin drives a trigger in tests as a host does. Each call is one on a fresh
// instance; states and timers are those of its panes.
type TriggerTwin struct {
	// Watermark and Now are what the trigger sees from here on; timers do not come due by
	// themselves, a test calls TwinPane.Timer.
	Watermark, Now Timestamp
	Ending         bool

	t    *Trigger
	args Values
	room int // bytes of the output area; 0: all that is left of the arena
}

// NewTriggerTwin configures the trigger with a job's arguments, by the parameters' names.
// The error is a *Refusal, or says which argument does not fit.
func NewTriggerTwin(t *Trigger, args Values) (*TriggerTwin, error) {
	full, err := argsOf(t.spec.Params, args)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := configureTwin(t, t.spec.Params, full); err != nil {
		return nil, err
	}
	return &TriggerTwin{Watermark: NoTime, t: t, args: full}, nil
}

// TwinPane is a window of one key, with what a host keeps of the trigger for it.
type TwinPane struct {
	Start, End Timestamp
	twin       *TriggerTwin
	state      []byte
	timers     [2][]Timestamp
}

// Pane begins a window.
func (t *TriggerTwin) Pane(start, end Timestamp) *TwinPane {
	return &TwinPane{Start: start, End: end, twin: t}
}

// Timers lists the timers that are set, earliest first.
func (p *TwinPane) Timers(d Domain) []Timestamp { return slices.Sorted(slices.Values(p.timers[d])) }

// Elements shows the trigger records of the window, in one call, and returns a verdict for
// each. After an error, a *Refusal with the record in Op if it refused one, state and
// timers are what they were. A record in which a column is null that is not declared
// nullable is left out.
func (p *TwinPane) Elements(records ...Record) ([]Verdict, error) {
	var ops []paneData
	var shown []Record
	var place []int
	for i, r := range records {
		if !lacks(p.twin.t.spec.Inputs, r.Values) {
			ops = append(ops, paneData{what: onElement, time: r.Time, row: uint32(len(shown))})
			shown, place = append(shown, r), append(place, i)
		}
	}
	verdicts := make([]Verdict, len(records))
	given, err := p.call(ops, shown, nil)
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Op >= 0 {
		refusal.Op = place[refusal.Op]
	}
	if err != nil {
		return nil, err
	}
	for i, v := range given {
		verdicts[place[i]] = v
	}
	return verdicts, nil
}

// Timer lets a time come: its timer is no longer set.
func (p *TwinPane) Timer(d Domain, at Timestamp) (Verdict, error) {
	what := uint32(onEventTimer)
	if d == ProcessingTime {
		what = onProcessingTimer
	}
	p.timers[d] = slices.DeleteFunc(p.timers[d], func(t Timestamp) bool { return t == at })
	return p.one(paneData{what: what, time: at}, nil)
}

// Clear lets the window go; its state is gone behind it.
func (p *TwinPane) Clear() error {
	_, err := p.one(paneData{what: onClear}, nil)
	p.state = nil
	return err
}

// Merge lets the window take over what the trigger keeps of another one.
func (p *TwinPane) Merge(old *TwinPane) error {
	if p.twin.t.spec.Merge == nil {
		return errors.New("the trigger has no Merge, so that a host uses it with no session")
	}
	_, err := p.one(paneData{what: onMerge, from: 1}, old.state)
	return err
}

// one shows the trigger one operation without a record.
func (p *TwinPane) one(op paneData, from []byte) (Verdict, error) {
	given, err := p.call([]paneData{op}, nil, from)
	if err != nil {
		return Continue, err
	}
	return given[0], nil
}

// call shows the trigger operations on the window, and takes what it answers to all.
func (p *TwinPane) call(ops []paneData, records []Record, from []byte) ([]Verdict, error) {
	mu.Lock()
	defer mu.Unlock()
	verdicts := make([]Verdict, len(ops))
	next := TwinPane{state: p.state}
	for d := range p.timers {
		next.timers[d] = slices.Clone(p.timers[d])
	}
	for done := 0; done < len(ops); {
		n, err := p.part(ops[done:], records, from, &next, verdicts[done:])
		if err != nil {
			var refusal *Refusal
			if errors.As(err, &refusal) && refusal.Op >= 0 {
				refusal.Op += done
			}
			return nil, err
		}
		done += n
	}
	p.state, p.timers = next.state, next.timers
	return verdicts, nil
}

// part makes one call, and returns how many operations it completed.
func (p *TwinPane) part(ops []paneData, records []Record, from []byte, next *TwinPane, verdicts []Verdict) (int, error) {
	t := p.twin
	t.t.ready = false
	if err := configureTwin(t.t, t.t.spec.Params, t.args); err != nil {
		return 0, err
	}
	w := newWriter()
	w.h.rows = uint32(len(ops))
	w.h.block = w.area(48)
	b := (*block)(arenaAt(uintptr(w.h.block)))
	b.items = w.area(64 * len(ops))
	for i, op := range ops {
		op.start, op.end, op.watermark, op.now = p.Start, p.End, t.Watermark, t.Now
		if t.Ending {
			op.flags = ending
		}
		*(*paneData)(arenaAt(uintptr(b.items) + 64*uintptr(i))) = op
	}
	if err := w.records(&b.lists[0], t.t.records, records); err != nil {
		return 0, err
	}
	b.keys, b.nkeys = w.accs([]Acc{next.state, from}, 0), 2
	st, err := w.serve(t.t, opTrigger, t.room)
	if err != nil {
		return 0, err
	}
	n := len(ops)
	if st == outputFull {
		if n = int(w.h.done); n == 0 {
			return 0, errNoRoom
		}
	}
	w.entries(func(i int, what uint32, body []byte) {
		switch what {
		case keyState:
			next.state = slices.Clone(body)
			return
		case verdictEntry:
			verdicts[i] = Verdict(body[0])
			return
		}
		at := Timestamp(binary.LittleEndian.Uint64(body))
		d := (what - setEntry) % 2
		if list := slices.DeleteFunc(next.timers[d], func(t Timestamp) bool { return t == at }); what < deleteEntry {
			next.timers[d] = append(list, at)
		} else {
			next.timers[d] = list
		}
	})
	return n, nil
}
