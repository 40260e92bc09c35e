//go:build !wasip1

package tidemark

import "errors"

// PairTwin drives a pair function in tests as a host does. Each call is one on a fresh
// instance.
type PairTwin struct {
	p    *PairFunction
	args Values
	room int // bytes of the output area; 0: all that is left of the arena
}

// NewPairTwin configures the function with a job's arguments, by the parameters' names.
// The error is a *Refusal, or says which argument does not fit.
func NewPairTwin(p *PairFunction, args Values) (*PairTwin, error) {
	full, err := argsOf(p.spec.Params, args)
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if err := configureTwin(p, p.spec.Params, full); err != nil {
		return nil, err
	}
	return &PairTwin{p: p, args: full}, nil
}

// Show shows the function every pair of the records, left one by left one, as a window
// join does, and returns its rows. The time of a pair is the later one of the two. After an
// error, a *Refusal with the pair in Op if the function refused one, there are none. Records
// in which a column is null that is not declared nullable are left out.
func (t *PairTwin) Show(left, right []Record) ([]Values, error) {
	mu.Lock()
	defer mu.Unlock()
	l, r := kept(t.p.spec.Left, left), kept(t.p.spec.Right, right)
	var rows []Values
	for done, all := 0, len(l)*len(r); done < all; {
		n, err := t.call(l, r, done, &rows)
		if err != nil {
			var refusal *Refusal
			if errors.As(err, &refusal) && refusal.Op >= 0 {
				refusal.Op += done
			}
			return nil, err
		}
		done += n
	}
	return rows, nil
}

// kept leaves out what a host would.
func kept(cols []Input, records []Record) []Record {
	var out []Record
	for _, r := range records {
		if !lacks(cols, r.Values) {
			out = append(out, r)
		}
	}
	return out
}

// call makes one call for the pairs from number done on, and returns how many of them it
// completed.
func (t *PairTwin) call(left, right []Record, done int, rows *[]Values) (int, error) {
	t.p.ready = false
	if err := configureTwin(t.p, t.p.spec.Params, t.args); err != nil {
		return 0, err
	}
	n := len(left)*len(right) - done
	w := newWriter()
	w.h.rows = uint32(n)
	w.h.block = w.area(48)
	b := (*block)(arenaAt(uintptr(w.h.block)))
	b.items = w.area(16 * n)
	for i := range n {
		l, r := (done+i)/len(right), (done+i)%len(right)
		*(*pairData)(arenaAt(uintptr(b.items) + 16*uintptr(i))) = pairData{uint32(l), uint32(r), max(left[l].Time, right[r].Time)}
	}
	for s, records := range [2][]Record{left, right} {
		if err := w.records(&b.lists[s], t.p.sides[s], records); err != nil {
			return 0, err
		}
	}
	st, err := w.serve(t.p, opPair, t.room)
	if err != nil {
		return 0, err
	}
	if st == outputFull {
		if n = int(w.h.done); n == 0 {
			return 0, errNoRoom
		}
	}
	w.entries(func(_ int, _ uint32, body []byte) { *rows = append(*rows, rowOf(body, t.p.spec.Outputs)) })
	return n, nil
}
