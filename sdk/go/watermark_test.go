//go:build !wasip1

package tidemark

import (
	"errors"
	"slices"
	"testing"
)

var (
	beatKind  = String("kind")
	beatState = BytesState()
	errBeat   = errors.New("no such kind")
)

// beats says, with every record, how often its kind has come before, as a time, and keeps
// the kinds as text. A tick says the clock and forgets all.
var beats = Watermarks(GeneratorSpec{
	Name: "beats", Version: "3", Inputs: []Input{beatKind}, State: beatState, Schema: 2,
	Tick: func(t *Timed) error {
		beatState.Set(t, nil)
		t.Watermark(t.Time())
		return nil
	},
}, func(t *Timed) error {
	kind := beatKind.Of(t.Row())
	if kind == "" {
		return errBeat
	}
	before := beatState.Get(t)
	n := Timestamp(0)
	for _, b := range before {
		if b == kind[0] {
			n++
		}
	}
	beatState.Set(t, append(slices.Clone(before), kind[0]))
	t.Watermark(t.Time() + 1000)
	t.Watermark(n)
	return nil
})

func TestWatermarks(t *testing.T) {
	if want := `{"name":"beats","version":"3","sdk":"go","watermark":{"inputs":[{"name":"kind","type":"string"}],"params":[],"state":{"schema":2}}}`; string(beats.manifest()) != want {
		t.Errorf("got  %s\nwant %s", beats.manifest(), want)
	}
	kinds := func(kinds ...string) (records []Record) {
		for i, k := range kinds {
			r := Record{Time: Timestamp(i), Values: Values{"kind": k}}
			if k == "-" {
				r.Values = Values{}
			}
			records = append(records, r)
		}
		return records
	}
	for _, room := range []int{0, 260} { // in one frame, and in several
		twin, err := NewGeneratorTwin(beats, nil)
		if err != nil {
			t.Fatal(err)
		}
		twin.room = room
		got, err := twin.Show(kinds("a", "b", "-", "a", "a")...)
		if want := []Timestamp{0, 0, NoTime, 1, 2}; err != nil || !slices.Equal(got, want) {
			t.Errorf("room %d: got %v, %v; want %v", room, got, err, want)
		}
		_, err = twin.Show(kinds("a", "-", "")...)
		if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || refusal.Op != 2 || refusal.Message != "no such kind" {
			t.Errorf("room %d: got %v", room, err)
		}
		// The refused call has left the state alone.
		if got, err := twin.Show(kinds("a")...); err != nil || got[0] != 3 {
			t.Errorf("room %d: got %v, %v", room, got, err)
		}
		if wm, err := twin.Tick(77); err != nil || wm != 77 {
			t.Errorf("room %d: a tick says %d, %v", room, wm, err)
		}
		if got, err := twin.Show(kinds("a")...); err != nil || got[0] != 0 {
			t.Errorf("room %d: behind a tick got %v, %v", room, got, err)
		}
	}
}
