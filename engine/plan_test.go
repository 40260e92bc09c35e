package engine_test

import (
	"errors"
	"strings"
	"testing"

	"tidemark/internal/fault"
)

// A job file can say more than this engine runs. What it does not run it refuses by name.
func TestFeaturesThatAreNotRunAreRefused(t *testing.T) {
	const in = "    from: in\n"
	rows := []struct{ name, old, new, want string }{
		{"a join", in, "    from: {join: {left: in, right: s0}}\n", "step s: joins are not run by this version"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			src := strings.Replace(countJob, row.old, row.new, 1)
			if src == countJob {
				t.Fatal("the job was not changed")
			}
			if strings.Contains(row.new, "s0") {
				src = strings.Replace(src, "\nsteps:\n", "\nsteps:\n  s0: {from: in, filter: v > 0}\n", 1)
				src = strings.Replace(src, "    aggregates:\n      n: {function: count}\n      sum: {function: sum, columns: {value: v}}\n", "", 1)
			}
			_, _, err := run(t, src, map[string]string{"in.jsonl": ""})
			if err == nil || err.Error() != row.want || !errors.Is(err, fault.ErrUser) {
				t.Errorf("error is %v, want %s", err, row.want)
			}
		})
	}
}
