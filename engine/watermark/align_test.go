package watermark

import (
	"errors"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

func coordinator(t *testing.T) *Coordinator {
	t.Helper()
	c, err := NewCoordinator(map[string]stream.Time{"g": 100})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestANewReaderLearnsTheBoundWithItsFirstReport(t *testing.T) {
	c := coordinator(t)
	if got := c.Report("g", "a", 50); got != stream.MaxTime {
		t.Errorf("bound %d before any was announced", got)
	}
	c.Announce(func(string, stream.Time) {})
	restored := coordinator(t)
	saved(t, c.Snapshot, restored.Restore)
	for _, c := range []*Coordinator{c, restored} {
		if got := c.Report("g", "b", 500); got != 150 {
			t.Errorf("bound %d, want 150", got)
		}
	}
}

func TestWhatAReaderReports(t *testing.T) {
	for _, row := range []struct {
		name string
		wm   stream.Time
		idle bool
		want stream.Time
		ok   bool
	}{
		{"nothing before its first watermark", stream.MinTime, false, 0, false},
		{"nothing if it went idle without one", stream.MinTime, true, 0, false},
		{"its watermark", 7, false, 7, true},
		{"the end of time while it is idle", 7, true, stream.MaxTime, true},
		{"the end of time once it has ended", stream.MaxTime, false, stream.MaxTime, true},
	} {
		r := newReader(t)
		r.Combined(row.wm, row.idle)
		if got, ok := r.Report(); got != row.want || ok != row.ok {
			t.Errorf("%s: got %d %v", row.name, got, ok)
		}
	}
}

func TestWithoutABoundNobodyStops(t *testing.T) {
	r := newReader(t)
	i := r.Add()
	r.Split(i, stream.MaxTime)
	r.Combined(stream.MaxTime, false)
	if r.Paused(i) || r.Waits() {
		t.Error("a reader stopped before it had a bound")
	}
}

func TestAFinishedSplitIsForgotten(t *testing.T) {
	r := newReader(t)
	i := r.Add()
	r.Split(i, 10)
	r.Bound(5)
	if !r.Paused(i) {
		t.Fatal("a split beyond the bound is read")
	}
	r.Finish(i)
	if r.Paused(i) {
		t.Error("a finished split is paused")
	}
}

func TestAlignmentThatIsRefused(t *testing.T) {
	if _, err := NewCoordinator(map[string]stream.Time{"g": -1}); !errors.Is(err, fault.ErrUser) {
		t.Errorf("a negative drift: %v", err)
	}
	if _, err := NewReader(false, false); !errors.Is(err, fault.ErrUser) {
		t.Errorf("a source that cannot pause splits: %v", err)
	}
	for _, c := range []struct{ pause, unaligned bool }{{true, false}, {true, true}, {false, true}} {
		if _, err := NewReader(c.pause, c.unaligned); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAGroupThatIsGoneIsPassedOver(t *testing.T) {
	c, err := NewCoordinator(map[string]stream.Time{"g": 100, "other": 5})
	if err != nil {
		t.Fatal(err)
	}
	c.Report("g", "a", 1)
	c.Report("other", "b", 1)
	var w state.Writer
	c.Snapshot(&w)
	left := coordinator(t)
	r := state.NewReader(w.Buf)
	left.Restore(r)
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	left.Announce(func(group string, bound stream.Time) {
		if group != "g" || bound != 101 {
			t.Errorf("group %s has bound %d", group, bound)
		}
	})
}
