//go:build !wasip1

package tidemark

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

var (
	mapText = String("text")
	mapMost = Int64("most").Nullable()
	mapWord = OutString("word")
	mapAt   = OutTime("at")
	errMap  = errors.New("no text")
)

// words makes a record of each word, and none of "-".
var words = Map(MapSpec{
	Name: "words", Version: "1", Inputs: []Input{mapText, mapMost}, Outputs: []Output{mapWord, mapAt}, Params: []Param{ParamString("sep").Default(" ")},
}, func(m *Mapped) error {
	text := mapText.Of(m.Row())
	if text == "" {
		return errMap
	}
	for _, w := range strings.Fields(text) {
		if w == "-" {
			continue
		}
		o := m.Emit()
		mapWord.Set(o, w)
		if at, timed := m.Time(); timed && !mapMost.Null(m.Row()) {
			mapAt.Set(o, at)
		}
	}
	return nil
})

func TestMap(t *testing.T) {
	if want := `{"name":"words","version":"1","sdk":"go","map":{"inputs":[{"name":"text","type":"string"},{"name":"most","type":"int64","nullable":true}],` +
		`"outputs":[{"name":"word","type":"string"},{"name":"at","type":"timestamp"}],"params":[{"name":"sep","type":"string","default":" "}]}}`; string(words.manifest()) != want {
		t.Errorf("got  %s\nwant %s", words.manifest(), want)
	}
	long := strings.Repeat("x", 900)
	records := []Record{
		{Time: 1, Values: Values{"text": "one two", "most": 1}}, {Time: 2, Values: Values{"most": 1}}, {Time: 3, Values: Values{"text": "-"}},
		{Time: 4, Values: Values{"text": long + " " + long}}, {Time: NoTime, Values: Values{"text": "three", "most": 1}},
	}
	want := [][]Values{{{"word": "one", "at": Timestamp(1)}, {"word": "two", "at": Timestamp(1)}}, nil, nil, {{"word": long}, {"word": long}}, {{"word": "three"}}}
	for _, room := range []int{0, 2000} { // in one frame, and in several
		twin, err := NewMapTwin(words, nil)
		if err != nil {
			t.Fatal(err)
		}
		twin.room = room
		if got, err := twin.Show(records...); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("room %d: got %v, %v", room, got, err)
		}
		_, err = twin.Show(records[3], records[1], Record{Values: Values{"text": ""}})
		if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || refusal.Op != 2 || refusal.Message != "no text" {
			t.Errorf("room %d: got %v", room, err)
		}
	}
}
