package window

import (
	"strings"
	"testing"

	"tidemark/engine/agg"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// Which steps have their records added up by those that send, and what the plan says of it.
func TestPlansOfHotKeys(t *testing.T) {
	count, err := agg.New("count", nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := agg.New("list", []stream.Kind{stream.Int64})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(s *Spec)
		local  bool
		says   string // "": nothing of it
	}{
		{"hot keys", func(*Spec) {}, true, "those that send add up the records of the first 16 keys of each slice"},
		{"none", func(s *Spec) { s.HotKeys = 0 }, false, ""},
		{"no key", func(s *Spec) { s.Key, s.HotKeys = nil, 0 }, true, "since one task has all keys"},
		{"sliding", func(s *Spec) { s.Assigner = &grid{size: 10_000, slide: 1000} }, true, "the first 16 keys"},
		{"a trigger", func(s *Spec) { s.Trigger = trigger.NewCount(3) }, false, "hot_keys has no effect: windows do not fire at their ends alone"},
		{"sessions", func(s *Spec) { s.Assigner = session{1000, false} }, false, "hot_keys has no effect: sessions have no end that is known beforehand"},
		{"a list", func(s *Spec) { s.Functions = []Function{{Agg: list}} }, false, "hot_keys has no effect: a function minds the order"},
		{"a plug-in may be disabled", func(s *Spec) { s.Guard = new(Guard) }, false, "hot_keys has no effect: one task must see all failures"},
		{"windows before", func(s *Spec) { s.Sources = false }, false, "hot_keys has no effect: the records are results of windows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Spec{Sources: true, HotKeys: 16, GeneralConfig: GeneralConfig{Assigner: &grid{size: 10_000, slide: 10_000}, Trigger: trigger.NewEventTime(),
				Key: []stream.Field{{Name: "k", Kind: stream.String}}, Functions: []Function{{Agg: count}}}}
			c.change(&s)
			got := Plan(s)
			if got.Local != c.local || !strings.Contains(got.Reason, c.says) || c.says == "" && strings.Contains(got.Reason, "hot") {
				t.Errorf("local %t, %q", got.Local, got.Reason)
			}
		})
	}
}
