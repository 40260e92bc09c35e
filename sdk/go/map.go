package tidemark

import "unsafe"

// MapSpec describes a function of single records. It becomes the module's manifest.
type MapSpec struct {
	Name    string  // [a-z][a-z0-9_-]{0,62}
	Version string  // free text of at most 64 bytes
	Inputs  []Input // columns of the record
	// Outputs are fields of the records that come of it, beside those that it has: of one
	// with the same name the new one stands.
	Outputs []Output
	Params  []Param
	// Configure checks the arguments, once on each instance, before anything else;
	// nil accepts all. An error refuses the job's arguments.
	Configure func() error
}

// MapFunction is a registered function of single records; MapTwin drives it in tests.
type MapFunction struct {
	spec  MapSpec
	fn    func(*Mapped) error
	ready bool // configured

	records *List
	mapped  Mapped // of the call in work
}

// Map registers a function that is shown records one by one and makes records of each:
// none, so that it is a filter, one, or several. All of them have the record's time. It
// keeps nothing: what it does for a record follows from that record alone. An error
// refuses the record. A module registers one plug-in.
func Map(s MapSpec, fn func(*Mapped) error) *MapFunction {
	for _, problem := range []string{checkModule(s.Name, s.Version, s.Params), checkInputs("input", s.Inputs), checkOutputs("output", s.Outputs)} {
		if problem != "" {
			panic("tidemark: map function " + jsonString(s.Name) + ": " + problem)
		}
	}
	m := &MapFunction{spec: s, fn: fn, records: Records(s.Inputs...)}
	register(m)
	return m
}

func (m *MapFunction) name() string { return m.spec.Name }

func (m *MapFunction) steady() bool { return false }

// manifest writes section 2's JSON.
func (m *MapFunction) manifest() []byte {
	s := &m.spec
	b := []byte(`{"name":` + jsonString(s.Name) + `,"version":` + jsonString(s.Version) + `,"sdk":"go","map":{"inputs":[`)
	b = append(appendInputs(b, s.Inputs), `],"outputs":[`...)
	b = append(appendOutputs(b, s.Outputs), `],"params":[`...)
	return append(appendParams(b, s.Params), "]}}"...)
}

// Mapped is what a function of single records is shown. It means nothing after the
// function returns.
type Mapped struct {
	answer
	m *MapFunction
}

// Row names the values of the function's Inputs.
func (m *Mapped) Row() Row { return Row{m.i} }

// Time is the record's event time; timed is false if it has none.
func (m *Mapped) Time() (at Timestamp, timed bool) { return m.m.records.Time(m.Row()) }

// Emit begins a record. The one that was begun before is complete: to set a column of it
// is a mistake, which ends the call.
func (m *Mapped) Emit() *Out { return m.begin(0, m.m.spec.Outputs) }

func (m *MapFunction) call(o op, at, room uintptr) status {
	f, good := openFrame(at, room)
	if !good || (o != opConfigure && !m.ready) {
		return badFrame
	}
	switch o {
	case opConfigure:
		st := configure(f, m.spec.Params, m.spec.Configure)
		m.ready = st == ok
		return st
	case opMap:
		return m.serve(f)
	}
	return badFrame
}

// serve shows the function the records of a frame.
func (m *MapFunction) serve(f frame) status {
	if !f.holds(f.block, unsafe.Sizeof(block{})) {
		return badFrame
	}
	b := (*block)(f.at(f.block))
	if !m.records.open(f, &b.lists[0], 0) || b.lists[0].rows != f.rows {
		return badFrame
	}
	w := &m.mapped
	for i := range int(f.rows) {
		f.op = uint32(i)
		start := f.outUsed
		*w = Mapped{answer: w.next(f, i), m: m}
		if st := w.settle(start, m.fn(w)); st != ok {
			return st
		}
	}
	return ok
}
