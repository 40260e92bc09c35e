package watermark

import (
	"errors"
	"math"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// seen is a record, and the watermark behind it.
type seen struct {
	r    Record
	want stream.Time
}

func at(t stream.Time) Record { return Record{Time: t} }

func TestGenerators(t *testing.T) {
	bounded := func(bound stream.Time) func() Generator {
		return func() Generator { b := NewBounded(bound); return &b }
	}
	for _, row := range []struct {
		name  string
		make  func() Generator
		steps []seen
	}{
		{"bounded keeps the bound and 1 ms behind the highest time", bounded(10), []seen{{at(100), 89}, {at(95), 89}, {at(101), 90}}},
		{"bounded does not underflow", bounded(10), []seen{{at(stream.MinTime), stream.MinTime}, {at(stream.MinTime + 12), stream.MinTime + 1}}},
		{"bounded by all there is says nothing", bounded(stream.MaxTime), []seen{{at(-2), stream.MinTime}, {at(1), 1 - stream.MaxTime - 1}}},
		{"ascending is bounded by 0", func() Generator { return NewAscending() }, []seen{{at(7), 6}, {at(7), 6}, {at(5), 6}, {at(9), 8}}},
		{"a marker's time is the watermark, between markers nothing moves", func() Generator { return NewPunctuated() },
			[]seen{{at(50), stream.MinTime}, {Record{Time: 40, Marker: true}, 40}, {at(90), 40}, {Record{Time: 30, Marker: true}, 40}, {Record{Time: 41, Marker: true}, 41}}},
		{"a record's own delay", func() Generator { return NewDelayed() },
			[]seen{{Record{Time: 100, Delay: 20}, 79}, {Record{Time: 101, Delay: 50}, 79}, {Record{Time: 90, Delay: 0}, 89}, {Record{Time: 500, Delay: -1}, 89}, {Record{Time: 200, Delay: math.MaxInt64}, 89}}},
		{"every third record", func() Generator { b := NewBounded(0); return NewEvery(&b, 3) },
			[]seen{{at(10), stream.MinTime}, {at(30), stream.MinTime}, {at(20), 29}, {at(40), 29}, {at(50), 29}, {at(45), 49}}},
		{"every record", func() Generator { return NewEvery(NewPunctuated(), 1) }, []seen{{Record{Time: 4, Marker: true}, 4}, {at(9), 4}}},
	} {
		for _, restored := range []bool{false, true} {
			g := row.make()
			if got := g.Current(); got != stream.MinTime {
				t.Errorf("%s: starts at %d", row.name, got)
			}
			for i, s := range row.steps {
				g.Record(s.r)
				if restored {
					fresh := row.make()
					saved(t, g.Snapshot, fresh.Restore)
					g = fresh
				}
				if got := g.Current(); got != s.want {
					t.Errorf("%s, restored %v: record %d: watermark %d, want %d", row.name, restored, i, got, s.want)
				}
			}
		}
	}
}

func TestAscendingCountsRegressions(t *testing.T) {
	a := NewAscending()
	for _, ts := range []stream.Time{stream.MinTime + 1, 5, 5, 4, 6, 5, 6} {
		a.Record(at(ts))
	}
	fresh := NewAscending()
	saved(t, a.Snapshot, fresh.Restore)
	if fresh.Regressions() != 2 {
		t.Errorf("%d regressions, want 2: the first record and equal times are none", fresh.Regressions())
	}
}

func TestAHeartbeatSpeaksForOtherSplits(t *testing.T) {
	quiet, m := NewPunctuated(), NewMin(2)
	m.Watermark(0, 100)
	quiet.Heartbeat(100)
	quiet.Heartbeat(90)
	if c := m.Watermark(1, quiet.Current()); !c.Advanced || c.Watermark != 100 {
		t.Errorf("got %+v, want watermark 100", c)
	}
}

func TestIngestionTime(t *testing.T) {
	g := NewIngestion()
	if g.Current() != stream.MinTime {
		t.Errorf("starts at %d", g.Current())
	}
	for _, s := range []struct{ clock, stamp, wm stream.Time }{{1000, 1000, 999}, {1000, 1000, 999}, {990, 1000, 999}, {1001, 1001, 1000}} {
		if got := g.Stamp(s.clock); got != s.stamp || g.Current() != s.wm {
			t.Errorf("at %d: time %d and watermark %d, want %d and %d", s.clock, got, g.Current(), s.stamp, s.wm)
		}
	}
	g.Clock(5000)
	if g.Current() != 4999 {
		t.Errorf("time does not go on without records: watermark %d", g.Current())
	}
	fresh := NewIngestion()
	saved(t, g.Snapshot, fresh.Restore)
	if got := fresh.Stamp(4000); got != 5000 {
		t.Errorf("a clock that was set back during a restart gives time %d, want 5000", got)
	}
}

func TestABoundMayChangeOverARestore(t *testing.T) {
	b, wide, none := NewBounded(10), NewBounded(30), NewBounded(30)
	b.Record(at(100))
	saved(t, b.Snapshot, wide.Restore)
	if wide.Current() != 69 {
		t.Errorf("watermark %d, want 69", wide.Current())
	}
	fresh := NewBounded(10)
	saved(t, fresh.Snapshot, none.Restore)
	if none.Current() != stream.MinTime {
		t.Errorf("watermark %d without a record", none.Current())
	}
}

// S12: a second probe at 111 would declare idle, were it not for the 50 ms in which the
// input was blocked.
func TestBlockedIsNotIdle(t *testing.T) {
	for _, row := range []struct {
		name string
		held stream.Time
		idle map[stream.Time]bool
	}{
		{"never blocked", 0, map[stream.Time]bool{110: false, 111: true}},
		{"blocked for a while", 50, map[stream.Time]bool{111: false, 160: false, 161: true}},
	} {
		for _, restored := range []bool{false, true} {
			for now, want := range row.idle {
				i := Idleness{Timeout: 100}
				i.Probe(10) // starts the countdown
				i.Hold(row.held)
				offset := stream.Time(0)
				if restored { // after 40 ms, and on a clock that is an hour ahead
					offset = 3_600_000
					fresh := Idleness{Timeout: 100}
					saved(t, func(w *state.Writer) { i.Snapshot(w, 50) }, func(r *state.Reader) { fresh.Restore(r, 50+offset) })
					i = fresh
				}
				if got := i.Probe(now + offset); got != want {
					t.Errorf("%s, restored %v: idle at %d: %v, want %v", row.name, restored, now, got, want)
				}
			}
		}
	}
}

func TestASplitThatIsRemoved(t *testing.T) {
	m := NewMin(2)
	m.Watermark(0, 5)
	m.Watermark(1, 9)
	m.Remove(0)
	if m.Out() != 5 {
		t.Errorf("removing a split raised the output to %d", m.Out())
	}
	if c := m.Probe(); !c.Advanced || c.Watermark != 9 {
		t.Errorf("the next probe: %+v, want watermark 9", c)
	}
	m.Remove(1)
	if c := m.Probe(); c.Advanced || c.Status != BecameIdle {
		t.Errorf("without splits: %+v, want idle", c)
	}
	if c := m.Watermark(m.Add(), 7); c.Advanced || c.Status != BecameActive {
		t.Errorf("a new split behind the output: %+v, want active and no watermark", c)
	}
}

func TestAValveIsRestoredWithItsInputs(t *testing.T) {
	var w state.Writer
	NewValve(2).Snapshot(&w)
	r := state.NewReader(w.Buf)
	NewValve(3).Restore(r)
	if !errors.Is(r.Err(), fault.ErrCorrupt) {
		t.Errorf("a valve of 3 took the state of one of 2: %v", r.Err())
	}
}
