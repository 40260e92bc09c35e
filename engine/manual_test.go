package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/sim"
)

// A job that is driven by hand gives the rows that its run gives: at once or record by
// record, and with everything restored behind each one (S105).
func TestAJobDrivenByHandGivesTheRowsOfItsRun(t *testing.T) {
	var lines []string
	for i, ts := range []int{1000, 4000, 2500, 9000, 14000, 3000, 15000, 26000, 15500, 21000, 47000} {
		lines = append(lines, record([]string{"a", "b", "a"}[i%3], ts, i))
	}
	for _, c := range []struct{ name, steps string }{
		{"sliding with lateness", "  s: {from: in, key: [k], window: {sliding: {size: 10s, slide: 5s}, allowed_lateness: 8s}, aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}}\n"},
		{"slides over all keys", "  s: {from: in, window: {sliding: {size: 10s, slide: 5s}, allowed_lateness: 8s}, aggregates: {n: {function: count}, vs: {function: distinct, columns: {value: v}}}}\n"},
		{"sessions with a list", "  s: {from: in, key: [k], window: {session: 4s}, aggregates: {n: {function: count}, vs: {function: list, columns: {value: v}}}}\n"},
		{"a trigger behind a filter", "  s: {from: in, filter: v != 3, key: [k], window: {tumbling: 20s}, trigger: {count_or_timeout: {n: 2, after: 5s}}, aggregates: {n: {function: count}}}\n"},
		{"a window over the results of a window", "  one: {from: in, key: [k], window: {tumbling: 5s}, aggregates: {n: {function: count}}}\n  s: {from: one, window: {tumbling: 20s}, aggregates: {n: {function: sum, columns: {value: n}}}}\n"},
		{"an interval join of a stream with itself", "  even: {from: in, filter: v % 2 == 0}\n  odd: {from: in, filter: v % 2 == 1}\n  s: {from: {join: {left: even, right: odd, kind: interval, between: {lower: -7s, upper: 7s}}}, key: [k]}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			yaml := strings.Replace(steps(c.steps, "s"), ", time_format: ms", "", 1)
			want, report, err := run(t, yaml, map[string]string{"in.jsonl": strings.Join(lines, "")})
			if err != nil || len(want) < 2 {
				t.Fatalf("%v: %q", err, want)
			}
			late := int64(0)
			for _, s := range report.Steps {
				for _, l := range s.Inputs {
					late += l.Late
				}
			}
			slices.Sort(want)
			for _, p := range []int{1, 4} {
				for _, how := range []string{"at once", "record by record", "restored behind each record"} {
					got, gotLate := drive(t, yaml, lines, p, how)
					if !slices.Equal(got, want) || gotLate != late {
						t.Errorf("parallelism %d, %s: %d late, want %d\n%s\nwant\n%s", p, how, gotLate, late, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
			}
		})
	}
}

func drive(t *testing.T, yaml string, lines []string, parallelism int, how string) (rows []string, late int64) {
	t.Helper()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: t.TempDir(), Resolver: builtins{}, Set: []string{fmt.Sprint("parallelism=", parallelism)}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	o := engine.Options{Env: env.Env{Clock: sim.NewClock(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))}}
	m, err := engine.NewManual(ctx, g, o, map[string][]string{"in": {"in.jsonl"}})
	if err != nil {
		t.Fatal(err)
	}
	parts := lines
	if how == "at once" {
		parts = []string{strings.Join(lines, "")}
	}
	for _, p := range parts {
		if err := m.Feed(ctx, "in", "in.jsonl", []byte(p)); err != nil {
			t.Fatal(err)
		}
		if how == "restored behind each record" {
			if err := m.Restore(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.End(ctx, "in"); err != nil {
		t.Fatal(err)
	}
	for port, lines := range m.Take() {
		for _, l := range lines {
			switch {
			case port == job.Port{Operator: "s"}:
				rows = append(rows, string(l))
			case port.Name == "late":
				late++
			default:
				t.Errorf("%s: %s", port, l)
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows, late
}
