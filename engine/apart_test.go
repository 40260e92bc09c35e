package engine_test

import (
	"slices"
	"testing"
)

// Inputs whose times cannot meet in a window, or in the bounds of a join, are told; what
// just meets is not, nor a step that has no windows of event time.
func TestInputsThatCannotMeetAreTold(t *testing.T) {
	const (
		pairs  = "  s: {from: {join: {left: l, right: r, kind: interval, left_fields: [v], right_fields: [v], between: {lower: -5s, upper: 10s}}}, key: [k]}\n"
		window = "  s: {from: {join: {left: l, right: r, left_fields: [v], right_fields: [v]}}, key: [k], window: {tumbling: 10s}}\n"
		both   = "check time.unit and the inputs of both"
	)
	late := func(then string) []string {
		return []string{"step s: l has times from 1970-01-01T00:00:01.000Z to 1970-01-01T00:00:02.000Z, and r from " + then + both}
	}
	for _, c := range []struct {
		what, steps string
		r           int // time of the records of r, in ms; those of l are at 1 and 2 s
		want        []string
	}{
		{"pairs that just meet", pairs, 12_000, nil},
		{"pairs behind the bounds", pairs, 12_001, late("1970-01-01T00:00:12.001Z to 1970-01-01T00:00:12.001Z: no two of them are within the bounds of the join; ")},
		{"pairs that are years apart", pairs, 1_700_000_000_000, late("2023-11-14T22:13:20.000Z to 2023-11-14T22:13:20.000Z: no two of them are within the bounds of the join; ")},
		{"a window that may hold both", window, 11_000, nil},
		{"no window holds both", window, 60_000, late("1970-01-01T00:01:00.000Z to 1970-01-01T00:01:00.000Z: no window holds records of both; ")},
	} {
		_, report, err := run(t, joins(c.steps), map[string]string{"l-0.jsonl": record("a", 1000, 1) + record("a", 2000, 1), "r-0.jsonl": record("a", c.r, 1)})
		if err != nil || !slices.Equal(report.Apart, c.want) {
			t.Errorf("%s: got %q, %v", c.what, report.Apart, err)
		}
	}
	for _, c := range []struct {
		window string
		told   bool
	}{{"tumbling: 10s", true}, {"session: {gap: 10s}", true}, {"session: {gap: 58s}", false}, {"day: {zone: UTC}", false}, {"count: {size: 2}", false}, {"tumbling: 10s, time: processing", false}} {
		steps := "  f: {from: l, filter: v > 0}\n" + "  s: {from: {union: [f, r]}, key: [k], window: {" + c.window + "}, aggregates: {n: {function: count}}}\n"
		_, report, err := run(t, joins(steps), map[string]string{"l-0.jsonl": record("a", 1000, 1) + record("a", 2000, 1), "r-0.jsonl": record("a", 60_000, 1)})
		if err != nil || len(report.Apart) > 0 != c.told {
			t.Errorf("%s: got %q, %v", c.window, report.Apart, err)
		}
	}
}
