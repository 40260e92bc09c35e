package engine

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// The part of a checkpoint that is the rows on their way to the steps that read one: the
// last watermark (8); whether the step is idle, and whether its end is none of the input;
// whether rows are held, and if so these and their revisions (4 each).

func (f *forward) save(w *state.Writer) {
	w.I64(int64(f.told))
	w.Bool(f.idle)
	w.Bool(f.drained)
	w.Bool(f.held.N > 0)
	if f.held.N > 0 {
		w.Batch(f.held, 0)
		for _, r := range f.revision {
			w.U32(r)
		}
	}
}

// savedForward is the rows of one task.
type savedForward struct {
	told     stream.Time
	idle     bool
	drained  bool
	held     *stream.Batch // nil: none
	revision []uint32
}

func readForward(r *state.Reader) savedForward {
	s := savedForward{told: stream.Time(r.I64()), idle: r.Bool(), drained: r.Bool()}
	if r.Bool() {
		s.held = new(stream.Batch)
		r.Batch(s.held)
		for range s.held.N {
			s.revision = append(s.revision, r.U32())
		}
	}
	return s
}

// load takes over the rows that belong to the task: all that its step held, of keys that
// are its own. The key is the first columns of a row. Its time is the least that any had
// told, so that nothing that was sent before is sent again as something new.
func (f *forward) load(saved []savedForward, key int, mine func(hash uint64) bool) {
	for i, s := range saved {
		if i == 0 || s.told < f.told {
			f.told = s.told
		}
		f.idle = s.idle && (f.idle || i == 0)
		f.drained = f.drained || s.drained
		if s.held == nil {
			continue
		}
		var cols []int
		for c := range key {
			cols = append(cols, c)
		}
		s.held.SetKeys(cols)
		hashes := s.held.Hash
		s.held.Key, s.held.Hash = nil, nil // rows that are held have none
		for n := range s.held.N {
			if mine(hashes[n]) {
				f.held.AppendRow(s.held, n)
				f.revision = append(f.revision, s.revision[n])
			}
		}
	}
}
