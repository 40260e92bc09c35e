//go:build !wasip1

package tidemark

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

var (
	pairName  = String("name")
	pairCount = Int64("count").Nullable()
	pairText  = OutString("text")
	pairTime  = OutTime("at")

	errEmpty = errors.New("no name")
)

var repeat = Pairs(PairSpec{
	Name: "repeat", Version: "2", Left: []Input{pairName}, Right: []Input{pairCount}, Outputs: []Output{pairText, pairTime},
	Params: []Param{ParamString("sep").Default("-")},
}, func(p *Pair) error {
	name := pairName.Of(p.Left())
	if name == "" {
		return errEmpty
	}
	for range pairCount.Of(p.Right()) {
		w := p.Emit()
		pairText.Set(w, name)
		if _, timed := p.RightTime(); timed {
			pairTime.Set(w, p.Time())
		}
	}
	return nil
})

func TestPairs(t *testing.T) {
	if want := `{"name":"repeat","version":"2","sdk":"go","pair":{"left":[{"name":"name","type":"string"}],"right":[{"name":"count","type":"int64","nullable":true}],` +
		`"outputs":[{"name":"text","type":"string"},{"name":"at","type":"timestamp"}],"params":[{"name":"sep","type":"string","default":"-"}]}}`; string(repeat.manifest()) != want {
		t.Errorf("got  %s\nwant %s", repeat.manifest(), want)
	}
	left := []Record{{Time: 5, Values: Values{"name": "a"}}, {Values: Values{}}, {Time: 7, Values: Values{"name": strings.Repeat("b", 900)}}}
	right := []Record{{Time: 6, Values: Values{"count": 2}}, {Time: NoTime, Values: Values{"count": 1}}, {Time: 1, Values: Values{}}}
	long := strings.Repeat("b", 900)
	want := []Values{{"text": "a", "at": Timestamp(6)}, {"text": "a", "at": Timestamp(6)}, {"text": "a"},
		{"text": long, "at": Timestamp(7)}, {"text": long, "at": Timestamp(7)}, {"text": long}}
	for _, room := range []int{0, 2000} { // in one frame, and in several
		twin, err := NewPairTwin(repeat, nil)
		if err != nil {
			t.Fatal(err)
		}
		twin.room = room
		if got, err := twin.Show(left, right); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("room %d: got %v, %v", room, got, err)
		}
		_, err = twin.Show([]Record{{Values: Values{"name": long}}, {Values: Values{"name": ""}}}, right[:1])
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Op != 1 || refusal.Message != "no name" {
			t.Errorf("room %d: got %v", room, err)
		}
	}
}

func TestPairFunctionsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		spec PairSpec
		want string
	}{
		"no output":             {PairSpec{Name: "p"}, "no output column"},
		"a column twice":        {PairSpec{Name: "p", Left: []Input{Int64("a"), Int64("a")}, Outputs: []Output{OutBool("b")}}, `left column "a" is declared twice`},
		"one column both sides": {PairSpec{Name: "p", Left: []Input{pairName}, Right: []Input{pairName}, Outputs: []Output{OutBool("b")}}, `column "name" stands on both sides`},
	} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.Contains(r, c.want) {
					t.Errorf("%s: got %v, want %q", name, r, c.want)
				}
			}()
			Pairs(c.spec, func(*Pair) error { return nil })
		}()
	}
}
