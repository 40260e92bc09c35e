package tidemark

import "unsafe"

// AssignerSpec describes a window assigner. It becomes the module's manifest.
type AssignerSpec struct {
	Name    string  // [a-z][a-z0-9_-]{0,62}
	Version string  // free text of at most 64 bytes
	Inputs  []Input // columns of the records, beside their times
	Params  []Param
	// Merges: windows of a key that overlap or touch become one, as sessions do. A record
	// is then in one window at most.
	Merges bool
	// Configure checks the arguments, once on each instance, before anything else;
	// nil accepts all. An error refuses the job's arguments.
	Configure func() error
}

// Assigner is a registered window assigner; AssignerTwin drives it in tests.
type Assigner struct {
	spec  AssignerSpec
	fn    func(*Assigned) error
	ready bool // configured

	records  *List
	assigned Assigned // of the call in work
}

// Windows registers a function that is shown records one by one and says which windows
// each belongs to: none, one, or several. It keeps nothing: what it says of a record
// follows from that record and the arguments alone. An error refuses the record. A module
// registers one plug-in.
func Windows(s AssignerSpec, fn func(*Assigned) error) *Assigner {
	for _, problem := range []string{checkModule(s.Name, s.Version, s.Params), checkInputs("input", s.Inputs)} {
		if problem != "" {
			panic("tidemark: window assigner " + jsonString(s.Name) + ": " + problem)
		}
	}
	a := &Assigner{spec: s, fn: fn, records: Records(s.Inputs...)}
	register(a)
	return a
}

func (a *Assigner) name() string { return a.spec.Name }

func (a *Assigner) steady() bool { return false }

// manifest writes section 2's JSON.
func (a *Assigner) manifest() []byte {
	s := &a.spec
	b := []byte(`{"name":` + jsonString(s.Name) + `,"version":` + jsonString(s.Version) + `,"sdk":"go","assigner":{"inputs":[`)
	b = append(appendInputs(b, s.Inputs), `],"params":[`...)
	b = append(appendParams(b, s.Params), ']')
	if s.Merges {
		b = append(b, `,"merges":true`...)
	}
	return append(b, "}}"...)
}

// Assigned is what an assigner is shown: a record with its time. It means nothing after
// the function returns.
type Assigned struct {
	answer
	a *Assigner
}

// Row names the values of the assigner's Inputs.
func (a *Assigned) Row() Row { return Row{a.i} }

// Time is the record's event time.
func (a *Assigned) Time() Timestamp { return a.a.records.times.Of(Row{a.i}) }

// windowData is the body of an entry as it lies in memory (abi/SPEC.md, section 3).
type windowData struct{ start, end Timestamp }

// Window puts the record into the window that holds times from start up to, not including,
// end: the record's own time need not be one of them. start must be below end. A record
// can be in 1,000 windows, and in one only where they merge; to name a window twice is to
// name it once.
func (a *Assigned) Window(start, end Timestamp) {
	if at, room := a.entry(0, int(unsafe.Sizeof(windowData{}))); room {
		*(*windowData)(unsafe.Pointer(&a.f.out[at])) = windowData{start, end}
	}
}

func (a *Assigner) call(o op, at, room uintptr) status {
	f, good := openFrame(at, room)
	if !good || (o != opConfigure && !a.ready) {
		return badFrame
	}
	switch o {
	case opConfigure:
		st := configure(f, a.spec.Params, a.spec.Configure)
		a.ready = st == ok
		return st
	case opAssign:
		return a.serve(f)
	}
	return badFrame
}

// serve shows the function the records of a frame.
func (a *Assigner) serve(f frame) status {
	if !f.holds(f.block, unsafe.Sizeof(block{})) {
		return badFrame
	}
	b := (*block)(f.at(f.block))
	if !a.records.open(f, &b.lists[0], 0) || b.lists[0].rows != f.rows {
		return badFrame
	}
	w := &a.assigned
	*w = Assigned{answer: answer{f: f}, a: a} // once: it begins no rows
	for i := range int(f.rows) {
		f.op = uint32(i)
		start := f.outUsed
		w.i = i
		if st := w.settle(start, a.fn(w)); st != ok {
			return st
		}
	}
	return ok
}
