//go:build !wasip1

package tidemark

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// A function over both sides, with everything that a spec may have.
var (
	pTag    = String("tag").Nullable()
	pLeft   = Int64("left")
	pRight  = String("right")
	lefts   = Records(pLeft)
	rights  = Records(pRight)
	pSum    = OutInt64("sum")
	pTexts  = OutString("texts")
	pWhen   = OutTime("first")
	pSeen   = OutInt64("seen")
	pWord   = OutString("word")
	pLong   = OutBool("long")
	pWords  = Side("words", pWord, pLong)
	pLimit  = ParamInt64("limit").Default(2)
	pKey    = BytesState()
	pWindow = FixedState[struct{ n, sum int64 }]()
)

var errNegative = errors.New("a value below 0")

func pair(f *Firing) error {
	w := f.Emit()
	texts := append([]byte(nil), pKey.Get(f)...)
	sum := int64(0)
	for r := range lefts.Of(f) {
		if pLeft.Of(r) < 0 {
			return errNegative
		}
		sum += pLeft.Of(r)
	}
	if rights.Len(f) > 0 {
		if at, timed := rights.Time(rights.At(f, 0)); timed {
			pWhen.Set(w, at)
		}
	}
	for r := range rights.Of(f) {
		texts = append(texts, pRight.Bytes(r)...)
	}
	s, _ := pWindow.Get(f)
	s.n, s.sum = s.n+1, s.sum+sum
	pWindow.Set(f, s)
	pSeen.Set(w, s.n)
	pKey.Set(f, texts)
	pSum.Set(w, s.sum)
	pTexts.SetBytes(w, append(texts, pTag.Of(f.Row())...))
	for r := range rights.Of(f) {
		w := pWords.Emit(f)
		pWord.Set(w, pRight.Of(r))
		pLong.Set(w, int64(len(pRight.Bytes(r))) > pLimit.Value())
	}
	return nil
}

var both = Process(ProcessSpec{
	Name: "both", Version: "1", Inputs: []Input{pTag}, Left: lefts, Right: rights,
	Outputs: []Output{pSum, pTexts, pWhen, pSeen}, Side: []*SideOutput{pWords}, Params: []Param{pLimit}, KeyState: pKey, WindowState: pWindow, Schema: 3,
}, pair)

func TestTheManifestOfAProcessFunction(t *testing.T) {
	want := `{"name":"both","version":"1","sdk":"go","process":{"inputs":[{"name":"tag","type":"string","nullable":true}],` +
		`"left":[{"name":"left","type":"int64"}],"right":[{"name":"right","type":"string"}],` +
		`"outputs":[{"name":"sum","type":"int64"},{"name":"texts","type":"string"},{"name":"first","type":"timestamp"},{"name":"seen","type":"int64"}],` +
		`"side":[{"name":"words","outputs":[{"name":"word","type":"string"},{"name":"long","type":"bool"}]}],` +
		`"params":[{"name":"limit","type":"int64","default":2}],"state":{"key":true,"window":true,"schema":3}}}`
	if got := string(both.manifest()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// shown is a firing of key k in the window that starts at a time.
func shown(k string, start Timestamp, tag any, left []int, right ...string) Fired {
	f := Fired{Key: k, Start: start, End: start + 10, Inputs: Values{"tag": tag}}
	for _, v := range left {
		f.Left = append(f.Left, Record{Time: start, Values: Values{"left": v}})
	}
	for i, v := range right {
		f.Right = append(f.Right, Record{Time: start + Timestamp(i), Values: Values{"right": v}})
	}
	return f
}

func TestFiringsOfACall(t *testing.T) {
	calls := []Fired{
		shown("a", 0, "!", []int{1, 2}, "x", "yyy"), shown("b", 0, nil, []int{7}), shown("a", 10, "?", nil, "z"), shown("a", 0, "", []int{5}),
	}
	want := Given{
		Rows: []Values{
			{"sum": int64(3), "texts": "xyyy!", "first": Timestamp(0), "seen": int64(1)},
			{"sum": int64(7), "texts": "", "seen": int64(1)},
			{"sum": int64(0), "texts": "xyyyz?", "first": Timestamp(10), "seen": int64(1)},
			{"sum": int64(8), "texts": "xyyyz", "seen": int64(2)},
		},
		Side: map[string][]Values{"words": {{"word": "x", "long": false}, {"word": "yyy", "long": true}, {"word": "z", "long": false}}},
	}
	// Together, one by one, and with room for about one firing a call: the same.
	for _, c := range []struct {
		name string
		each int
		room int
	}{{"together", 4, 0}, {"one by one", 1, 0}, {"little room", 4, 4096}} {
		twin, err := NewProcessTwin(both, nil)
		if err != nil {
			t.Fatal(err)
		}
		list := calls
		if twin.room = c.room; c.room > 0 { // a text of its own fills the rest of a frame
			list = append([]Fired{shown("c", 0, strings.Repeat("t", 3700), nil)}, calls...)
		}
		got := Given{Side: map[string][]Values{}}
		for i := 0; i < len(list); i += c.each {
			g, err := twin.Fire(list[i:min(i+c.each, len(list))]...)
			if err != nil {
				t.Fatal(err)
			}
			got.Rows = append(got.Rows, g.Rows...)
			got.Side["words"] = append(got.Side["words"], g.Side["words"]...)
		}
		got.Rows = got.Rows[len(got.Rows)-4:]
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%v\nwant\n%v", c.name, got, want)
		}
		if string(twin.keys["a"]) != "xyyyz" {
			t.Errorf("%s: state %q", c.name, twin.keys["a"])
		}
		twin.Clean("a", 0, 10)
		if g, err := twin.Fire(shown("a", 0, "", []int{1})); err != nil || g.Rows[0]["seen"] != int64(1) {
			t.Errorf("%s: a window that was cleaned up: %v, %v", c.name, g, err)
		}
	}
}

func TestARefusedFiringLeavesStatesAlone(t *testing.T) {
	twin, err := NewProcessTwin(both, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = twin.Fire(shown("a", 0, "", []int{1}, "x"), shown("a", 10, "", []int{-1}))
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Op != 1 || refusal.Message != errNegative.Error() {
		t.Errorf("got %v", err)
	}
	if len(twin.keys) != 0 || len(twin.windows) != 0 {
		t.Errorf("states %v, %v", twin.keys, twin.windows)
	}
	twin.room = 64
	if _, err = twin.Fire(shown("a", 0, "", nil)); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("no room at all: %v", err)
	}
}

func TestARowIsCompleteWhenTheNextIsBegun(t *testing.T) {
	out, n := OutString("s"), OutInt64("n")
	for name, set := range map[string]func(w *Out){"text": func(w *Out) { out.Set(w, "late") }, "number": func(w *Out) { n.Set(w, 1) }} {
		twin, err := NewProcessTwin(Process(ProcessSpec{Name: "stale", Outputs: []Output{out, n}}, func(f *Firing) error {
			w := f.Emit()
			f.Emit()
			set(w)
			return nil
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it was set", name)
				}
			}()
			defer func() { mu.TryLock(); mu.Unlock() }() // the twin holds it where the function panics
			_, _ = twin.Fire(Fired{})
		}()
	}
}

func TestProcessFunctionsThatCannotBe(t *testing.T) {
	out := OutInt64("n")
	l := Records()
	s := BytesState()
	for _, c := range []struct {
		name string
		spec ProcessSpec
		want string
	}{
		{"no output", ProcessSpec{Name: "p"}, "no output column"},
		{"one side", ProcessSpec{Name: "p", Left: l, Outputs: []Output{out}}, "one of Left and Right"},
		{"all and sides", ProcessSpec{Name: "p", Records: Records(), Left: l, Right: Records(), Outputs: []Output{out}}, "Records beside Left and Right"},
		{"one list twice", ProcessSpec{Name: "p", Left: l, Right: l, Outputs: []Output{out}}, "Left and Right are one list"},
		{"one state twice", ProcessSpec{Name: "p", KeyState: s, WindowState: s, Outputs: []Output{out}}, "KeyState and WindowState are one state"},
		{"a side output without columns", ProcessSpec{Name: "p", Outputs: []Output{out}, Side: []*SideOutput{Side("x")}}, "no output column"},
		{"a reserved name", ProcessSpec{Name: "p", Outputs: []Output{out}, Side: []*SideOutput{Side("late", out)}}, `side output "late": every step has an output of that name`},
		{"a side output twice", ProcessSpec{Name: "p", Outputs: []Output{out}, Side: []*SideOutput{Side("x", out), Side("x", out)}}, `side output "x" is declared twice`},
		{"a record column twice", ProcessSpec{Name: "p", Records: Records(Int64("a"), Int64("a")), Outputs: []Output{out}}, `record column "a" is declared twice`},
		{"a name that is none", ProcessSpec{Name: "P", Outputs: []Output{out}}, "a name matches"},
	} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.Contains(r, c.want) {
					t.Errorf("%s: got %v, want %q", c.name, r, c.want)
				}
			}()
			Process(c.spec, func(*Firing) error { return nil })
		}()
	}
	defer func() {
		if r, ok := recover().(string); !ok || !strings.Contains(r, "holds s string: a fixed state has no pointers") {
			t.Errorf("a state with a pointer: %v", r)
		}
	}()
	FixedState[struct{ s string }]()
}
