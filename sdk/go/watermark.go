package tidemark

import (
	"strconv"
	"unsafe"
)

// GeneratorSpec describes a watermark generator. It becomes the module's manifest.
type GeneratorSpec struct {
	Name    string  // [a-z][a-z0-9_-]{0,62}
	Version string  // free text of at most 64 bytes
	Inputs  []Input // columns of the source's records, beside their times
	Params  []Param
	// State is what the generator keeps of a split: FixedState or BytesState; nil: nothing.
	State State
	// Schema is the version of the state's layout, to be raised when it changes; 0 means 1.
	Schema int
	// Upgrades are the older layouts that it converts from.
	Upgrades []Upgrade
	// Configure checks the arguments, once on each instance, before anything else;
	// nil accepts all. An error refuses the job's arguments.
	Configure func() error
	// Tick is called by the clock, whose time is Timed.Time, also when no record comes;
	// nil: the clock says nothing. What a tick says depends on when it comes, so there are
	// none where rows must follow from the records alone, in the replay of bounded input.
	Tick func(*Timed) error
}

// Generator is a registered watermark generator; GeneratorTwin drives it in tests.
type Generator struct {
	spec  GeneratorSpec
	fn    func(*Timed) error
	ready bool // configured

	records *List
	wm      *TimeOutput
	timed   Timed // of the call in work
}

// Watermarks registers a function that is shown every record of a split, in order, and
// says how far event time is behind it: that no record with that time or a lower one is
// to come. A watermark below an earlier one says nothing, and none goes beyond the highest
// time of the split. It keeps nothing but its State. An error ends the job, since there is
// no time without it. A module registers one plug-in.
func Watermarks(s GeneratorSpec, fn func(*Timed) error) *Generator {
	if s.Schema == 0 {
		s.Schema = 1
	}
	for _, problem := range []string{checkModule(s.Name, s.Version, s.Params), checkSchema(s.Schema), upgrades(s.Upgrades).check(s.Schema, -1), checkInputs("input", s.Inputs)} {
		if problem != "" {
			panic("tidemark: watermark generator " + jsonString(s.Name) + ": " + problem)
		}
	}
	if s.State != nil {
		s.State.state().what = keyState
	}
	g := &Generator{spec: s, fn: fn, records: Records(s.Inputs...), wm: OutTime("watermark")}
	register(g)
	return g
}

func (g *Generator) name() string { return g.spec.Name }

func (g *Generator) steady() bool { return false }

// manifest writes section 2's JSON.
func (g *Generator) manifest() []byte {
	s := &g.spec
	b := []byte(`{"name":` + jsonString(s.Name) + `,"version":` + jsonString(s.Version) + `,"sdk":"go","watermark":{"inputs":[`)
	b = append(appendInputs(b, s.Inputs), `],"params":[`...)
	b = append(appendParams(b, s.Params), ']')
	if s.State != nil {
		b = append(b, `,"state":{"schema":`...)
		b = append(upgrades(s.Upgrades).appendJSON(strconv.AppendInt(b, int64(s.Schema), 10), false), '}')
	}
	return append(b, "}}"...)
}

// Timed is what a generator is shown: a record with its time, or the clock. It means
// nothing after the function returns.
type Timed struct {
	answer
	g *Generator
}

// Row names the values of the generator's Inputs; a tick has none.
func (t *Timed) Row() Row { return Row{t.i} }

// Time is the record's event time, or the clock's.
func (t *Timed) Time() Timestamp { return t.g.records.times.Of(Row{t.i}) }

// Watermark says how far event time is. The last one of a record counts.
func (t *Timed) Watermark(wm Timestamp) { t.g.wm.Set(t.begin(0, []Output{t.g.wm}), wm) }

func (t *Timed) slot(uint32) uint32 { return 0 }

func (t *Timed) entries() *answer { return &t.answer }

func (g *Generator) call(o op, at, room uintptr) status {
	f, good := openFrame(at, room)
	if !good || (o != opConfigure && !g.ready) {
		return badFrame
	}
	switch o {
	case opConfigure:
		st := configure(f, g.spec.Params, g.spec.Configure)
		g.ready = st == ok
		return st
	case opWatermark:
		return g.serve(f, g.records, g.fn)
	case opTick:
		if g.spec.Tick == nil {
			return ok
		}
		return g.serve(f, Records(), g.spec.Tick)
	case opUpgrade:
		return upgrades(g.spec.Upgrades).serve(f, 0)
	}
	return badFrame
}

// serve shows a function the records of a frame.
func (g *Generator) serve(f frame, records *List, fn func(*Timed) error) status {
	if !f.holds(f.block, unsafe.Sizeof(block{})) {
		return badFrame
	}
	b := (*block)(f.at(f.block))
	if !records.open(f, &b.lists[0], 0) || b.lists[0].rows != f.rows {
		return badFrame
	}
	g.records.times = records.times
	if s := g.spec.State; s != nil && (b.nkeys != 1 || !s.state().open(f, b.keys, 1)) {
		return badFrame
	}
	w := &g.timed
	for i := range int(f.rows) {
		f.op = uint32(i)
		start := f.outUsed
		*w = Timed{answer: w.next(f, i), g: g}
		err := fn(w)
		if w.finish(); err == nil && g.spec.State != nil {
			g.spec.State.state().leave(w)
		}
		if st := w.settle(start, err); st != ok {
			return st
		}
	}
	return ok
}
