package window

import (
	"cmp"
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// The keys of a key group, as part of a cut:
//
//	how many windows; for each, by start: the window, how many cells; for each, in order
//	of arrival: key, cell
//
// A table is read in the order in which it was written, so that windows fire in the same
// order as before. Which windows have fired follows from the watermark.

// Freeze implements Operator.
func (o *Aligned) Freeze() state.Cut { return freeze(o) }

// Restore implements Operator.
func (o *Aligned) Restore(r state.Restore) error { return restore(o, r) }

func (o *Aligned) form() form { return form{layout: alignedLayout} }

func (o *Aligned) resume() {}

// frozenWindow is a window with its tables as they were.
type frozenWindow struct {
	window stream.Window
	tables []*state.View // by key group; nil where there is none
	cold   []int64       // by key group: how many cells are on disk; nil: none are
}

func (o *Aligned) freezeKeys() frozen {
	windows := make([]frozenWindow, len(o.windows.open))
	for i, b := range o.windows.open {
		f := frozenWindow{window: b.window, tables: make([]*state.View, len(b.tables))}
		if b.cold != nil {
			f.cold = slices.Clone(b.cold.cells)
		}
		for g, t := range b.tables {
			if t != nil && t.Len() > 0 {
				f.tables[g] = t.Freeze()
			}
		}
		windows[i] = f
	}
	cold := o.cold.freeze()
	if cold == nil {
		return frozen{open: func() groupWriter { return o.writeWindows(windows, nil) }}
	}
	return frozen{
		open:  func() groupWriter { return o.writeWindows(windows, cold) },
		close: cold.Close,
		disk: &frozenDisk{in: cold, memory: func() groupWriter {
			for i := range windows {
				windows[i].cold = nil
			}
			return o.writeWindows(windows, nil)
		}, value: func(w *state.Writer, name, value []byte) error {
			start := state.TimeIn(name)
			i, ok := slices.BinarySearchFunc(windows, start, func(f frozenWindow, start stream.Time) int { return cmp.Compare(f.window.Start, start) })
			if !ok {
				return errSpilled
			}
			w.I64(int64(windows[i].window.End))
			w.Buf = append(w.Buf, value...)
			return nil
		}},
	}
}

// writeWindows writes the windows of key groups, with what they have on disk.
func (o *Aligned) writeWindows(windows []frozenWindow, cold state.Frozen) groupWriter {
	cell := 4 + o.width + 12 + 4 + usualKey
	return func(group int, w *state.Writer) bool {
		n, cells := 0, 0
		for i := range windows {
			if c := windows[i].cells(group); c > 0 {
				n, cells = n+1, cells+c
			}
		}
		w.Buf = slices.Grow(w.Buf, cells*cell)
		w.Len(n)
		for i := range windows {
			f := &windows[i]
			if f.cells(group) == 0 {
				continue
			}
			writeWindow(w, f.window)
			w.Len(f.cells(group))
			if t := f.tables[group]; t != nil {
				for slot := range t.Len() {
					w.Bytes(t.Key(slot))
					t.Write(w, slot)
				}
			}
			if f.cold != nil && f.cold[group] > 0 {
				writeCells(cold, group, f.window, w)
			}
		}
		return n > 0
	}
}

// cells is how many there are of a key group.
func (f *frozenWindow) cells(group int) int {
	n := 0
	if t := f.tables[group]; t != nil {
		n = t.Len()
	}
	if f.cold != nil {
		n += int(f.cold[group])
	}
	return n
}

// usualKey is how much room is made for a key.
const usualKey = 16

var errWindows = fault.As(fault.ErrCorrupt, errors.New("snapshot has windows that the step does not have, out of order, or past their time"))

func (o *Aligned) readKeys(r *state.Reader, group int) {
	last := stream.MinTime
	for n := range r.Len() {
		w, cells := readWindow(r), r.Len()
		cleanup := w.Cleanup(o.cfg.Lateness)
		if r.Failed() || cells == 0 || n > 0 && w.Start <= last || o.tiles.tile(max(w.Start, stream.MinTime+1)) != w || cleanup <= o.wm && cleanup < stream.MaxTime {
			r.Fail(errWindows)
			return
		}
		last = w.Start
		b := o.windows.find(w, o.wm)
		for range cells {
			key, hash := o.readKey(r, group)
			if r.Failed() {
				return
			}
			t, slot, err := o.place(b, hash, key)
			if err != nil {
				r.Fail(err)
				return
			}
			r.Cell(t, slot)
			o.cold.restored(r)
		}
	}
}
