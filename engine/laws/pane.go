package laws

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// What happens to windows around a trigger, in miniature: records come, time moves on and
// timers with it, windows take over others and go. It is driven by what the trigger
// itself answers, so that timers come that it has set; the operations that it was asked
// about are then what the laws are judged on.

// What windows of the miniature are like: those of firings, with some lateness, so that
// records come behind a window's end, too. Event time is behind the records, and the
// clock before it.
const (
	paneLateness = 5_000
	paneBehind   = 2_000
	paneAhead    = 500

	// maxPaneTimers and maxPaneRepeats are what a host allows (SPEC section 3).
	maxPaneTimers  = 1_000
	maxPaneRepeats = 1_000

	// maxPaneSteps ends a case whose timers come again and again, a little later each time.
	maxPaneSteps = 2_000
)

// paneStep is an operation that a trigger was asked about.
type paneStep struct {
	udf.PaneOp
	pane   int     // the number of its window, which no later one has
	from   int     // OnMerge: of the window that becomes a part of it; none: a window that has had nothing
	record *Record // OnElement
}

// none is the number of no window.
const none = -1

// livePane is a window that is there.
type livePane struct {
	id, key int
	window  stream.Window
	timers  [2][]stream.Time // of event time and the clock: those that are set, ascending
	last    [2]stream.Time   // that came in the current move of time
	repeats int              // that did not get later in it
}

func (p *livePane) cleanup() stream.Time { return p.window.End - 1 + paneLateness }

// hosting drives a trigger.
type hosting struct {
	shower  triggerShower
	info    udf.TriggerInfo
	merging bool // windows take over others
	absent  bool // each record is followed by a merge with a window that has had nothing

	kept    *states
	steps   []paneStep
	verdict []uint8 // of each step
	panes   []*livePane
	made    int
	wm, now stream.Time
	ending  bool

	refused *udf.Failure       // the first
	broken  map[string]*broken // what the contract does not allow, by law
}

// drive has records happen to windows.
func drive(t triggerShower, records []Record, merging, absent bool) (*hosting, error) {
	h := &hosting{shower: t, info: t.Info(), merging: merging && t.Info().Merges, absent: absent, kept: newStates(), wm: stream.MinTime, now: stream.MinTime, broken: map[string]*broken{}}
	for i := range records {
		r := &records[i]
		if err := h.advance(max(h.wm, r.Time-paneBehind), max(h.now, r.Time+paneAhead)); err != nil {
			return nil, err
		}
		if err := h.element(r); err != nil {
			return nil, err
		}
	}
	h.ending = true
	return h, h.advance(stream.MaxTime, h.now+2*paneLateness)
}

func (h *hosting) element(r *Record) error {
	w := firingWindow(r.Time)
	p := h.find(r.Key, w)
	if p == nil {
		p = &livePane{id: h.made, key: r.Key, window: w}
		if p.cleanup() <= h.wm {
			return nil // too late
		}
		h.made++
		h.panes = append(h.panes, p)
	}
	if _, err := h.ask(p, paneStep{PaneOp: udf.PaneOp{What: udf.OnElement, Time: r.Time}, record: r}); err != nil {
		return err
	}
	if h.absent {
		_, err := h.ask(p, paneStep{PaneOp: udf.PaneOp{What: udf.OnMerge}, from: none})
		return err
	}
	if !h.merging || r.Time%700 != 0 {
		return nil
	}
	for _, old := range slices.Clone(h.panes) {
		if old != p && old.key == p.key {
			if _, err := h.ask(p, paneStep{PaneOp: udf.PaneOp{What: udf.OnMerge}, from: old.id}); err != nil {
				return err
			}
			return h.clear(old, false) // its timers are gone in any case
		}
	}
	return nil
}

func (h *hosting) find(key int, w stream.Window) *livePane {
	for _, p := range h.panes {
		if p.key == key && p.window == w {
			return p
		}
	}
	return nil
}

// advance moves both times on, with the timers on the way.
func (h *hosting) advance(wm, now stream.Time) error {
	h.wm, h.now = wm, now
	for _, p := range h.panes {
		p.last, p.repeats = [2]stream.Time{stream.MinTime, stream.MinTime}, 0
	}
	for {
		p, domain, at := h.due()
		if p == nil {
			return nil
		}
		if domain == 0 && at == p.cleanup() {
			if err := h.timer(p, domain, at); err != nil {
				return err
			}
			if err := h.clear(p, true); err != nil {
				return err
			}
			continue
		}
		if at > p.last[domain] {
			p.last[domain] = at
		} else if p.repeats++; p.repeats > maxPaneRepeats {
			h.breaks("timers", fmt.Sprintf("window %s: timers come more than %d times without getting later", show(p.window), maxPaneRepeats), "time moves on", show(p.window)+" sets them anew")
			h.drop(p)
			continue
		}
		if err := h.timer(p, domain, at); err != nil {
			return err
		}
	}
}

// due is the timer that comes next; those of event time first.
func (h *hosting) due() (next *livePane, domain int, at stream.Time) {
	if len(h.steps) >= maxPaneSteps {
		return nil, 0, 0
	}
	for d, clock := range []stream.Time{h.wm, h.now} {
		for _, p := range h.panes {
			t := stream.MaxTime
			if len(p.timers[d]) > 0 {
				t = p.timers[d][0]
			}
			if d == 0 {
				t = min(t, p.cleanup())
			}
			if t <= clock && t != stream.MaxTime && (next == nil || t < at) {
				next, domain, at = p, d, t
			}
		}
		if next != nil {
			return next, domain, at
		}
	}
	return nil, 0, 0
}

func (h *hosting) timer(p *livePane, domain int, at stream.Time) error {
	if i, ok := slices.BinarySearch(p.timers[domain], at); ok {
		p.timers[domain] = slices.Delete(p.timers[domain], i, i+1)
	}
	what := []udf.TriggerOp{udf.OnEventTimer, udf.OnProcessingTimer}[domain]
	taken, err := h.ask(p, paneStep{PaneOp: udf.PaneOp{What: what, Time: at}})
	if !taken { // the default trigger takes over
		h.drop(p)
	}
	return err
}

// clear ends a window. At its cleanup the trigger has to take its timers back.
func (h *hosting) clear(p *livePane, cleanup bool) error {
	if !slices.Contains(h.panes, p) {
		return nil
	}
	taken, err := h.ask(p, paneStep{PaneOp: udf.PaneOp{What: udf.OnClear}})
	if left := slices.Concat(p.timers[0], p.timers[1]); taken && cleanup && len(left) > 0 {
		h.breaks("clear", "the window "+show(p.window)+" goes", "no timers are set", fmt.Sprintf("timers at %v", left))
	}
	h.drop(p)
	return err
}

func (h *hosting) drop(p *livePane) {
	delete(h.kept.panes, p.id)
	h.panes = slices.DeleteFunc(h.panes, func(o *livePane) bool { return o == p })
}

// breaks notes the first time that a rule is broken.
func (h *hosting) breaks(law, how, want, got string) {
	if h.broken[law] == nil {
		h.broken[law] = &broken{how, want, got}
	}
}

// ask asks about one operation and does what is answered; it was not taken if it is
// refused, and then has not happened.
func (h *hosting) ask(p *livePane, s paneStep) (taken bool, err error) {
	s.pane, s.Window, s.Watermark, s.Now, s.Ending = p.id, p.window, h.wm, h.now, h.ending
	out, _, err := h.shower.decide([]paneStep{s}, h.kept)
	if err != nil {
		f, err := failed(err)
		if h.refused == nil {
			h.refused = f
		}
		return false, err
	}
	v := out.Verdict[0]
	switch {
	case v != 0 && (s.What == udf.OnMerge || s.What == udf.OnClear):
		h.breaks("verdict", opName(s.What)+" of the window "+show(p.window), "no verdict", verdictName(v))
	case v&udf.VerdictPurge != 0 && !h.info.MayPurge:
		h.breaks("verdict", opName(s.What)+" in the window "+show(p.window), "no purge, since may_purge is not declared", verdictName(v))
	}
	for _, c := range out.Timers {
		h.change(p, c)
	}
	if n := len(p.timers[0]) + len(p.timers[1]); n > maxPaneTimers {
		h.breaks("timers", "the window "+show(p.window), fmt.Sprintf("at most %d timers", maxPaneTimers), fmt.Sprint(n))
	}
	h.steps, h.verdict = append(h.steps, s), append(h.verdict, v)
	return true, nil
}

func (h *hosting) change(p *livePane, c udf.TimerChange) {
	d := 0
	if c.ProcessingTime {
		d = 1
	}
	i, there := slices.BinarySearch(p.timers[d], c.Time)
	switch {
	case c.Delete && there:
		p.timers[d] = slices.Delete(p.timers[d], i, i+1)
	case c.Delete, there:
	case d == 0 && h.ending && c.Time > p.cleanup(): // not set on the way to the end of time
	default:
		p.timers[d] = slices.Insert(p.timers[d], i, c.Time)
	}
}

// story is what can be seen of the trigger: what it decided, when.
func (h *hosting) story() (lines []string) {
	for i, s := range h.steps {
		if s.What == udf.OnElement || h.verdict[i] != 0 {
			lines = append(lines, fmt.Sprintf("%s at %d in the window %s: %s", opName(s.What), s.Time, show(s.Window), verdictName(h.verdict[i])))
		}
	}
	return lines
}

func show(w stream.Window) string { return fmt.Sprintf("[%d, %d)", w.Start, w.End) }

func opName(what udf.TriggerOp) string {
	return []string{"a record", "a timer", "a timer of the clock", "a merge", "the clearing"}[what]
}

func verdictName(v uint8) string {
	return []string{"continue", "fire", "purge", "fire and purge"}[v&3]
}

// triggerShower shows operations to a trigger.
type triggerShower struct{ udf.Trigger }

// show implements shower: each item has an operation.
func (s triggerShower) show(items []Record, kept *states) ([]string, error) {
	steps := make([]paneStep, len(items))
	for i := range items {
		steps[i] = *items[i].step
	}
	out, sets, err := s.decide(steps, kept)
	if err != nil {
		return nil, err
	}
	answers := make([]string, len(steps))
	for i := range answers {
		answers[i] = verdictName(out.Verdict[i])
	}
	for _, c := range out.Timers {
		do := map[bool]string{false: "set", true: "delete"}[c.Delete]
		answers[c.Op] += fmt.Sprintf(", %s a timer of %s at %d", do, map[bool]string{false: "event time", true: "the clock"}[c.ProcessingTime], c.Time)
	}
	for _, set := range sets {
		answers[set.Item] += fmt.Sprintf(", state %x", set.Data)
	}
	return answers, nil
}

// opsOf lays out steps with the states that are kept of their windows; slots are those of
// the windows.
func opsOf(inputs []udf.Input, steps []paneStep, kept *states) (in *udf.TriggerOps, slots map[int]uint32) {
	in, slots = &udf.TriggerOps{}, map[int]uint32{}
	slot := func(pane int) uint32 {
		n, ok := slots[pane]
		if !ok {
			n = in.States.Add(kept.panes[pane])
			slots[pane] = n
		}
		return n
	}
	var records []Record
	for _, step := range steps {
		op := step.PaneOp
		switch op.What {
		case udf.OnElement:
			op.Row = uint32(len(records))
			records = append(records, *step.record)
		case udf.OnMerge:
			op.From = slot(step.from)
		}
		in.Ops, in.States.Slot = append(in.Ops, op), append(in.States.Slot, slot(step.pane))
	}
	if len(records) > 0 {
		b := table(inputs, records)
		in.Records = udf.Timed{Columns: &b.Columns, Time: b.Time}
		for i := range inputs {
			in.Records.Cols = append(in.Records.Cols, i)
		}
	}
	return in, slots
}

// decide makes a call about steps.
func (s triggerShower) decide(steps []paneStep, kept *states) (*udf.Decisions, []udf.StateSet, error) {
	in, slots := opsOf(s.Info().Inputs, steps, kept)
	in.States.Keep = true
	var out udf.Decisions
	out.Reset(len(steps))
	if err := s.Decide(in, &out); err != nil {
		return nil, nil, err
	}
	for pane, n := range slots {
		kept.panes[pane] = slices.Clone(in.States.Data[n])
	}
	for _, step := range steps {
		if step.What == udf.OnClear {
			delete(kept.panes, step.pane)
		}
	}
	return &out, in.States.Past, nil
}

// differs is the first difference of two stories.
func differs(want, got []string) (w, g string, different bool) {
	for i := range max(len(want), len(got)) {
		w, g = "nothing more", "nothing more"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			return w, g, true
		}
	}
	return strings.Join(want, ""), "", false
}
