package window

import (
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// general opens a general operator with one moody function that refuses 13 and breaks
// down on 66, and sets records aside.
func general(t *testing.T, a Assigner, tr trigger.Trigger, lateness stream.Time, m *moody) (*script, *General) {
	t.Helper()
	s := &script{t: t, size: 1000}
	g, err := NewGeneral(GeneralConfig{Assigner: a, Trigger: tr, Lateness: lateness, GapCol: -1, ValueCol: -1, SetAside: true,
		Key: []stream.Field{{Name: "k", Kind: stream.String}}, Functions: []Function{{"n", m, []int{1}}}}, &s.out)
	if err != nil {
		t.Fatal(err)
	}
	s.op = g
	return s, g
}

func mustAssigner(t *testing.T, a Assigner, err error) Assigner {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A refused record leaves no trace, whatever it would have touched (E8).
func TestARefusedRecordLeavesNoTrace(t *testing.T) {
	session, err := NewSession(10, false)
	session = mustAssigner(t, session, err)
	tumbling, err := NewTumbling(10, 0, false)
	tumbling = mustAssigner(t, tumbling, err)
	sliding, err := NewSliding(20, 10, 0, false)
	sliding = mustAssigner(t, sliding, err)
	refused := "refused record 1 for "
	for _, c := range []struct {
		name     string
		assigner Assigner
		trigger  trigger.Trigger
		in       string
		want     []string
	}{
		{"it does not begin a session", session, trigger.NewEventTime(),
			"record k=a t=0s v=13\nrecord k=a t=8ms v=1\nwatermark max",
			[]string{refused + "[0,10): I do not take this", "a [8,18) on_time r0 1"}},
		{"it does not join two sessions", session, trigger.NewEventTime(),
			"record k=a t=0s v=1\nrecord k=a t=20ms v=1\nrecord k=a t=10ms v=13\nwatermark max",
			[]string{"refused record 3 for [0,30): I do not take this", "a [0,10) on_time r0 1", "a [20,30) on_time r0 1"}},
		{"it keeps no late session alive", session, trigger.NewEventTime(),
			"record k=a t=0s v=13\nwatermark 100ms\nrecord k=a t=0s v=1\nwatermark max",
			[]string{refused + "[0,10): I do not take this", "late a at 0 for [0,10) by 91"}},
		{"a trigger does not count it", tumbling, trigger.NewCount(2),
			"record k=a t=0s v=13\nrecord k=a t=1ms v=1\nrecord k=a t=2ms v=1",
			[]string{refused + "[0,10): I do not take this", "a [0,10) early r0 2"}},
		{"it is refused once for all of its windows", sliding, trigger.NewEventTime(),
			"record k=a t=10ms v=66\nrecord k=a t=10ms v=1\nwatermark max",
			[]string{refused + "[10,30): unreachable", "a [0,20) on_time r0 1", "a [10,30) on_time r0 1"}},
	} {
		for _, varying := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				s, g := general(t, c.assigner, c.trigger, 0, &moody{varying: varying, refuse: 13, trap: 66})
				got := strings.Split(s.run(c.in), "\n")
				if slices.Sort(got[1:]); !slices.Equal(got, c.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
				}
				l := g.Ledger()
				if l.Failed != 1 || l.Counted != l.Open+l.Fired+l.Unfired || l.Open < 0 || l.Counted+l.Late+l.Failed < 2 {
					t.Errorf("ledger %+v", l)
				}
				if s.run("watermark max"); len(g.keys) != 0 {
					t.Errorf("%d keys are still known", len(g.keys))
				}
			})
		}
	}
}

func TestAWornOutInstanceCostsNoSession(t *testing.T) {
	session, err := NewSession(10, false)
	s, _ := general(t, mustAssigner(t, session, err), trigger.NewEventTime(), 0, &moody{refuse: -1, trap: -1, worn: true})
	if got := s.run("record k=a t=0s v=1\nrecord k=a t=5ms v=1\nwatermark max"); got != "a [0,15) on_time r0 2" {
		t.Errorf("got %s", got)
	}
}

func TestTimersOfAGrowingSessionDoNotPileUp(t *testing.T) {
	session, err := NewSession(10, false)
	s, g := general(t, mustAssigner(t, session, err), trigger.NewEventTime(), 1<<40, &moody{refuse: -1, trap: -1})
	for i := range 100 {
		b := newBatch(stream.MinTime)
		for n := range 100 {
			appendRecord(b, "a", stream.Time(i*100+n), "1", stream.MinTime)
		}
		s.process(b)
	}
	if n := g.timers[trigger.EventTime].entries; n > 2*minStale+10 {
		t.Errorf("one session has %d timers queued", n)
	}
}
