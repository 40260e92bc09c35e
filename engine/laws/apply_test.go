package laws

import (
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// applying is a sum that takes an agenda in one call, and can be made to do that wrong.
type applying struct {
	sum
	fault string
	adds  int
	calls int
}

func (a *applying) Add(accs *udf.Accs, rows *udf.Rows) error {
	a.adds++
	return a.sum.Add(accs, rows)
}

func (a *applying) Apply(accs *udf.Accs, ops []udf.ContentOp, rows *udf.Rows, out *stream.Columns) error {
	a.calls++
	taken := map[uint32]bool{}
	for i, op := range ops {
		acc := accs.At(int(op.Acc))
		switch op.What {
		case udf.OpAdd:
			v := rows.Batch.Cols[rows.Cols[0]].Ints[rows.Sel[op.Row]]
			switch {
			case a.fault == "a record goes into one accumulator only" && taken[op.Row],
				a.fault == "it has to be added to before" && a.adds == 0,
				a.fault == "the first operation is lost" && i == 0:
				continue
			case a.fault == "it refuses what single calls take" && get(acc) > 5:
				return &udf.Failure{Op: i, Message: "enough"}
			case a.fault == "it breaks down" && get(acc) > 5:
				return &udf.Failure{Op: i, Trap: true, Message: "enough"}
			case a.fault == "it counts calls":
				v += int64(a.calls % 2)
			}
			taken[op.Row] = true
			put(acc, get(acc)+v)
		case udf.OpEmit:
			if a.fault == "no row of nothing" && get(acc) == 0 {
				continue
			}
			out.Cols[0].AppendInt(get(acc))
			if a.fault == "a result empties" {
				put(acc, 0)
			}
		case udf.OpReset:
			if a.fault != "nothing is reset" {
				put(acc, 0)
			}
		}
	}
	if a.fault == "more than rows show" {
		put(accs.At(0), get(accs.At(0))+1)
	}
	return nil
}

func TestABrokenApplierIsFound(t *testing.T) {
	for _, fault := range []string{
		"", "a record goes into one accumulator only", "it has to be added to before", "the first operation is lost", "it refuses what single calls take",
		"it breaks down", "it counts calls", "no row of nothing", "a result empties", "nothing is reset", "more than rows show",
	} {
		for seed := range uint64(3) {
			r, err := Aggregate{Open: func() (udf.Aggregate, error) { return &applying{fault: fault}, nil }}.Check(Options{Seed: seed, Records: 500})
			if err != nil {
				t.Fatal(err)
			}
			tried := false
			for _, l := range r.Laws {
				if l.Name != "apply" {
					if l.Broken != nil {
						t.Errorf("%q, seed %d: %s is broken: %+v", fault, seed, l.Name, *l.Broken)
					}
					continue
				}
				tried = true
				switch {
				case fault == "" && (l.Broken != nil || l.Judged == 0 || l.Unjudged > 0):
					t.Errorf("seed %d: of an applier that is none: %+v, %d and %d comparisons", seed, l.Broken, l.Judged, l.Unjudged)
				case fault != "" && l.Broken == nil:
					t.Errorf("%q, seed %d: is not found", fault, seed)
				case fault != "" && len(l.Broken.Input) > 5:
					t.Errorf("%q, seed %d: the smallest input has %d records: %+v", fault, seed, len(l.Broken.Input), *l.Broken)
				}
			}
			if !tried {
				t.Errorf("%q, seed %d: the law is not tried", fault, seed)
			}
		}
	}
}

// An aggregate that takes single calls only is not asked for more.
func TestNoApplierIsNotJudged(t *testing.T) {
	r, _ := checked(t, "", Options{Records: 100})
	for _, l := range r.Laws {
		if l.Name == "apply" {
			t.Errorf("it is judged: %+v", l)
		}
	}
}

// Agendas have all that there is: records in one accumulator and in two, results and resets
// in between.
func TestAgendas(t *testing.T) {
	var kinds [3]int
	twice, most := 0, 0
	for seed := range 100 {
		d := dice(seed)
		into := map[uint32]int{}
		for i, op := range d.agenda(10) {
			kinds[op.What]++
			if op.Acc >= agendaAccs || op.Row >= 10 {
				t.Fatalf("operation %d: %+v", i, op)
			}
			if op.What == udf.OpAdd {
				into[op.Row]++
			}
		}
		if len(into) != 10 {
			t.Fatalf("seed %d: %d of 10 records", seed, len(into))
		}
		for _, n := range into {
			most = max(most, n)
			twice += n - 1
		}
	}
	if most != 2 || twice < 100 || kinds[udf.OpEmit] < 500 || kinds[udf.OpReset] < 100 {
		t.Errorf("records go into %d accumulators, %d of 1,000 into a second one; operations by kind: %v", most, twice, kinds)
	}
}
