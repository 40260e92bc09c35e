package breaker

import (
	"cmp"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// What is known of failures is stored by part, so that parts can be dealt to other tasks:
//
//	number of plug-ins; for each, in order: its name, how many times, each time,
//	the last time, the reason, since when, how many were set aside

// known is a circuit with its plug-in.
type known struct {
	plugin string
	circuit
}

// Freeze copies what is known now. What it returns writes that of a part, for
// RestorePart, and reports whether it is anything; anyone may call it.
func (b *Breaker) Freeze() func(part int, w *state.Writer) bool {
	of := map[int][]known{}
	if b == nil {
		b = &Breaker{}
	}
	for at, c := range b.circuits {
		k := known{at.plugin, *c}
		k.times = slices.Clone(c.times)
		of[at.part] = append(of[at.part], k)
	}
	for _, list := range of {
		slices.SortFunc(list, func(x, y known) int { return cmp.Compare(x.plugin, y.plugin) })
	}
	return func(part int, w *state.Writer) bool {
		list := of[part]
		w.Len(len(list))
		for _, c := range list {
			w.Bytes([]byte(c.plugin))
			w.Len(len(c.times))
			for _, t := range c.times {
				w.I64(int64(t))
			}
			w.I64(int64(c.last))
			w.Bytes([]byte(c.reason))
			w.I64(int64(c.since))
			w.I64(c.setAside)
		}
		return len(list) > 0
	}
}

// RestorePart takes what is known of a part, in place of what was known of these plug-ins
// there; a nil breaker reads over it.
func (b *Breaker) RestorePart(r *state.Reader, part int) {
	for range r.Len() {
		at := place{part: part, plugin: string(r.Bytes())}
		c := &circuit{}
		for range r.Len() {
			if r.Failed() {
				break
			}
			c.times = append(c.times, stream.Time(r.I64()))
		}
		c.last, c.reason, c.since, c.setAside = stream.Time(r.I64()), string(r.Bytes()), stream.Time(r.I64()), r.I64()
		if b == nil || r.Failed() {
			continue
		}
		if c.reason != "" {
			b.disabled++
		}
		if old := b.circuits[at]; old != nil && old.reason != "" {
			b.disabled--
		}
		b.circuits[at] = c
	}
}
