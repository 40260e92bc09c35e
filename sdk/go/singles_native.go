//go:build !wasip1

package tidemark

import "errors"

// singles is what the twins of functions of single records and of window assigners share:
// records that are each shown alone, in frames of one form.
type singles struct {
	m       module
	op      op
	records *List
	room    int // bytes of the output area; 0: all that is left
	// configure gives the module its arguments, before each call.
	configure func() error
}

// show shows those of the records that a host would show, in as many calls as it takes, and
// hands out the entries of each. After an error, a *Refusal with the record in Op if the
// function refused one, what came before is void.
func (s *singles) show(records []Record, takes func(Record) bool, entry func(record int, body []byte)) error {
	mu.Lock()
	defer mu.Unlock()
	var shown []Record
	var place []int
	for i, r := range records {
		if takes(r) {
			shown, place = append(shown, r), append(place, i)
		}
	}
	for done := 0; done < len(shown); {
		n, err := s.call(shown[done:], func(i int, body []byte) { entry(place[done+i], body) })
		if err != nil {
			var refusal *Refusal
			if errors.As(err, &refusal) && refusal.Op >= 0 {
				refusal.Op = place[done+refusal.Op]
			}
			return err
		}
		done += n
	}
	return nil
}

// call makes one call, and returns how many records it completed.
func (s *singles) call(records []Record, entry func(i int, body []byte)) (int, error) {
	if err := s.configure(); err != nil {
		return 0, err
	}
	w := newWriter()
	w.h.rows = uint32(len(records))
	w.h.block = w.area(48)
	b := (*block)(arenaAt(uintptr(w.h.block)))
	if err := w.records(&b.lists[0], s.records, records); err != nil {
		return 0, err
	}
	st, err := w.serve(s.m, s.op, s.room)
	if err != nil {
		return 0, err
	}
	n := len(records)
	if st == outputFull {
		if n = int(w.h.done); n == 0 {
			return 0, errNoRoom
		}
	}
	w.entries(func(i int, _ uint32, body []byte) { entry(i, body) })
	return n, nil
}
