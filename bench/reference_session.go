package main

import (
	"cmp"
	"io"
	"slices"
)

// sessionKey is a key with its open sessions: mostly one, and no two of them touch.
type sessionKey struct {
	name string
	open []cell // their ends, last + gap, are above the watermark when it was looked at
}

// wheelStep is how far apart in ms keys are looked at for sessions that have ended without
// a further record of the key. What a session is does not depend on it.
const wheelStep int64 = 1000

// sessions are separated by gap ms without a record of the key; two that touch are one.
//
// Each key with open sessions stands in one place of the wheel, at the first end of one. Disorder
// is less than the gap, so that no record makes a session that ends before those that are there.
func sessions(gap int64) reference {
	return func(in io.Reader, out io.Writer) error {
		rows := newRowWriter(out)
		keys := map[string]*sessionKey{}
		wheel := map[int64][]*sessionKey{} // by the first step at or behind an end
		var highest, step int64            // step: the last one looked at
		place := func(k *sessionKey) {
			first := slices.MinFunc(k.open, func(a, b cell) int { return cmp.Compare(a.last, b.last) })
			at := (first.last + gap + wheelStep - 1) / wheelStep
			wheel[at] = append(wheel[at], k)
		}
		// look ends sessions up to a watermark.
		look := func(k *sessionKey, watermark int64) error {
			still := k.open[:0]
			for i := range k.open {
				s := &k.open[i]
				if s.last+gap > watermark {
					still = append(still, *s)
				} else if err := rows.write(s.first, s.last+gap, k.name, s); err != nil {
					return err
				}
			}
			k.open = still
			return nil
		}
		err := eachEvent(in, func(e *event) error {
			k := keys[string(e.key)]
			if k == nil {
				k = &sessionKey{name: string(e.key)}
				keys[k.name] = k
			}
			// The record is a session, and one with those that it touches.
			s := cell{1, e.amount, e.amount, e.time, e.time}
			others := k.open[:0]
			for i := range k.open {
				switch o := &k.open[i]; {
				case o.last+gap <= highest-bound:
					if err := rows.write(o.first, o.last+gap, k.name, o); err != nil {
						return err
					}
				case o.first <= e.time+gap && e.time <= o.last+gap:
					s.first, s.last = min(s.first, o.first), max(s.last, o.last)
					s.merge(o)
				default:
					others = append(others, *o)
				}
			}
			isNew := k.open == nil
			k.open = append(others, s)
			if isNew {
				place(k)
			}
			if e.time <= highest {
				return nil
			}
			if highest == 0 {
				step = (e.time - bound) / wheelStep
			}
			highest = e.time
			for step < (highest-bound)/wheelStep {
				step++
				for _, k := range wheel[step] {
					if err := look(k, step*wheelStep); err != nil {
						return err
					}
					if len(k.open) > 0 {
						place(k)
					} else {
						delete(keys, k.name)
					}
				}
				delete(wheel, step)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := look(k, highest+gap); err != nil {
				return err
			}
		}
		return rows.out.Flush()
	}
}
