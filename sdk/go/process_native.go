//go:build !wasip1

package tidemark

import (
	"encoding/binary"
	"errors"
	"math"
)

// Fired is a firing that a test shows to a process function.
type Fired struct {
	Key                        string // names the state of the key; the function does not see it
	Start, End, Watermark, Now Timestamp
	Revision                   int
	Inputs                     Values
	// Records are those of the list; with Left and Right in the spec, Left are the records
	// of that side and Right those of the other.
	Records, Left, Right []Record
}

// Record is a record of a list. A Time of NoTime is none.
type Record struct {
	Time   Timestamp
	Values Values
}

// NoTime is the time of a record that has none.
const NoTime Timestamp = math.MinInt64

// Given is what a process function gave for some firings, in order.
type Given struct {
	Rows []Values
	Side map[string][]Values
}

// ProcessTwin drives a process function in tests as a host does. Each call is one on a
// fresh instance; states are the twin's.
type ProcessTwin struct {
	p       *ProcessFunction
	args    Values
	keys    map[string][]byte
	windows map[fireKey][]byte
	room    int // bytes of the output area; 0: all that is left of the arena
}

type fireKey struct {
	key        string
	start, end Timestamp
}

// NewProcessTwin configures the function with a job's arguments, by the parameters' names.
// The error is a *Refusal, or says which argument does not fit.
func NewProcessTwin(p *ProcessFunction, args Values) (*ProcessTwin, error) {
	full, err := argsOf(p.spec.Params, args)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := configureTwin(p, p.spec.Params, full); err != nil {
		return nil, err
	}
	return &ProcessTwin{p: p, args: full, keys: map[string][]byte{}, windows: map[fireKey][]byte{}}, nil
}

// Clean removes the state of a key's window, as a host does at the window's cleanup.
func (t *ProcessTwin) Clean(key string, start, end Timestamp) {
	delete(t.windows, fireKey{key, start, end})
}

// Expire removes the state of a key.
func (t *ProcessTwin) Expire(key string) { delete(t.keys, key) }

// Fire shows the function some firings, in one call, and keeps the states that it leaves.
// After an error, a *Refusal with the firing in Op if the function refused one, states are
// what they were. A firing, or a record, in which a column is null that is not declared
// nullable is left out.
func (t *ProcessTwin) Fire(firings ...Fired) (Given, error) {
	mu.Lock()
	defer mu.Unlock()
	var shown []Fired
	for _, f := range firings {
		if !lacks(t.p.spec.Inputs, f.Inputs) {
			shown = append(shown, f)
		}
	}
	given := Given{Side: map[string][]Values{}}
	put := map[string][]byte{}
	putWindows := map[fireKey][]byte{}
	for len(shown) > 0 {
		n, err := t.call(shown, &given, put, putWindows)
		if err != nil {
			return Given{}, err
		}
		shown = shown[n:]
	}
	for k, s := range put {
		t.keys[k] = s
	}
	for k, s := range putWindows {
		t.windows[k] = s
	}
	return given, nil
}

// call makes one call, and returns how many firings it completed.
func (t *ProcessTwin) call(firings []Fired, given *Given, keys map[string][]byte, windows map[fireKey][]byte) (int, error) {
	t.p.ready = false
	if err := configureTwin(t.p, t.p.spec.Params, t.args); err != nil {
		return 0, err
	}
	w := newWriter()
	var inputs []Values
	for _, f := range firings {
		inputs = append(inputs, f.Inputs)
	}
	if err := w.columns(columnsOf(t.p.spec.Inputs), inputs); err != nil {
		return 0, err
	}
	w.h.block = w.area(48)
	b := (*block)(arenaAt(uintptr(w.h.block)))
	b.items = w.area(64 * len(firings))
	for n, l := range t.p.lists() {
		if err := w.list(firings, b, n, l, t.p.spec.Left != nil); err != nil {
			return 0, err
		}
	}
	var keyNames []string
	var windowNames []fireKey
	keySlots, windowSlots := map[string]int{}, map[fireKey]int{}
	var keyStates, windowStates []Acc
	for i, f := range firings {
		d := w.firing(b, i)
		d.start, d.end, d.watermark, d.now, d.revision = f.Start, f.End, f.Watermark, f.Now, uint32(f.Revision)
		at := fireKey{f.Key, f.Start, f.End}
		d.key, d.window = math.MaxUint32, math.MaxUint32
		if t.p.spec.KeyState != nil {
			if _, known := keySlots[f.Key]; !known {
				keySlots[f.Key] = len(keyNames)
				keyNames = append(keyNames, f.Key)
				keyStates = append(keyStates, stateOf(keys, t.keys, f.Key))
			}
			d.key = uint32(keySlots[f.Key])
		}
		if t.p.spec.WindowState != nil {
			if _, known := windowSlots[at]; !known {
				windowSlots[at] = len(windowNames)
				windowNames = append(windowNames, at)
				windowStates = append(windowStates, stateOf(windows, t.windows, at))
			}
			d.window = uint32(windowSlots[at])
		}
	}
	b.keys, b.nkeys = w.accs(keyStates, 0), uint32(len(keyStates))
	b.windows, b.nwindows = w.accs(windowStates, 0), uint32(len(windowStates))
	st, err := w.serve(t.p, opProcess, t.room)
	if err != nil {
		return 0, err
	}
	n := len(firings)
	if st == outputFull {
		if n = int(w.h.done); n == 0 {
			return 0, errNoRoom
		}
	}
	w.entries(func(i int, what uint32, body []byte) {
		f := &firings[i]
		switch what {
		case keyState:
			keys[f.Key] = append([]byte(nil), body...)
		case windowState:
			windows[fireKey{f.Key, f.Start, f.End}] = append([]byte(nil), body...)
		case 0:
			given.Rows = append(given.Rows, rowOf(body, t.p.spec.Outputs))
		default:
			side := t.p.spec.Side[what-1]
			given.Side[side.name] = append(given.Side[side.name], rowOf(body, side.outputs))
		}
	})
	return n, nil
}

var errNoRoom = errors.New("what one firing or pair gives does not fit into the arena")

// entries gives the entries of an answer.
func (w *writer) entries(each func(item int, what uint32, body []byte)) {
	b := w.out()[:w.h.outUsed]
	for len(b) > 0 {
		item, what, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
		each(int(item), what, b[entryBytes:entryBytes+size])
		b = b[entryBytes+(size+7)&^7:]
	}
}

// stateOf returns a state as a call before left it, or as it was.
func stateOf[K comparable](left, before map[K][]byte, k K) []byte {
	if s, there := left[k]; there {
		return s
	}
	return before[k]
}

func columnsOf(inputs []Input) []*column {
	cols := make([]*column, len(inputs))
	for i, c := range inputs {
		cols[i] = c.input()
	}
	return cols
}

func (w *writer) firing(b *block, i int) *firingData {
	return (*firingData)(arenaAt(uintptr(b.items) + 64*uintptr(i)))
}

// timeColumn is the name of the column of times in front of a list.
const timeColumn = " time"

// list lays out the records of all firings.
func (w *writer) list(firings []Fired, b *block, n int, l *List, sides bool) error {
	var all []Record
	for i, f := range firings {
		records := f.Records
		if sides {
			records = [][]Record{f.Left, f.Right}[n]
		}
		at := &w.firing(b, i).records[n]
		at.from = uint32(len(all))
		all = append(all, kept(l.cols, records)...)
		at.to = uint32(len(all))
	}
	return w.records(&b.lists[n], l, all)
}

// records lays out the records of a list, with their times in front.
func (w *writer) records(to *listBlock, l *List, records []Record) error {
	var rows []Values
	for _, r := range records {
		row := Values{}
		for name, v := range r.Values {
			row[name] = v
		}
		if r.Time != NoTime {
			row[timeColumn] = r.Time
		}
		rows = append(rows, row)
	}
	times := column{name: timeColumn, kind: kindTimestamp, nullable: true}
	cols := append([]*column{&times}, columnsOf(l.cols)...)
	to.rows, to.ncols = uint32(len(rows)), uint32(len(cols))
	var err error
	to.cols, err = w.described(cols, rows)
	return err
}

// rowOf reads the body of a row.
func rowOf(body []byte, cols []Output) Values {
	v := Values{}
	bits := binary.LittleEndian.Uint64(body)
	for i, c := range cols {
		if bits>>i&1 == 0 {
			continue
		}
		o := c.output()
		switch word := binary.LittleEndian.Uint64(body[8+8*i:]); o.kind {
		case kindInt64:
			v[o.name] = int64(word)
		case kindFloat64:
			v[o.name] = math.Float64frombits(word)
		case kindTimestamp:
			v[o.name] = Timestamp(word)
		case kindBool:
			v[o.name] = word != 0
		case kindString:
			off, n := uint32(word), uint32(word>>32)
			v[o.name] = string(body[off : off+n])
		}
	}
	return v
}
