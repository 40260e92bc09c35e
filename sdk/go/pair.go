package tidemark

import "unsafe"

// PairSpec describes a pair function. It becomes the module's manifest.
type PairSpec struct {
	Name        string  // [a-z][a-z0-9_-]{0,62}
	Version     string  // free text of at most 64 bytes
	Left, Right []Input // columns of either record: read them at Pair.Left and Pair.Right
	Outputs     []Output
	Params      []Param
	// Configure checks the arguments, once on each instance, before anything else;
	// nil accepts all. An error refuses the job's arguments.
	Configure func() error
}

// PairFunction is a registered pair function; PairTwin drives it in tests.
type PairFunction struct {
	spec  PairSpec
	fn    func(*Pair) error
	ready bool // configured
	sides [2]*List
	pair  Pair // of the call in work
}

// Pairs registers a function that is shown pairs of records, which a join has brought
// together, and gives any number of rows for each. It keeps nothing: what it does for a
// pair follows from that pair alone. An error refuses the pair. A module registers one
// plug-in.
func Pairs(s PairSpec, fn func(*Pair) error) *PairFunction {
	for _, problem := range []string{
		checkModule(s.Name, s.Version, s.Params), checkInputs("left column", s.Left), checkInputs("right column", s.Right), checkOutputs("output", s.Outputs),
	} {
		if problem != "" {
			panic("tidemark: pair function " + jsonString(s.Name) + ": " + problem)
		}
	}
	for _, l := range s.Left {
		for _, r := range s.Right {
			if l.input() == r.input() {
				panic("tidemark: pair function " + jsonString(s.Name) + ": column " + jsonString(l.input().name) + " stands on both sides; declare one for each")
			}
		}
	}
	p := &PairFunction{spec: s, fn: fn, sides: [2]*List{Records(s.Left...), Records(s.Right...)}}
	register(p)
	return p
}

func (p *PairFunction) name() string { return p.spec.Name }

func (p *PairFunction) steady() bool { return false }

// manifest writes section 2's JSON.
func (p *PairFunction) manifest() []byte {
	s := &p.spec
	b := []byte(`{"name":` + jsonString(s.Name) + `,"version":` + jsonString(s.Version) + `,"sdk":"go","pair":{"left":[`)
	b = append(appendInputs(b, s.Left), `],"right":[`...)
	b = append(appendInputs(b, s.Right), `],"outputs":[`...)
	b = append(appendOutputs(b, s.Outputs), `],"params":[`...)
	return append(appendParams(b, s.Params), "]}}"...)
}

// Pair is what a pair function is shown: a record of either side. It means nothing after
// the function returns.
type Pair struct {
	*pairData
	answer
	p *PairFunction
}

// pairData is as it lies in memory (abi/SPEC.md, section 3).
type pairData struct {
	left, right uint32
	at          Timestamp
}

// Left names the values of the left record, for columns of PairSpec.Left.
func (p *Pair) Left() Row { return Row{int(p.left)} }

// Right names the values of the right record, for columns of PairSpec.Right.
func (p *Pair) Right() Row { return Row{int(p.right)} }

// LeftTime is the event time of the left record; timed is false if it has none.
func (p *Pair) LeftTime() (at Timestamp, timed bool) { return p.p.sides[0].Time(p.Left()) }

// RightTime is the event time of the right record; timed is false if it has none.
func (p *Pair) RightTime() (at Timestamp, timed bool) { return p.p.sides[1].Time(p.Right()) }

// Time is that of the rows: the later one of the two in an interval join, the last
// millisecond of the window in a window join.
func (p *Pair) Time() Timestamp { return p.at }

// Emit begins a row. The one that was begun before is complete: to set a column of it is
// a mistake, which ends the call.
func (p *Pair) Emit() *Out { return p.begin(0, p.p.spec.Outputs) }

func (p *PairFunction) call(o op, at, room uintptr) status {
	f, good := openFrame(at, room)
	if !good || (o != opConfigure && !p.ready) {
		return badFrame
	}
	switch o {
	case opConfigure:
		st := configure(f, p.spec.Params, p.spec.Configure)
		p.ready = st == ok
		return st
	case opPair:
		return p.serve(f)
	}
	return badFrame
}

// serve shows the function the pairs of a frame.
func (p *PairFunction) serve(f frame) status {
	if !f.holds(f.block, unsafe.Sizeof(block{})) {
		return badFrame
	}
	b := (*block)(f.at(f.block))
	pairs, good := slice[pairData](f, b.items, int(f.rows))
	if !good {
		return badFrame
	}
	for s, l := range p.sides {
		if !l.open(f, &b.lists[s], s) {
			return badFrame
		}
	}
	w := &p.pair
	for i := range pairs {
		f.op = uint32(i)
		start := f.outUsed
		*w = Pair{pairData: &pairs[i], answer: w.next(f, i), p: p}
		if st := w.settle(start, p.fn(w)); st != ok {
			return st
		}
	}
	return ok
}
