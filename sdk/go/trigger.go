package tidemark

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

// Verdict is what becomes of a window's contents: Fire gives a result, Purge drops them,
// FireAndPurge does both, in this order.
type Verdict uint8

// The verdicts.
const (
	Continue     Verdict = 0
	Fire         Verdict = 1
	Purge        Verdict = 2
	FireAndPurge Verdict = Fire | Purge
)

// Domain is the time that a timer belongs to.
type Domain uint8

// The domains. What goes by ProcessingTime, the host's clock, differs from run to run.
const (
	EventTime Domain = iota
	ProcessingTime
)

// TriggerSpec describes a trigger. It becomes the module's manifest.
type TriggerSpec struct {
	Name    string  // [a-z][a-z0-9_-]{0,62}
	Version string  // free text of at most 64 bytes
	Inputs  []Input // columns of the records, beside their times
	Params  []Param
	// State is what the trigger keeps of each window of each key: FixedState or BytesState;
	// nil: nothing.
	State State
	// Schema is the version of the state's layout, to be raised when it changes; 0 means 1.
	Schema int
	// Upgrades are the older layouts that it converts from.
	Upgrades []Upgrade
	// MayPurge: it answers Purge or FireAndPurge. If it does so without saying it here, that
	// is a mistake of the trigger's.
	MayPurge bool
	// Configure checks the arguments, once on each instance, before anything else;
	// nil accepts all. An error refuses the job's arguments.
	Configure func() error

	// Element is shown every record of a window. An error refuses the record.
	Element func(*Pane) (Verdict, error)
	// Timer is called when a time that was set has come: Pane.Time in Pane.Domain. It is
	// also shown timers of the host's, such as that of the window's cleanup. nil: timers
	// mean nothing. After an error the window fires as if it had no trigger of its own.
	Timer func(*Pane) (Verdict, error)
	// Clear is called when the window goes, to delete timers that are still set; nil: there
	// are none. The state goes by itself.
	Clear func(*Pane) error
	// Merge takes over the state of a session that becomes a part of this one; nil: the
	// trigger cannot be used with sessions. Timers of the other one are gone.
	Merge func(*Pane, Merged) error
}

// Trigger is a registered trigger; TriggerTwin drives it in tests.
type Trigger struct {
	spec    TriggerSpec
	ready   bool // configured
	records *List
	pane    Pane // of the operation in work
}

// Triggers registers a trigger, which decides when windows fire. It sees records and
// timers, never what the window has made of them, and keeps nothing but its State. A
// module registers one plug-in.
func Triggers(s TriggerSpec) *Trigger {
	if s.Schema == 0 {
		s.Schema = 1
	}
	problems := []string{checkModule(s.Name, s.Version, s.Params), checkSchema(s.Schema), upgrades(s.Upgrades).check(s.Schema, -1), checkInputs("input", s.Inputs)}
	if s.Element == nil {
		problems = append(problems, "Element is nil: it would never see a record")
	}
	for _, problem := range problems {
		if problem != "" {
			panic("tidemark: trigger " + jsonString(s.Name) + ": " + problem)
		}
	}
	if s.State != nil {
		s.State.state().what = keyState
	}
	t := &Trigger{spec: s, records: Records(s.Inputs...)}
	register(t)
	return t
}

func (t *Trigger) name() string { return t.spec.Name }

func (t *Trigger) steady() bool { return false }

// manifest writes section 2's JSON.
func (t *Trigger) manifest() []byte {
	s := &t.spec
	b := []byte(`{"name":` + jsonString(s.Name) + `,"version":` + jsonString(s.Version) + `,"sdk":"go","trigger":{"inputs":[`)
	b = append(appendInputs(b, s.Inputs), `],"params":[`...)
	b = append(appendParams(b, s.Params), ']')
	if s.State != nil {
		b = append(b, `,"state":{"schema":`...)
		b = append(upgrades(s.Upgrades).appendJSON(strconv.AppendInt(b, int64(s.Schema), 10), false), '}')
	}
	return append(b, `,"may_purge":`+jsonBool(s.MayPurge)+`,"merges":`+jsonBool(s.Merge != nil)+`}}`...)
}

// What an operation is, and what an entry of the answer is beside a state (abi/SPEC.md,
// section 3).
const (
	onElement = iota
	onEventTimer
	onProcessingTimer
	onMerge
	onClear
)

const (
	verdictEntry = 0
	setEntry     = 1 // + domain
	deleteEntry  = 3 // + domain
)

// paneData is as it lies in memory.
type paneData struct {
	start, end, watermark, now, time Timestamp
	what, slotOf, row, from          uint32
	flags, reserved                  uint32
}

const ending = 1 // bit of paneData.flags

// Pane is what a trigger is shown: a window of a key, and a record or a timer. It means
// nothing after the function returns.
type Pane struct {
	*paneData
	answer
	t *Trigger
}

func (p *Pane) slot(uint32) uint32 { return p.slotOf }

func (p *Pane) entries() *answer { return &p.answer }

// Row names the values of the trigger's Inputs, in Element.
func (p *Pane) Row() Row { return Row{int(p.paneData.row)} }

// Time is the record's event time, NoTime if it has none; in Timer the timer's.
func (p *Pane) Time() Timestamp { return p.time }

// Domain is that of the timer, in Timer.
func (p *Pane) Domain() Domain {
	if p.what == onProcessingTimer {
		return ProcessingTime
	}
	return EventTime
}

// Start and End bound the window: it holds times from Start up to, not including, End. A
// global window holds all times.
func (p *Pane) Start() Timestamp { return p.start }

// End is the first time that the window does not hold.
func (p *Pane) End() Timestamp { return p.end }

// Last is the last time that the window holds: when the watermark reaches it, the window
// is complete.
func (p *Pane) Last() Timestamp {
	if p.start == math.MinInt64 && p.end == math.MaxInt64 {
		return p.end // of a global window
	}
	return p.end - 1
}

// Watermark is how far event time is.
func (p *Pane) Watermark() Timestamp { return p.watermark }

// Now is the host's clock.
func (p *Pane) Now() Timestamp { return p.now }

// Ending says that the input has ended: event time goes on to its end, timer by timer. In
// a global window only a timer at Last can then still be set.
func (p *Pane) Ending() bool { return p.flags&ending != 0 }

// SetTimer asks for a call of Timer at a time. Timers are a set: to set one twice is to set
// it once. One that is not later than the present fires when time moves on.
func (p *Pane) SetTimer(d Domain, t Timestamp) { p.word(setEntry+uint32(d), uint64(t)) }

// DeleteTimer takes a timer back; one that is not set does no harm.
func (p *Pane) DeleteTimer(d Domain, t Timestamp) { p.word(deleteEntry+uint32(d), uint64(t)) }

// word puts an entry with eight bytes.
func (p *Pane) word(what uint32, v uint64) {
	if at, room := p.entry(what, 8); room {
		binary.LittleEndian.PutUint64(p.f.out[at:], v)
	}
}

// Merged is a session that becomes a part of another one. It is for State.Get only.
type Merged struct{ p *Pane }

func (m Merged) slot(uint32) uint32 { return m.p.from }

func (m Merged) entries() *answer { return nil }

func (t *Trigger) call(o op, at, room uintptr) status {
	f, good := openFrame(at, room)
	if !good || (o != opConfigure && !t.ready) {
		return badFrame
	}
	switch o {
	case opConfigure:
		st := configure(f, t.spec.Params, t.spec.Configure)
		t.ready = st == ok
		return st
	case opTrigger:
		return t.serve(f)
	case opUpgrade:
		return upgrades(t.spec.Upgrades).serve(f, 0)
	}
	return badFrame
}

// serve shows the trigger the operations of a frame.
func (t *Trigger) serve(f frame) status {
	if !f.holds(f.block, unsafe.Sizeof(block{})) {
		return badFrame
	}
	b := (*block)(f.at(f.block))
	ops, good := slice[paneData](f, b.items, int(f.rows))
	if !good || !t.records.open(f, &b.lists[0], 0) {
		return badFrame
	}
	if s := t.spec.State; s != nil && !s.state().open(f, b.keys, int(b.nkeys)) {
		return badFrame
	}
	w := &t.pane
	for i := range ops {
		f.op = uint32(i)
		start := f.outUsed
		*w = Pane{paneData: &ops[i], answer: w.next(f, i), t: t}
		v, err := t.decide(w)
		if err == nil {
			if v != Continue {
				w.word(verdictEntry, uint64(v))
			}
			if t.spec.State != nil {
				t.spec.State.state().leave(w)
			}
		} else if t.spec.State != nil {
			t.spec.State.state().set = false
		}
		if st := w.settle(start, err); st != ok {
			return st
		}
	}
	return ok
}

// decide calls the author's function for an operation.
func (t *Trigger) decide(p *Pane) (Verdict, error) {
	s := &t.spec
	switch {
	case p.what == onElement:
		return s.Element(p)
	case (p.what == onEventTimer || p.what == onProcessingTimer) && s.Timer != nil:
		return s.Timer(p)
	case p.what == onMerge && s.Merge != nil:
		return Continue, s.Merge(p, Merged{p})
	case p.what == onClear && s.Clear != nil:
		return Continue, s.Clear(p)
	}
	return Continue, nil
}
