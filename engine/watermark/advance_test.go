package watermark

import (
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/spec"
)

// A source of two splits with a bound of 10 ms whose event time is about 900 s behind
// the clock, at first (S16a).
func TestTimeGoesOnWhileAllAreIdle(t *testing.T) {
	watermark := func(i int, wm stream.Time) func(*Advancing, stream.Time) Change {
		return func(a *Advancing, now stream.Time) Change { a.Record(now); return a.Watermark(i, wm) }
	}
	old := func(a *Advancing, now stream.Time) Change { a.Record(now); return Change{} } // moves no time
	status := func(i int, idle bool) func(*Advancing, stream.Time) Change {
		return func(a *Advancing, _ stream.Time) Change { return a.SetIdle(i, idle) }
	}
	hold := func(span stream.Time) func(*Advancing, stream.Time) Change {
		return func(a *Advancing, _ stream.Time) Change { a.Hold(span); return Change{} }
	}
	probe := (*Advancing).Probe
	type step struct {
		now  stream.Time
		do   func(*Advancing, stream.Time) Change
		want string // watermark or status that goes downstream
	}
	for _, row := range []struct {
		name  string
		steps []step
	}{
		{"the last watermark and the time since the last record", []step{
			{1000_000, watermark(0, 100_000), ""}, {1000_500, watermark(1, 100_300), "wm 100000"},
			{1001_000, probe, ""}, // nobody is idle
			{1002_000, status(0, true), "wm 100300"}, {1002_000, probe, ""},
			{1003_000, status(1, true), ""}, {1003_000, probe, "wm 102800"}, {1003_200, probe, "wm 103000"}}},
		{"a record that moves no time counts as one", []step{
			{1000_000, watermark(0, 100_000), ""}, {1000_000, watermark(1, 100_000), "wm 100000"}, {1005_000, old, ""},
			{1006_000, status(0, true), ""}, {1006_000, status(1, true), ""}, {1006_000, probe, "wm 101000"}}},
		{"the flush of the highest comes first", []step{
			{1000_000, watermark(0, 100_000), ""}, {1000_000, watermark(1, 150_000), "wm 100000"},
			{1001_000, status(1, true), ""}, {1001_000, status(0, true), "wm 150000"}, {1001_000, probe, "wm 151000"}}},
		{"never closer to the clock than the bound", []step{
			{1000_000, watermark(0, 999_995), ""}, {1000_000, watermark(1, 999_995), "wm 999995"},
			{1000_100, status(0, true), ""}, {1000_100, status(1, true), ""}, {1000_100, probe, "wm 1000090"}, {1000_200, probe, "wm 1000190"}}},
		{"a clock that goes back", []step{
			{1000_000, watermark(0, 100_000), ""}, {1000_000, watermark(1, 100_000), "wm 100000"},
			{1001_000, status(0, true), ""}, {1001_000, status(1, true), ""}, {1001_000, probe, "wm 101000"}, {1000_900, probe, ""}, {1001_001, probe, "wm 101001"}}},
		{"blocked time does not count", []step{
			{1000_000, watermark(0, 100_000), ""}, {1000_000, watermark(1, 100_000), "wm 100000"}, {1000_400, hold(400), ""},
			{1001_000, status(0, true), ""}, {1001_000, status(1, true), ""}, {1001_000, probe, "wm 100600"}}},
		{"a record that comes back behind does not take time back", []step{
			{1000_000, watermark(0, 100_000), ""}, {1000_000, watermark(1, 100_000), "wm 100000"},
			{1001_000, status(0, true), ""}, {1001_000, status(1, true), ""}, {1001_000, probe, "wm 101000"},
			{1001_500, watermark(0, 100_200), ""}, {1001_600, probe, ""}, {1001_700, watermark(0, 101_300), "wm 101300"},
			{1003_000, status(0, true), ""}, {1003_000, probe, "wm 102600"}}},
		{"without a watermark there is nothing to go on from", []step{
			{1000_000, status(0, true), ""}, {1000_000, status(1, true), "idle"}, {1001_000, probe, ""},
			{1002_000, watermark(0, 100_000), "active wm 100000"}, {1003_000, status(0, true), ""}, {1003_000, probe, "wm 101000"}}},
		{"the end of all", []step{
			{1000_000, watermark(0, 100_000), ""}, {1000_000, watermark(1, 100_000), "wm 100000"},
			{1001_000, watermark(0, stream.MaxTime), ""}, {1001_000, watermark(1, stream.MaxTime), "wm 9223372036854775807"}, {1002_000, probe, ""}}},
	} {
		for _, restored := range []bool{false, true} {
			a, offset := NewAdvancing(2, 10), stream.Time(0)
			for i, s := range row.steps {
				c := s.do(a, s.now+offset)
				if restored { // without time going by: the clock is the same
					fresh := NewAdvancing(0, 10)
					saved(t, func(w *state.Writer) { a.Snapshot(w, s.now) }, func(r *state.Reader) { fresh.Restore(r, s.now) })
					a = fresh
				}
				if got := text(c); got != s.want {
					t.Errorf("%s, restored %v: step %d: got %q, want %q", row.name, restored, i, got, s.want)
				}
			}
		}
	}
}

// text is what a change sends downstream, in words.
func text(c Change) string {
	var e spec.Entry
	events(&e, c)
	out := ""
	for _, ev := range e.Events {
		if out != "" {
			out += " "
		}
		if ev.Watermark != nil {
			out += "wm " + spec.Int(*ev.Watermark).String()
		} else {
			out += ev.Status
		}
	}
	return out
}

// A restart of any length does not count as quiet: nobody was there to read.
func TestTimeDoesNotGoOnWhileNobodyReads(t *testing.T) {
	a := NewAdvancing(1, 10)
	a.Record(1000_000)
	a.Watermark(0, 100_000)
	a.SetIdle(0, true)
	fresh := NewAdvancing(0, 10)
	saved(t, func(w *state.Writer) { a.Snapshot(w, 1001_000) }, func(r *state.Reader) { fresh.Restore(r, 9000_000) })
	if got := text(fresh.Probe(9000_500)); got != "wm 101500" {
		t.Errorf("got %q, want 1000 ms from before and 500 ms from after the restart", got)
	}
}
