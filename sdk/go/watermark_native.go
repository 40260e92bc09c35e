//go:build !wasip1

package tidemark

import "errors"

// GeneratorTwin drives a watermark generator in tests as a host does, for one split. Each
// call is one on a fresh instance; the state is the twin's.
type GeneratorTwin struct {
	g     *Generator
	args  Values
	state []byte
	room  int // bytes of the output area; 0: all that is left of the arena
}

// NewGeneratorTwin configures the generator with a job's arguments, by the parameters'
// names. The error is a *Refusal, or says which argument does not fit.
func NewGeneratorTwin(g *Generator, args Values) (*GeneratorTwin, error) {
	full, err := argsOf(g.spec.Params, args)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := configureTwin(g, g.spec.Params, full); err != nil {
		return nil, err
	}
	return &GeneratorTwin{g: g, args: full}, nil
}

// Show shows the generator records in one call, and returns what it says behind each of
// them, NoTime for nothing. After an error, a *Refusal with the record in Op if it refused
// one, its state is what it was. A record in which a column is null that is not declared
// nullable is left out, and NoTime stands behind it.
func (t *GeneratorTwin) Show(records ...Record) ([]Timestamp, error) {
	mu.Lock()
	defer mu.Unlock()
	said := make([]Timestamp, len(records))
	var shown []Record
	var place []int
	for i, r := range records {
		if said[i] = NoTime; !lacks(t.g.spec.Inputs, r.Values) {
			shown, place = append(shown, r), append(place, i)
		}
	}
	state := t.state
	for done := 0; done < len(shown); {
		n, next, err := t.call(opWatermark, t.g.records, shown[done:], state, func(i int, wm Timestamp) { said[place[done+i]] = wm })
		if err != nil {
			var refusal *Refusal
			if errors.As(err, &refusal) && refusal.Op >= 0 {
				refusal.Op = place[done+refusal.Op]
			}
			return nil, err
		}
		done, state = done+n, next
	}
	t.state = state
	return said, nil
}

// Tick lets the generator look at a clock, and returns what it says, NoTime for nothing.
func (t *GeneratorTwin) Tick(now Timestamp) (Timestamp, error) {
	mu.Lock()
	defer mu.Unlock()
	said := NoTime
	clock := Record{Time: now}
	_, state, err := t.call(opTick, Records(), []Record{clock}, t.state, func(_ int, wm Timestamp) { said = wm })
	if err != nil {
		return NoTime, err
	}
	t.state = state
	return said, nil
}

// call makes one call, and returns how many records it completed, and the state behind them.
func (t *GeneratorTwin) call(o op, list *List, records []Record, state []byte, said func(i int, wm Timestamp)) (int, []byte, error) {
	t.g.ready = false
	if err := configureTwin(t.g, t.g.spec.Params, t.args); err != nil {
		return 0, nil, err
	}
	w := newWriter()
	w.h.rows = uint32(len(records))
	w.h.block = w.area(48)
	b := (*block)(arenaAt(uintptr(w.h.block)))
	if err := w.records(&b.lists[0], list, records); err != nil {
		return 0, nil, err
	}
	b.keys, b.nkeys = w.accs([]Acc{state}, 0), 1
	st, err := w.serve(t.g, o, t.room)
	if err != nil {
		return 0, nil, err
	}
	n := len(records)
	if st == outputFull {
		if n = int(w.h.done); n == 0 {
			return 0, nil, errNoRoom
		}
	}
	w.entries(func(i int, what uint32, body []byte) {
		if what == keyState {
			state = append([]byte(nil), body...)
			return
		}
		if wm, there := rowOf(body, []Output{t.g.wm})["watermark"]; there {
			said(i, wm.(Timestamp))
		}
	})
	return n, state, nil
}
