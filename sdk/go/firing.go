package tidemark

import (
	"encoding/binary"
	"iter"
)

// Firing is what a process function is shown: one firing of a window of a key. It means
// nothing after the function returns.
type Firing struct {
	*firingData
	p    *ProcessFunction
	f    frame
	i    int
	row  *Out // the one that is open
	full bool // something did not fit: the firing is shown again, in a frame with more room
	long bool // a row's texts are longer than any frame can carry
}

// Row names the values of the function's Inputs.
func (f *Firing) Row() Row { return Row{f.i} }

// Start and End bound the window: it holds times from Start up to, not including, End. A
// global window holds all times.
func (f *Firing) Start() Timestamp { return f.start }

// End is the first time that the window does not hold.
func (f *Firing) End() Timestamp { return f.firingData.end }

// Watermark is how far event time was when the window fired.
func (f *Firing) Watermark() Timestamp { return f.watermark }

// Now is the host's clock. Rows that depend on it differ from run to run.
func (f *Firing) Now() Timestamp { return f.now }

// Revision counts the earlier firings of the window: above 0 this one is an update.
func (f *Firing) Revision() int { return int(f.revision) }

// What an entry of the answer is, beside a row of an output.
const (
	keyState    = 0x8000_0000
	windowState = 0x8000_0001
)

const entryBytes = 16

// Emit begins a row of the results. The one that was begun before is complete: to set a
// column of it is a mistake, which ends the call.
func (f *Firing) Emit() *Out { return f.begin(0, f.p.spec.Outputs) }

// SideOutput is a further output: the job's sinks read it as STEP.NAME.
type SideOutput struct {
	name    string
	outputs []Output
	number  uint32
}

// Side declares a side output with its columns.
func Side(name string, outputs ...Output) *SideOutput {
	return &SideOutput{name: name, outputs: outputs}
}

// Emit begins a row of the side output.
func (s *SideOutput) Emit(f *Firing) *Out { return f.begin(s.number, s.outputs) }

// begin opens an entry for a row and points the columns at it.
func (f *Firing) begin(output uint32, cols []Output) *Out {
	f.end()
	w := &Out{f: f.f}
	f.row = w
	size := 8 + 8*len(cols)
	at, room := f.entry(output, size)
	w.start = f.f.outUsed
	if !room {
		for _, c := range cols {
			c.output().bit = 0
			c.scrap()
		}
		return w
	}
	w.base = at
	clear(f.f.out[at:w.start])
	body := f.f.header.out + at
	for i, c := range cols {
		o := c.output()
		o.bit = i
		d := descriptor{kind: uint32(o.kind), validity: body, data: body + 8 + 8*uint32(i)}
		if !c.bind(f.f, &d, 1) {
			panic("tidemark: BUG: a row does not lie in its frame")
		}
	}
	return w
}

// entry opens an entry with a body of size bytes, and returns where that starts in the
// output area.
func (f *Firing) entry(what uint32, size int) (at uint32, room bool) {
	used := int(f.f.outUsed)
	if f.full || entryBytes+(size+7)&^7 > len(f.f.out)-used {
		f.full = true
		return 0, false
	}
	head := f.f.out[used : used+entryBytes]
	binary.LittleEndian.PutUint32(head, uint32(f.i))
	binary.LittleEndian.PutUint32(head[4:], what)
	binary.LittleEndian.PutUint32(head[8:], uint32(size))
	binary.LittleEndian.PutUint32(head[12:], 0)
	f.f.outUsed = uint32(used + entryBytes + size)
	return uint32(used + entryBytes), true
}

// noRow is the number of a row that is complete: no column has it, so that setting one
// panics.
const noRow = 1 << 30

// end closes the row that is open, whose texts made it longer.
func (f *Firing) end() {
	w := f.row
	if w == nil {
		return
	}
	f.row = nil
	w.i = noRow
	f.full, f.long = f.full || w.full, f.long || w.long
	if w.base > 0 {
		binary.LittleEndian.PutUint32(f.f.out[w.base-8:], f.f.outUsed-w.base)
		f.pad()
	}
}

// pad ends an entry at a multiple of 8.
func (f *Firing) pad() {
	used := int(f.f.outUsed)
	to := (used + 7) &^ 7
	if to > len(f.f.out) {
		f.full = true
		return
	}
	clear(f.f.out[used:to])
	f.f.outUsed = uint32(to)
}

// put answers the states that the function has set.
func (f *Firing) put() {
	for _, s := range [...]State{f.p.spec.KeyState, f.p.spec.WindowState} {
		if s != nil {
			s.state().answer(f)
		}
	}
}

// List is the records of a firing, in order of arrival, with columns that are read at
// their rows.
type List struct {
	cols  []Input
	times TimeColumn
	n     int // which list of the frame
}

// Records declares a list of records with these columns, none if only their number and
// times matter.
func Records(cols ...Input) *List {
	l := &List{cols: cols}
	l.times.kind = kindTimestamp
	return l
}

func (l *List) open(f frame, b *listBlock, n int) bool {
	l.n = n
	if b.rows > maxCount || int(b.ncols) != 1+len(l.cols) {
		return false
	}
	return bindColumns(f, b.cols, int(b.rows), []*TimeColumn{&l.times}) && bindColumns(f, b.cols+columnBytes, int(b.rows), l.cols)
}

// Len is the number of records of a firing.
func (l *List) Len(f *Firing) int { return int(f.records[l.n].to - f.records[l.n].from) }

// At names record i of a firing, counted from 0.
func (l *List) At(f *Firing, i int) Row { return Row{int(f.records[l.n].from) + i} }

// Of gives the records of a firing one by one.
func (l *List) Of(f *Firing) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for i := f.records[l.n].from; i < f.records[l.n].to; i++ {
			if !yield(Row{int(i)}) {
				return
			}
		}
	}
}

// Time is the event time of a record; timed is false if it has none.
func (l *List) Time(r Row) (at Timestamp, timed bool) { return l.times.Of(r), !l.times.Null(r) }
