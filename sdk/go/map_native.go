//go:build !wasip1

package tidemark

import "errors"

// MapTwin drives a function of single records in tests as a host does. Each call is one
// on a fresh instance.
type MapTwin struct {
	m    *MapFunction
	args Values
	room int // bytes of the output area; 0: all that is left of the arena
}

// NewMapTwin configures the function with a job's arguments, by the parameters' names.
// The error is a *Refusal, or says which argument does not fit.
func NewMapTwin(m *MapFunction, args Values) (*MapTwin, error) {
	full, err := argsOf(m.spec.Params, args)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := configureTwin(m, m.spec.Params, full); err != nil {
		return nil, err
	}
	return &MapTwin{m: m, args: full}, nil
}

// Show shows the function records in one call, and returns what it makes of each. After an
// error, a *Refusal with the record in Op if it refused one, there is nothing. A record in
// which a column is null that is not declared nullable is left out, and gives nothing.
func (t *MapTwin) Show(records ...Record) ([][]Values, error) {
	mu.Lock()
	defer mu.Unlock()
	made := make([][]Values, len(records))
	var shown []Record
	var place []int
	for i, r := range records {
		if !lacks(t.m.spec.Inputs, r.Values) {
			shown, place = append(shown, r), append(place, i)
		}
	}
	for done := 0; done < len(shown); {
		n, err := t.call(shown[done:], func(i int, row Values) {
			at := place[done+i]
			made[at] = append(made[at], row)
		})
		if err != nil {
			var refusal *Refusal
			if errors.As(err, &refusal) && refusal.Op >= 0 {
				refusal.Op = place[done+refusal.Op]
			}
			return nil, err
		}
		done += n
	}
	return made, nil
}

// call makes one call, and returns how many records it completed.
func (t *MapTwin) call(records []Record, made func(i int, row Values)) (int, error) {
	t.m.ready = false
	if err := configureTwin(t.m, t.m.spec.Params, t.args); err != nil {
		return 0, err
	}
	w := newWriter()
	w.h.rows = uint32(len(records))
	w.h.block = w.area(48)
	b := (*block)(arenaAt(uintptr(w.h.block)))
	if err := w.records(&b.lists[0], t.m.records, records); err != nil {
		return 0, err
	}
	st, err := w.serve(t.m, opMap, t.room)
	if err != nil {
		return 0, err
	}
	n := len(records)
	if st == outputFull {
		if n = int(w.h.done); n == 0 {
			return 0, errNoRoom
		}
	}
	w.entries(func(i int, _ uint32, body []byte) { made(i, rowOf(body, t.m.spec.Outputs)) })
	return n, nil
}
