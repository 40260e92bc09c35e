package engine

import (
	"errors"
	"slices"
	"testing"

	"tidemark/engine/checkpoint"
	"tidemark/engine/state"
	"tidemark/internal/fault"
)

// Of state that could not be read there is no checkpoint, not one without it.
func TestAnIncompleteCutIsNoPartOfACheckpoint(t *testing.T) {
	broken := fault.As(fault.ErrExternal, errors.New("the disk is broken"))
	k := keyedPart{step: "answer", cut: state.Cut{Task: []byte("task"), Groups: func(yield func(state.GroupCut, error) bool) {
		_ = yield(state.GroupCut{Group: 1, State: []byte("half")}, nil) && yield(state.GroupCut{}, broken)
	}}}
	var last error
	for _, err := range k.sections(nil) {
		if last != nil {
			t.Fatal("a section behind the error")
		}
		last = err
	}
	if !errors.Is(last, broken) {
		t.Errorf("got %v", last)
	}
}

// Sections are borrowed: each is whole when it is given.
func TestSectionsOfATask(t *testing.T) {
	groups := []state.GroupCut{{Group: 3, Floor: 1, State: []byte("a longer one")}, {Group: 7, Floor: 2, State: []byte("short")}}
	k := keyedPart{step: "answer", number: 4, before: []byte("before"), behind: []byte("behind"), cut: state.Pieces{Task: []byte("task"), Groups: groups}.Cut()}
	section := func(kind string, number uint32, write func(*state.Writer)) checkpoint.Section {
		var w state.Writer
		write(&w)
		return checkpoint.Section{Operator: "answer", Kind: kind, Number: number, Version: stateVersion, Body: w.Buf}
	}
	want := []checkpoint.Section{
		section(checkpoint.KindTask, 4, func(w *state.Writer) {
			w.Bytes([]byte("before"))
			w.Bytes([]byte("task"))
			w.Buf = append(w.Buf, "behind"...)
		}),
		section(checkpoint.KindGroup, 3, func(w *state.Writer) { w.I64(1); w.Buf = append(w.Buf, "a longer one"...) }),
		section(checkpoint.KindGroup, 7, func(w *state.Writer) { w.I64(2); w.Buf = append(w.Buf, "short"...) }),
	}
	n := 0
	for got, err := range k.sections(nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n == len(want) {
			t.Fatalf("one more: %+v", got)
		}
		w := want[n]
		if got.Operator != w.Operator || got.Kind != w.Kind || got.Number != w.Number || got.Version != w.Version || !slices.Equal(got.Body, w.Body) {
			t.Errorf("section %d: got %+v, want %+v", n, got, w)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d sections, want %d", n, len(want))
	}
}
