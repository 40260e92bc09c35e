package window

import (
	"testing"

	"tidemark/engine/breaker"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// blaming is moody, and says which module failed.
type blaming struct{ *moody }

func (n *blaming) say(err error) error {
	if f, ok := err.(*udf.Failure); ok {
		f.Module = "moody"
	}
	return err
}
func (n *blaming) Add(a *udf.Accs, r *udf.Rows) error { return n.say(n.moody.Add(a, r)) }
func (n *blaming) Result(a *udf.Accs, out *stream.Columns) error {
	return n.say(n.moody.Result(a, out))
}

// A late record that a disabled plug-in bars is not one that was late and allowed, also if
// a record before it, in a key group where the plug-in is not disabled, is refused by it
// in the same segment: whatever batches they come in.
func TestABarredRecordIsNotLateButAllowed(t *testing.T) {
	for _, size := range []int{1, 10} {
		var out exactly
		bad := moody{refuse: 0, trap: -1, result: 99}
		op, err := NewAligned(Config{Windows: tiles(10, 0), Lateness: 100, Key: sliceKeyFields, Groups: 16, Functions: []Function{{"moody", &blaming{&bad}, []int{2}}},
			Guard: &Guard{Breaker: breaker.New(breaker.Limit{Failures: 1, Within: 1}), Groups: 16, Adds: []string{"moody"}, Fires: []string{"moody"}}}, &out)
		if err != nil {
			t.Fatal(err)
		}
		feed(t, op, []row{{"a", 5, 1, 0}, {"a", 5, 0, 0}, {"c", 25, 0, 20}, {"a", 6, 1, 20}}, size, func() {})
		if l := op.Ledger(); l.LateAccepted != 0 || l.Failed != 3 {
			t.Errorf("batches of %d: %+v", size, l)
		}
	}
}
