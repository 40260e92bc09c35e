//go:build !wasip1

package tidemark

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A batch loop sees a run of an agenda as if it were the whole batch: columns of every
// type then begin anywhere, with bitmaps at any bit.
var (
	runI = Int64("i").Nullable()
	runF = Float64("f").Nullable()
	runB = Bool("b").Nullable()
	runS = String("s").Nullable()
	runT = Time("t").Nullable()

	runSeen = OutInt64("seen")
	runLast = OutString("last")
)

type seenRun struct {
	hash uint64
	n    int64
	size int64 // of the last text
}

func (s *seenRun) Merge(o *seenRun) error {
	s.hash, s.n, s.size = s.hash*31+o.hash, s.n+o.n, o.size
	return nil
}

func (s *seenRun) Result(w *Out) error {
	runSeen.Set(w, int64(s.hash>>1)+s.n)
	runLast.Set(w, strings.Repeat("x", int(s.size)))
	return nil
}

var runs = BatchAggregate[seenRun](Spec{
	Name: "runs", Inputs: []Input{runI, runF, runB, runS, runT}, Outputs: []Output{runSeen, runLast},
}, func(b Batch[seenRun]) error {
	for i := range b.Len() {
		s, r := b.At(i)
		s.n++
		for n, null := range []bool{runI.Null(r), runF.Null(r), runB.Null(r), runS.Null(r), runT.Null(r)} {
			if null {
				s.hash += uint64(n + 1)
			}
			s.hash *= 1099511628211
		}
		s.hash += uint64(runI.Of(r)) + uint64(runF.Of(r)) + uint64(runT.Of(r))
		if runB.Of(r) {
			s.hash ^= 1
		}
		s.size = int64(len(runS.Bytes(r)))
		for _, c := range runS.Bytes(r) {
			s.hash = s.hash*31 + uint64(c)
		}
	}
	return nil
})

func TestAnAgendaDoesWhatSingleCallsDo(t *testing.T) {
	twin, err := NewTwin(runs, nil)
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	var records []Values
	for range 400 {
		v := Values{}
		for name, value := range map[string]any{"i": r.Int64(), "f": float64(r.IntN(1000)), "b": r.IntN(2) == 0, "s": strings.Repeat("é", r.IntN(5)), "t": Timestamp(r.IntN(1e6))} {
			if r.IntN(4) > 0 {
				v[name] = value
			}
		}
		records = append(records, v)
	}
	if err := twin.inOneCall(records); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	if twin, err = NewTwin(reducer, nil); err != nil {
		t.Fatal(err)
	}
	if err := twin.inOneCall([]Values{{"id": 1, "price": 5}, {"id": 2, "price": 7}, {"id": 3, "price": 7}, {"id": 4, "price": -1}}); err != nil {
		t.Error(err)
	}
}

// What does not fit stops the call at its operation, whose accumulators are as those
// before it have left them.
func TestAnAgendaStopsAtWhatDoesNotFit(t *testing.T) {
	twin, err := NewTwin(runs, nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := twin.Add(nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := []Values{{"s": strings.Repeat("a", 3000)}, {"s": strings.Repeat("b", 2000)}}
	ops := []contentOp{{what: applyRecord}, {what: applyResult}, {what: applyRecord, arg: 1}, {what: applyResult, arg: 1}, {what: applyReset}}
	accs, got, done, err := twin.apply(agenda{rows: rows, ops: ops, accs: []Acc{fresh}, room: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if done != 3 || len(got) != 1 || len(got[0]["last"].(string)) != 3000 {
		t.Errorf("%d operations are done, with %d rows", done, len(got))
	}
	want, err := twin.Add(fresh, rows...)
	if err != nil || string(accs[0]) != string(want) {
		t.Errorf("accumulator %x, %v; want %x", accs[0], err, want)
	}
}

func TestAnAgendaThatCannotBeRead(t *testing.T) {
	twin, err := NewTwin(runs, nil)
	if err != nil {
		t.Fatal(err)
	}
	acc := make(Acc, 24)
	for _, op := range []contentOp{{what: 4}, {acc: 1}, {arg: 1}, {what: applyReset, arg: 1}, {what: applyMerge, arg: 1}} {
		if _, _, _, err := twin.apply(agenda{rows: []Values{{}}, ops: []contentOp{{}, op}, accs: []Acc{acc}}); err != errBadFrame {
			t.Errorf("%+v: got %v", op, err)
		}
	}
}
