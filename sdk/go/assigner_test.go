//go:build !wasip1

package tidemark

import (
	"errors"
	"reflect"
	"testing"
)

var (
	spanFrom = Int64("from")
	spanTo   = Int64("to")
	spanMore = Int64("more").Nullable()
	errSpan  = errors.New("from must not be negative")
)

// spans puts a record into [from, to), and into more windows of 10 ms at its time.
func spans(a *Assigned) error {
	from, to := spanFrom.Of(a.Row()), spanTo.Of(a.Row())
	if from < 0 {
		return errSpan
	}
	if from == 7 {
		return nil
	}
	a.Window(Timestamp(from), Timestamp(to))
	a.Window(Timestamp(from), Timestamp(to))
	for i := range spanMore.Of(a.Row()) {
		a.Window(a.Time()+Timestamp(i), a.Time()+Timestamp(i)+10)
	}
	return nil
}

var (
	spanInputs = []Input{spanFrom, spanTo, spanMore}
	apart      = Windows(AssignerSpec{Name: "apart", Version: "1", Inputs: spanInputs, Params: []Param{ParamInt64("n")}}, spans)
	together   = Windows(AssignerSpec{Name: "together", Version: "1", Inputs: spanInputs, Merges: true}, spans)
)

func TestWindows(t *testing.T) {
	if want := `{"name":"apart","version":"1","sdk":"go","assigner":{"inputs":[{"name":"from","type":"int64"},{"name":"to","type":"int64"},{"name":"more","type":"int64","nullable":true}],` +
		`"params":[{"name":"n","type":"int64"}]}}`; string(apart.manifest()) != want {
		t.Errorf("got  %s\nwant %s", apart.manifest(), want)
	}
	if want := `{"name":"together","version":"1","sdk":"go","assigner":{"inputs":[{"name":"from","type":"int64"},{"name":"to","type":"int64"},{"name":"more","type":"int64","nullable":true}],` +
		`"params":[],"merges":true}}`; string(together.manifest()) != want {
		t.Errorf("got  %s\nwant %s", together.manifest(), want)
	}
	records := []Record{
		{Time: 100, Values: Values{"from": 0, "to": 5}}, {Time: 100, Values: Values{"from": 0}}, {Time: 1, Values: Values{"from": 7, "to": 5}},
		{Time: 200, Values: Values{"from": 1, "to": 2, "more": 2}}, {Time: NoTime, Values: Values{"from": 0, "to": 5}}, {Time: -3, Values: Values{"from": 4, "to": 5}},
	}
	want := [][]Span{{{0, 5}}, nil, nil, {{1, 2}, {200, 210}, {201, 211}}, nil, {{4, 5}}}
	for _, room := range []int{0, 150} { // in one frame, and in several
		twin, err := NewAssignerTwin(apart, nil)
		if err != nil {
			t.Fatal(err)
		}
		twin.room = room
		if got, err := twin.Show(records...); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("room %d: got %v, %v", room, got, err)
		}
	}
}

func TestWindowsThatAHostRefuses(t *testing.T) {
	good := Record{Time: 1, Values: Values{"from": 0, "to": 5}}
	for _, c := range []struct {
		name string
		a    *Assigner
		bad  Values
		want string
	}{
		{"by the function", apart, Values{"from": -1, "to": 5}, "from must not be negative"},
		{"an empty window", apart, Values{"from": 5, "to": 5}, "window [5, 5): the start must be below the end"},
		{"too many", apart, Values{"from": 0, "to": 5, "more": 1000}, "1001 windows, a record can be in 1000"},
		{"two where windows merge", together, Values{"from": 0, "to": 5, "more": 1}, "2 windows, and where windows merge a record is in one"},
	} {
		twin, err := NewAssignerTwin(c.a, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = twin.Show(Record{Time: NoTime, Values: c.bad}, good, Record{Time: 1, Values: c.bad}, good)
		if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || refusal.Op != 2 || refusal.Message != c.want {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestAnAssignerOfNoName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("taken")
		}
	}()
	Windows(AssignerSpec{Name: "No", Version: "1"}, spans)
}
