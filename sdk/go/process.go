package tidemark

import "unsafe"

// ProcessSpec describes a process function. It becomes the module's manifest.
type ProcessSpec struct {
	Name    string // [a-z][a-z0-9_-]{0,62}
	Version string // free text of at most 64 bytes
	// Inputs are columns with a value for each firing: results of aggregates and fields of
	// the key, as the job binds them. Read them at Firing.Row.
	Inputs []Input
	// Records asks for the records of each firing; or Left and Right, both, for those of
	// the two sides of a coGroup.
	Records, Left, Right *List
	Outputs              []Output // of the results
	Side                 []*SideOutput
	Params               []Param
	// KeyState and WindowState say what the function keeps of each key, for all of its
	// windows, and of each window: FixedState or BytesState; nil: nothing. Windows that
	// merge have no state.
	KeyState, WindowState State
	// Schema is the version of the states' layout, to be raised when it changes; 0 means 1.
	Schema int
	// Upgrades are the older layouts that it converts from.
	Upgrades []Upgrade
	// Configure checks the arguments, once on each instance, before anything else;
	// nil accepts all. An error refuses the job's arguments.
	Configure func() error
}

// ProcessFunction is a registered process function; ProcessTwin drives it in tests.
type ProcessFunction struct {
	spec  ProcessSpec
	fn    func(*Firing) error
	ready bool // configured

	firing Firing // of the call in work
}

// Process registers a function that is shown each firing of a window and gives any number
// of rows. What it does for a firing follows from that firing and its states alone: it
// keeps nothing else, and reads no clock but the firing's. An error refuses the firing:
// its window gives no rows then, and states are what they were. A module registers one
// plug-in.
func Process(s ProcessSpec, fn func(*Firing) error) *ProcessFunction {
	if s.Schema == 0 {
		s.Schema = 1
	}
	if problem := checkProcess(&s); problem != "" {
		panic("tidemark: process function " + jsonString(s.Name) + ": " + problem)
	}
	for i, side := range s.Side {
		side.number = uint32(i + 1)
	}
	if s.KeyState != nil {
		s.KeyState.state().what = keyState
	}
	if s.WindowState != nil {
		s.WindowState.state().what = windowState
	}
	p := &ProcessFunction{spec: s, fn: fn}
	register(p)
	return p
}

func (p *ProcessFunction) name() string { return p.spec.Name }

func (p *ProcessFunction) steady() bool { return false }

// lists are the lists of records that the function asks for, in order of the frame.
func (p *ProcessFunction) lists() []*List {
	switch {
	case p.spec.Left != nil:
		return []*List{p.spec.Left, p.spec.Right}
	case p.spec.Records != nil:
		return []*List{p.spec.Records}
	}
	return nil
}

// block and firingData are as they lie in memory (abi/SPEC.md, section 3).
type block struct {
	items             uint32 // firings or pairs
	keys, nkeys       uint32
	windows, nwindows uint32
	results           uint32 // of an agenda: rows of the output columns
	lists             [2]listBlock
}

type listBlock struct{ rows, cols, ncols uint32 }

type firingData struct {
	start, end, watermark, now Timestamp
	key, window                uint32
	revision, reserved         uint32
	records                    [2]struct{ from, to uint32 }
}

func (p *ProcessFunction) call(o op, at, room uintptr) status {
	f, good := openFrame(at, room)
	if !good || (o != opConfigure && !p.ready) {
		return badFrame
	}
	switch o {
	case opConfigure:
		st := configure(f, p.spec.Params, p.spec.Configure)
		p.ready = st == ok
		return st
	case opProcess:
		return p.serve(f)
	case opUpgrade:
		return upgrades(p.spec.Upgrades).serve(f, 0)
	}
	return badFrame
}

// serve shows the function the firings of a frame.
func (p *ProcessFunction) serve(f frame) status {
	if !f.holds(f.block, unsafe.Sizeof(block{})) || !bindInputs(f, p.spec.Inputs) {
		return badFrame
	}
	b := (*block)(f.at(f.block))
	firings, good := slice[firingData](f, b.items, int(f.rows))
	if !good {
		return badFrame
	}
	for i, l := range p.lists() {
		if !l.open(f, &b.lists[i], i) {
			return badFrame
		}
	}
	if s := p.spec.KeyState; s != nil && !s.state().open(f, b.keys, int(b.nkeys)) {
		return badFrame
	}
	if s := p.spec.WindowState; s != nil && !s.state().open(f, b.windows, int(b.nwindows)) {
		return badFrame
	}
	w := &p.firing
	for i := range firings {
		f.op = uint32(i)
		start := f.outUsed
		*w = Firing{firingData: &firings[i], answer: w.next(f, i), p: p}
		err := p.fn(w)
		if w.finish(); err == nil {
			w.put()
		}
		if st := w.settle(start, err); st != ok {
			return st
		}
	}
	return ok
}
