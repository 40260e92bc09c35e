package window

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// What an operator has on disk can stand apart in a checkpoint, so that the next one need not
// write it again (state.Apart). STATE.md draws what runs have:
//
//	panes             name: the key; value: all that there is of it
//	tumbling windows  name: start of the window, key; value: end of the window, cell
//
// Reading turns them into a piece of their key group like any other, which is read behind the
// one of what was in memory: nothing else knows of runs.

// frozenDisk is what an operator had on disk when a cut was taken.
type frozenDisk struct {
	in *state.JournalCut
	// memory writes what was in memory alone.
	memory func() groupWriter
	// value appends a value of a run.
	value func(w *state.Writer, name, value []byte) error
}

// whole opens what there is.
func (f frozen) whole() func() groupWriter { return f.open }

// inMemory opens what was in memory.
func (f frozen) inMemory() func() groupWriter {
	if f.disk != nil {
		return f.disk.memory
	}
	return f.open
}

// apart is the part of a cut that is on disk. header is that of the operator's pieces.
func (d *frozenDisk) apart(header [headerSize]byte, groups iter.Seq2[state.GroupApart, error]) *state.Apart {
	header[2] &^= hasStates | hasFailures // they are where memory is
	return &state.Apart{Groups: groups, Disk: d.in, Form: state.RunForm{Header: header[:], Value: d.value}}
}

// joined gives the pieces of a key group: what was in memory and then what was on disk.
func joined(g state.GroupCut) ([]state.GroupCut, error) {
	if len(g.Runs) == 0 {
		return []state.GroupCut{g}, nil
	}
	var w state.Writer
	w.Buf = make([]byte, headerSize, len(g.Runs[0]))
	at := len(w.Buf)
	w.Len(0)
	tiles := tileWriter{w: &w}
	n := 0
	add := func(_, value []byte) error {
		n++
		w.Buf = append(w.Buf, value...)
		return nil
	}
	if len(g.State) > 0 && g.State[0] == byte(alignedLayout>>8) {
		add = tiles.add
	}
	header, err := state.MergeRuns(g.Runs, add)
	if err == nil && (len(header) != headerSize || !sameKeys(header, g.State)) {
		err = errRunHeader
	}
	if err != nil {
		return nil, fmt.Errorf("state of key group %d that was on disk: %w", g.Group, err)
	}
	copy(w.Buf, header)
	w.PatchLen(at, n+tiles.end())
	disk := g
	disk.State, disk.Runs, g.Runs = w.Buf, nil, nil
	return []state.GroupCut{g, disk}, nil
}

var errRunHeader = fault.As(fault.ErrCorrupt, errors.New("it was written by another kind of step than what was in memory"))

// sameKeys reports whether a run's header is that of a piece but for what stands behind keys.
func sameKeys(run, piece []byte) bool {
	if len(piece) < headerSize {
		return false
	}
	h := slices.Clone(piece[:headerSize])
	h[2] &^= hasStates | hasFailures
	return bytes.Equal(run, h)
}

// tileWriter makes windows of cells that come in order of their windows.
type tileWriter struct {
	w       *state.Writer
	window  stream.Window
	at      int // where the number of its cells stands
	cells   int
	windows int
}

func (t *tileWriter) add(name, value []byte) error {
	r := state.NewReader(value)
	end := stream.Time(r.I64())
	if r.Failed() || len(name) < timeBytes {
		return errSpilled
	}
	if w := (stream.Window{Start: state.TimeIn(name), End: end}); t.cells == 0 || w != t.window {
		t.end()
		t.window, t.cells = w, 0
		t.windows++
		writeWindow(t.w, w)
		t.at = len(t.w.Buf)
		t.w.Len(0)
	}
	t.cells++
	t.w.Bytes(name[timeBytes:])
	t.w.Buf = append(t.w.Buf, value[timeBytes:]...)
	return nil
}

// end ends the window at hand, and returns how many there are.
func (t *tileWriter) end() int {
	if t.cells > 0 {
		t.w.PatchLen(t.at, t.cells)
	}
	return t.windows
}

const timeBytes = 8
