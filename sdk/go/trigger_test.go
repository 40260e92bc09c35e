//go:build !wasip1

package tidemark

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

var (
	bellLoud  = Int64("loud")
	bellState = BytesState()
	errBell   = errors.New("too loud")
)

// bells keeps how loud its records were, a byte each; it fires at 9, is emptied at 0 and
// sets a timer at each time. Timers say how many records came before.
var bells = Triggers(TriggerSpec{
	Name: "bells", Version: "3", Inputs: []Input{bellLoud}, State: bellState, Schema: 2, MayPurge: true,
	Element: func(p *Pane) (Verdict, error) {
		loud := bellLoud.Of(p.Row())
		bellState.Set(p, append(slices.Clone(bellState.Get(p)), byte(loud)))
		p.SetTimer(EventTime, p.Time())
		switch {
		case loud > 9:
			return Fire, errBell
		case loud == 9:
			return Fire, nil
		case loud == 0:
			p.DeleteTimer(EventTime, p.Time())
			return FireAndPurge, nil
		}
		return Continue, nil
	},
	Timer: func(p *Pane) (Verdict, error) {
		if p.Domain() == ProcessingTime {
			return Purge, nil
		}
		p.SetTimer(ProcessingTime, p.Now()+Timestamp(len(bellState.Get(p))))
		return Continue, nil
	},
	Merge: func(p *Pane, old Merged) error {
		if len(bellState.Get(old)) == 3 {
			bellState.Set(old, nil)
		}
		bellState.Set(p, append(slices.Clone(bellState.Get(p)), bellState.Get(old)...))
		if n := len(bellState.Get(p)); n > 3 {
			p.SetTimer(EventTime, p.Last()+Timestamp(n))
		}
		return nil
	},
})

func TestTriggers(t *testing.T) {
	if want := `{"name":"bells","version":"3","sdk":"go","trigger":{"inputs":[{"name":"loud","type":"int64"}],"params":[],"state":{"schema":2},"may_purge":true,"merges":true}}`; string(bells.manifest()) != want {
		t.Errorf("got  %s\nwant %s", bells.manifest(), want)
	}
	loud := func(of ...int) (records []Record) {
		for i, v := range of {
			r := Record{Time: Timestamp(i), Values: Values{"loud": v}}
			if v < 0 {
				r.Values = Values{}
			}
			records = append(records, r)
		}
		return records
	}
	for _, room := range []int{0, 260} { // in one frame, and in several
		twin, err := NewTriggerTwin(bells, nil)
		if err != nil {
			t.Fatal(err)
		}
		twin.room, twin.Now = room, 1000
		p := twin.Pane(0, 100)
		got, err := p.Elements(loud(1, 9, -1, 0, 3)...)
		if want := []Verdict{Continue, Fire, Continue, FireAndPurge, Continue}; err != nil || !slices.Equal(got, want) {
			t.Errorf("room %d: got %v, %v; want %v", room, got, err, want)
		}
		timers := []Timestamp{0, 1, 4}
		if got := p.Timers(EventTime); !slices.Equal(got, timers) {
			t.Errorf("room %d: timers %v, want %v", room, got, timers)
		}
		_, err = p.Elements(loud(1, -1, 1, 10)...)
		if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || refusal.Op != 3 || refusal.Message != "too loud" {
			t.Errorf("room %d: got %v", room, err)
		}
		// The refused call has left state and timers alone; the timer counts 4 records.
		if v, err := p.Timer(EventTime, 1); err != nil || v != Continue || !slices.Equal(p.Timers(ProcessingTime), []Timestamp{1004}) || !slices.Equal(p.Timers(EventTime), []Timestamp{0, 4}) {
			t.Errorf("room %d: got %v, %v, timers %v and %v", room, v, err, p.Timers(EventTime), p.Timers(ProcessingTime))
		}
		if v, err := p.Timer(ProcessingTime, 1004); err != nil || v != Purge {
			t.Errorf("room %d: got %v, %v", room, v, err)
		}
		both := twin.Pane(0, 200)
		for range 2 {
			if err := both.Merge(p); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := both.Timers(EventTime), []Timestamp{203, 207}; !slices.Equal(got, want) {
			t.Errorf("room %d: timers %v, want %v", room, got, want)
		}
		if err := both.Clear(); err != nil || len(both.state) > 0 {
			t.Errorf("room %d: %v, %d bytes of state", room, err, len(both.state))
		}
	}
}

func TestTheStateOfAMergedWindowIsReadOnly(t *testing.T) {
	twin, err := NewTriggerTwin(bells, nil)
	if err != nil {
		t.Fatal(err)
	}
	old := twin.Pane(0, 100)
	old.state = []byte("abc")
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "read only") {
			t.Errorf("got %v", r)
		}
	}()
	_ = twin.Pane(0, 200).Merge(old)
}

func TestDeclarationsOfTriggers(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), `trigger "silent": Element is nil`) {
			t.Errorf("got %v", r)
		}
	}()
	Triggers(TriggerSpec{Name: "silent"})
}

// The trigger of a global window knows where it ends.
func TestGlobalWindowsOfTriggers(t *testing.T) {
	for _, c := range []struct{ start, end, last Timestamp }{{0, 100, 99}, {-1 << 63, 1<<63 - 1, 1<<63 - 1}} {
		p := Pane{paneData: &paneData{start: c.start, end: c.end}}
		if p.Last() != c.last || p.Start() != c.start || p.End() != c.end {
			t.Errorf("[%d,%d): the last is %d, want %d", c.start, c.end, p.Last(), c.last)
		}
	}
}
