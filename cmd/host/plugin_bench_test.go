package main_test

import (
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

// benchLines runs plugin bench and returns the figures of each line: nanoseconds and fuel.
func benchLines(t *testing.T, dir string, args ...string) (map[string][2]string, string) {
	t.Helper()
	out, stderr, code := tidemark(t, dir, "", append([]string{"plugin", "bench"}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}
	lines := map[string][2]string{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 2 {
			lines[strings.Join(f[:len(f)-2], " ")] = [2]string{f[len(f)-2], f[len(f)-1]}
		}
	}
	return lines, out
}

func TestPluginBench(t *testing.T) {
	dir := workspace(t, map[string]string{
		"sum.wasm": string(wasmtest.Guest(t, "sum")), "join.wasm": string(wasmtest.Guest(t, "join")),
		// A record costs 1,000 more: a loop of ten instructions, of which end is free, and one
		// at its start, a hundred times.
		"slow.wasm": string(wasmtest.Guest(t, "sum", "$f $i i32.store 48\n    $data", "$f $i i32.store 48\n    0 =k loop $k 1 i32.add =k 0 drop $k 100 i32.lt_u br_if 0 end\n    $data", "a:i32 v:i64", "a:i32 v:i64 k:i32")),
	})
	sum, out := benchLines(t, dir, "sum.wasm", "--records", "5000", "--groups", "10")
	if !strings.HasPrefix(out, "sum 1: 5 batches of 1,024, the median of 7 rounds\n") || !strings.Contains(out, "ms and had at most 0.2 of 64.0 MiB\n") {
		t.Errorf("it says\n%s", out)
	}
	for _, line := range []string{"add, a record", "merge, an accumulator", "result, an accumulator", "built-in count and sum, a record", "a loop in Go, a record"} {
		ns, err := strconv.ParseFloat(sum[line][0], 64)
		_, ferr := strconv.ParseFloat(sum[line][1], 64)
		guest := strings.HasPrefix(line, "add") || strings.Contains(line, "accumulator")
		if err != nil || ns <= 0 || guest != (ferr == nil) {
			t.Errorf("%s: %v\n%s", line, sum[line], out)
		}
	}
	again, _ := benchLines(t, dir, "sum.wasm", "--records", "5000", "--groups", "10")
	if again["add, a record"][1] != sum["add, a record"][1] {
		t.Errorf("the fuel of another run is %s, not %s", again["add, a record"][1], sum["add, a record"][1])
	}
	slow, _ := benchLines(t, dir, "slow.wasm", "--records", "5000", "--groups", "10")
	a, _ := strconv.ParseFloat(sum["add, a record"][1], 64)
	b, _ := strconv.ParseFloat(slow["add, a record"][1], 64)
	if b-a < 900 || b-a > 1200 {
		t.Errorf("a thousand instructions more for each record are %.1f fuel: %.1f and %.1f", b-a, a, b)
	}
	join, out := benchLines(t, dir, "join.wasm", "--records", "100", "--groups", "3")
	if _, ok := join["built-in count, a record"]; !ok {
		t.Errorf("a text has no sum:\n%s", out)
	}
	for _, c := range []struct{ args, says string }{
		{"none.wasm", "none.wasm"}, {"sum.wasm --records 0", "--records must be 1 to"}, {"sum.wasm --groups 0", "--groups 1 to"},
	} {
		if _, stderr, code := tidemark(t, dir, "", append([]string{"plugin", "bench"}, strings.Fields(c.args)...)...); code != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr)
		}
	}
}
