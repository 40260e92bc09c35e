package window

import (
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// A pane that has ended is used again, for another window. An entry of its old life, whose
// timer was deleted, is not the place of a timer that the new one sets at the same time:
// timers of one time come in order of their windows' ends (E9).
func TestAPaneOfANewLifeHasANewPlaceAmongTimers(t *testing.T) {
	for _, swept := range []bool{false, true} {
		o, err := NewGeneral(GeneralConfig{Assigner: tiles(10, 0), Trigger: trigger.NewEventTime()}, &recorder{})
		if err != nil {
			t.Fatal(err)
		}
		k := &keyState{key: []byte("a")}
		middle, early := o.newPane(k, stream.Window{Start: 10, End: 20}), o.newPane(k, stream.Window{Start: 0, End: 10})
		early.SetTimer(trigger.ProcessingTime, 50)
		early.DeleteTimer(trigger.ProcessingTime, 50)
		o.spare = append(o.spare, early)
		late := o.newPane(k, stream.Window{Start: 20, End: 30})
		if late != early {
			t.Fatal("the pane is not used again: the test shows nothing")
		}
		late.SetTimer(trigger.ProcessingTime, 50)
		middle.SetTimer(trigger.ProcessingTime, 50)
		q := &o.timers[trigger.ProcessingTime]
		if swept {
			q.sweep(trigger.ProcessingTime)
		}
		for _, want := range []*pane{middle, late, nil} {
			if got, _, _ := q.take(trigger.ProcessingTime, 50); got != want {
				t.Fatalf("swept %v: the next timer is that of pane %p, want %p; the one in the middle is %p, the late one %p", swept, got, want, middle, late)
			}
		}
	}
}
