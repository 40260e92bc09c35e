package naive

import (
	"strings"
	"testing"

	"tidemark/spec"
)

// TestDoubts names steps whose result the rules leave open. Generate relies on them
// being found.
func TestDoubts(t *testing.T) {
	for _, c := range []struct {
		name, job, steps string
		step             int
		why              string // empty: no doubt
	}{
		{"a record in the millisecond of a firing",
			`{"window":{"type":"tumbling","size_ms":10,"time":"processing"},"function":"sum"}`,
			`[{"record":{"ts":0,"key":"ax","value":1}},{"processing_time":9},{"record":{"ts":0,"key":"ax","value":2}}]`, 2, "S121"},
		{"a record one millisecond later",
			`{"window":{"type":"tumbling","size_ms":10,"time":"processing"},"function":"sum"}`,
			`[{"record":{"ts":0,"key":"ax","value":1}},{"processing_time":9},{"processing_time":10},{"record":{"ts":0,"key":"ax","value":2}}]`, 0, ""},
		{"two windows of a key whose order shows",
			`{"window":{"type":"sliding","size_ms":10,"slide_ms":5},"trigger":{"type":"count","n":1},"function":"context"}`,
			`[{"record":{"ts":7,"key":"ax","value":1}}]`, 0, "S68"},
		{"two windows of a key whose order does not show",
			`{"window":{"type":"sliding","size_ms":10,"slide_ms":5},"trigger":{"type":"count","n":1},"function":"sum"}`,
			`[{"record":{"ts":7,"key":"ax","value":1}}]`, 0, ""},
		{"the end of time on a global window that fires every few milliseconds",
			`{"window":{"type":"global"},"trigger":{"type":"continuous_event_time","interval_ms":4},"function":"sum"}`,
			`[{"record":{"ts":7,"key":"ax","value":1}},{"end_of_input":true}]`, 1, "S58"},
		{"a timeout that deletes the timer of the cleanup",
			`{"window":{"type":"tumbling","size_ms":10},"trigger":{"type":"processing_timeout","inner":{"type":"event_time"},"timeout_ms":5},"function":"sum"}`,
			`[{"record":{"ts":7,"key":"ax","value":1}},{"processing_time":5}]`, 1, "S67"},
		{"the largest of nothing",
			`{"window":{"type":"tumbling","size_ms":10},"evictor":{"type":"delta","threshold":0},"function":"max"}`,
			`[{"record":{"ts":7,"key":"ax","value":1}},{"watermark":9}]`, 1, "S88"},
		{"the key of a late record over all keys",
			`{"window":{"type":"tumbling","size_ms":10},"keyed":false,"late_output":true,"function":"sum"}`,
			`[{"watermark":9},{"record":{"ts":7,"key":"ax","value":1}}]`, 1, "S98"},
		{"a watermark that raises the output at one input, then at the other",
			`{"window":{"type":"tumbling","size_ms":10},"inputs":2,"function":"sum"}`,
			`[{"watermark":8,"input":1},{"watermark":3,"input":0},{"watermark":9}]`, 2, "order in which inputs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := spec.Read(strings.NewReader(`[{"id":"X","job":` + c.job + `,"steps":` + c.steps + `}]`))
			if err != nil {
				t.Fatal(err)
			}
			_, doubts := evaluate(&all[0])
			switch {
			case c.why == "" && len(doubts) > 0:
				t.Errorf("got %v", doubts)
			case c.why == "":
			case len(doubts) == 0 || doubts[0].step != c.step || !strings.Contains(doubts[0].why, c.why):
				t.Errorf("got %v, want %q at step %d", doubts, c.why, c.step)
			}
		})
	}
}

func TestGenerateMakesNoDoubtfulSteps(t *testing.T) {
	for seed := range uint64(1000) {
		s := Generate(seed)
		if _, doubts := evaluate(&s); len(doubts) > 0 {
			t.Errorf("seed %d: %v", seed, doubts)
		}
	}
}
