package laws

import (
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// growing gives a window of ten milliseconds at a record's time; one that cheats makes each
// longer than the one before. Records at times that three divides get a window without a length.
type growing struct {
	cheats bool
	n      stream.Time
}

func (g *growing) Info() udf.AssignerInfo { return udf.AssignerInfo{Merges: true} }
func (g *growing) Close() error           { return nil }

func (g *growing) Assign(rows *udf.Rows, out *udf.Assigned) error {
	for i, row := range rows.Sel {
		w := stream.Window{Start: rows.Batch.Time[row], End: rows.Batch.Time[row].Add(10 + g.n)}
		if w.Start%3 == 0 {
			w.End = w.Start
		}
		if g.cheats {
			g.n++
		}
		out.Windows, out.Of = append(out.Windows, w), append(out.Of, uint32(i))
	}
	return nil
}

// What an assigner keeps between calls is found, and windows that break the rules count as
// refused.
func TestLawsOfAssigners(t *testing.T) {
	for _, cheats := range []bool{false, true} {
		r, err := Assigners((&growing{}).Info(), func() (udf.Assigner, error) { return &growing{cheats: cheats}, nil }).Check(Options{Seed: 3, Records: 400})
		if err != nil {
			t.Fatal(err)
		}
		if r.Broken() != cheats || r.Taken == 0 || r.Refused == 0 || !strings.Contains(r.RefusedMessage, "whose start is not below its end") {
			t.Errorf("cheats %v: broken %v, %d taken, %d refused: %s", cheats, r.Broken(), r.Taken, r.Refused, r.RefusedMessage)
		}
		for _, l := range r.Laws {
			if l.Judged == 0 && !cheats {
				t.Errorf("%s has no comparisons", l.Name)
			}
		}
	}
}
