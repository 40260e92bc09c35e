package tidemark

import "encoding"

// Spec describes an aggregate. It becomes the module's manifest.
type Spec struct {
	Name    string // [a-z][a-z0-9_-]{0,62}
	Version string // free text of at most 64 bytes
	Inputs  []Input
	Outputs []Output
	Params  []Param
	// Schema is the version of the accumulator's layout, to be raised when it
	// changes; 0 means 1.
	Schema int
	// Upgrades are the older layouts that it converts from.
	Upgrades []Upgrade
	// OrderInsensitive: the result does not depend on the order of records and
	// merges. Hosts need it to share work between overlapping windows.
	OrderInsensitive bool
	// Exact: merging in any shape gives the same bits as one pass. Sums of
	// floating-point numbers are not exact.
	Exact bool
	// Configure checks the arguments, once on each instance, before anything else;
	// nil accepts all. An error refuses the job's arguments.
	Configure func() error
}

// Accumulator is what an author writes on a pointer to the accumulator's type A.
// The calls come one at a time.
//
// The laws: merging with a fresh accumulator changes nothing; merging the
// accumulators of two parts equals adding both parts to one, bit for bit if the Spec
// says Exact; Result changes nothing.
//
// A fresh accumulator is A's zero value, or what Resetter makes of it.
type Accumulator[A any] interface {
	*A
	// Add folds a record into the accumulator. Called per record.
	Add(Row) error
	// Merge folds o into the accumulator; the records behind o came later. It may
	// use up o.
	Merge(o *A) error
	// Result writes the row of output columns.
	Result(*Out) error
}

// VariableAccumulator is an Accumulator whose size varies, hence one that can be
// written as bytes and read back. Go names these two methods in package encoding:
//
//	AppendBinary(b []byte) ([]byte, error) // appends at most 1 MiB
//	UnmarshalBinary(b []byte) error        // on a fresh accumulator; b is borrowed
type VariableAccumulator[A any] interface {
	Accumulator[A]
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Resetter is an accumulator that is not fresh as its zero value, or whose memory is
// worth using again. Reset makes it fresh, whatever it held.
type Resetter interface{ Reset() }

// Aggregate is a registered aggregate; Twin drives it in tests.
type Aggregate struct {
	spec  Spec
	width int // bytes of an accumulator; 0: varies
	calls calls
	ready bool // configured
}

// calls are the calls of section 4 that differ between the two sorts of accumulator.
// The columns are bound already.
type calls interface {
	create(f frame) status
	add(f frame) status
	merge(f frame) status
	result(f frame) status
}

// op numbers the calls that carry a frame.
type op int

const (
	opConfigure op = iota
	opCreate
	opAdd
	opMerge
	opResult
	opApply
	opProcess
	opPair
	opWatermark
	opTick
	opMap
	opTrigger
	opAssign
	opUpgrade
)

// call serves one call on the frame at an offset into the arena.
func (a *Aggregate) call(o op, at, room uintptr) status {
	f, good := openFrame(at, room)
	if !good || (o != opConfigure && !a.ready) {
		return badFrame
	}
	switch o {
	case opConfigure:
		st := configure(f, a.spec.Params, a.spec.Configure)
		a.ready = st == ok
		return st
	case opCreate:
		return a.calls.create(f)
	case opAdd:
		if !bindInputs(f, a.spec.Inputs) {
			return badFrame
		}
		return a.calls.add(f)
	case opMerge:
		return a.calls.merge(f)
	case opResult:
		if !bindOutputs(f, a.spec.Outputs) {
			return badFrame
		}
		return a.calls.result(f)
	case opApply:
		return a.apply(f)
	case opUpgrade:
		return upgrades(a.spec.Upgrades).serve(f, a.width)
	}
	return badFrame
}

// configure reads the arguments and has the author check them.
func configure(f frame, params []Param, check func() error) status {
	if f.rows != 1 || !bindInputs(f, params) {
		return badFrame
	}
	if check != nil {
		if err := check(); err != nil {
			return f.refuse(err)
		}
	}
	return ok
}

// module is what is registered: it serves the calls of one kind of plug-in.
type module interface {
	// call serves one call on the frame at an offset into the arena.
	call(o op, at, room uintptr) status
	manifest() []byte
	name() string
	// steady: a call leaves no garbage behind, so that the collector may wait.
	steady() bool
}

func (a *Aggregate) name() string { return a.spec.Name }

func (a *Aggregate) steady() bool { return a.width > 0 }

// newAggregate checks the declaration and registers it. A mistake is the author's
// and shows when the module starts for the first time, in `tidemark plugin build`.
func newAggregate(s Spec, width int, c calls) *Aggregate {
	if s.Schema == 0 {
		s.Schema = 1
	}
	problem := check(s)
	if problem == "" {
		problem = upgrades(s.Upgrades).check(s.Schema, width)
	}
	if problem != "" {
		panic("tidemark: aggregate " + jsonString(s.Name) + ": " + problem)
	}
	a := &Aggregate{spec: s, width: width, calls: c}
	register(a)
	return a
}
