package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// graphs is how many jobs are made at random.
const graphs = 60

// The rows of a job are a function of its data, whatever its graph (T6): unions of what is
// the same, steps read twice, windows over windows, refusals, several files. Queues of one
// batch show where tasks would wait for each other.
func TestGraphsMadeAtRandom(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	rows := 0
	for seed := range uint64(graphs) {
		d := dice{rand.New(rand.NewPCG(seed, 0))}
		yaml, dir := d.graph(), t.TempDir()
		for _, name := range []string{"in", "other"} {
			for f := range 1 + d.IntN(3) {
				var text strings.Builder
				from, pace := d.IntN(3)*20_000, []int{10, 100, 300}[d.IntN(3)]
				for i := range 20 + d.IntN(100) {
					v := d.IntN(8) - 2
					if d.IntN(40) == 0 {
						v = 1 << 62 // the sum of two is none
					}
					text.WriteString(record(fmt.Sprint("k", d.IntN(5)), 20_000+from+i*pace+d.IntN(6000), v))
				}
				write(t, dir, fmt.Sprintf("%s-%d.jsonl", name, f), text.String())
			}
		}
		var want []string
		for i, c := range [][2]int{{1, 1}, {1000, 1}, {7, 3}, {1000, 4}, {1, 2}} {
			got, _, err := runIn(t, ctx, dir, yaml, fmt.Sprint("settings.batch.rows=", c[0]), fmt.Sprint("parallelism=", c[1]), "settings.queue=1")
			slices.Sort(got)
			if i == 0 {
				want = got
				rows += len(want)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d, batches of %d rows, parallelism %d: %v\ngot\n%s\nwant, as with batches of 1 row and parallelism 1,\n%s\nof\n%s",
					seed, c[0], c[1], err, strings.Join(got, "\n"), strings.Join(want, "\n"), yaml)
			}
		}
	}
	if rows < graphs {
		t.Errorf("%d jobs gave %d rows: too few to show anything", graphs, rows)
	}
}

type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

// graph makes a job whose step w2 is read by its sink; what w2 does not need is left out.
func (d dice) graph() string {
	aggregates := func(of string) string {
		return fmt.Sprintf(", aggregates: {n: {function: count}, sum: {function: sum, columns: {value: %[1]s}}, top: {function: max, columns: {value: %[1]s}}%[2]s}}",
			of, d.one("", fmt.Sprintf(", all: {function: list, columns: {value: %s}}", of)))
	}
	key := d.one("key: [k], ", "key: [k], ", "key: [v], ", "")
	first := d.one("in", "f", "h", "g", "{union: [in, other]}", "{union: [h, other]}", "{union: [f, e]}", "{union: [h, in]}")
	count := d.IntN(8) == 0 // windows without end stand in w2 only
	texts := [][2]string{   // each may read what stands before it
		{"h", "{from: in, filter: v > 1}"},
		{"g", "{from: h, filter: v > 2}"},
		{"f", "{from: in, filter: v >= 0, project: [k, v]}"},
		{"e", "{from: in, filter: v < 3, project: [k, v]}"},
		{"w1", "{from: " + first + ", " + key + d.window(false) + aggregates("v")},
		{"w3", "{from: " + d.one("in", "f", "other", first) + ", " + key + d.window(false) + aggregates("v")},
		{"p", "{from: w1, filter: n > 1}"},
	}
	second := d.one("w1", "p", "w3", "{union: [w1, p]}")
	if !strings.Contains(texts[4][1]+texts[5][1], "all:") || strings.Contains(texts[4][1], "all:") == strings.Contains(texts[5][1], "all:") {
		second = d.one(second, "{union: [w1, w3]}", "{union: [p, w3]}") // of the same fields
	}
	texts = append(texts, [2]string{"w2", "{from: " + second + ", " + d.one("", "key: [n], ") + d.window(count) + aggregates(d.one("n", "sum"))})

	needed := map[string]bool{"w2": true}
	steps := ""
	for _, s := range slices.Backward(texts) {
		if !needed[s[0]] {
			continue
		}
		steps = "  " + s[0] + ": " + s[1] + "\n" + steps
		from := strings.TrimPrefix(s[1], "{from: ")
		if strings.HasPrefix(from, "{union") {
			from = from[:strings.Index(from, "}")]
		} else {
			from, _, _ = strings.Cut(from, ",")
		}
		for _, name := range strings.FieldsFunc(from, func(c rune) bool { return strings.ContainsRune("{}[],: ", c) }) {
			needed[name] = true
		}
	}
	sources := ""
	for _, name := range []string{"in", "other"} {
		if needed[name] {
			sources += fmt.Sprintf("  %[1]s: {file: {path: \"%[1]s-*.jsonl\"}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: %[2]s}}\n", name, d.one("0s", "1s", "2s"))
		}
	}
	return "version: 1\njob: t\nsources:\n" + sources + "steps:\n" + steps + "sinks:\n  out: {from: w2, stdout: {}}\n"
}

func (d dice) window(count bool) string {
	if count {
		return "on_error: dead_letter, window: " + d.one("{count: {size: 3}}", "{count: {size: 4, slide: 2}}")
	}
	w := d.one("{tumbling: 5s}", "{sliding: {size: 10s, slide: 3s}}", "{sliding: {size: 4s, slide: 6s}}", "{session: {gap: 700ms}}", "{session: {gap: 2s}}")
	more := d.one("", "", ", trigger: {continuous: 2s}", ", trigger: {count: 2}", ", trigger: {purging: {count: 3}}", ", evictor: {count: 2}")
	return "on_error: dead_letter, window: " + w[:len(w)-1] + d.one("", ", allowed_lateness: 3s") + "}" + more
}
