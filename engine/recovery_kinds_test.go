package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidemark/internal/env"
	"tidemark/internal/sim"
)

// kindsOfJobs is how many of each kind are made at random.
const kindsOfJobs = 5

// Cuts change nothing either of jobs with what random graphs do not have: joins, senders that
// add up, other formats and compressions, other kinds of watermarks, guards of time, records
// that are too long.
func TestACutOffChangesNothingOfAnyKind(t *testing.T) {
	const head, tail = "version: 1\njob: t\nsources:\n  in: SOURCE\n  other: OTHER\nsteps:\n", "sinks:\n  out: {from: s, file: {path: out/rows.jsonl}}\n  late: {from: s.late, file: {path: out/late.jsonl}}\n  bad: {from: in.bad, file: {path: out/bad.jsonl}}\n"
	const source = `{file: {path: "%s-*"}, format: %s, schema: {k: string, v: int64}, time: {field: ts, unit: ms%s}, watermark: %s}`
	const aggregates = "aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}, all: {function: list, columns: {value: v}}}}\n"
	const counts = "aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}}\n"
	for _, c := range []struct{ name, format, time, watermark, steps string }{
		{"window join", "json", "", "{out_of_orderness: 2s}", "  s: {from: {join: {left: in, right: other, left_fields: [v], right_fields: [v]}}, key: [k], window: {tumbling: 4s, allowed_lateness: 2s}}\n"},
		{"cogroup", "json", "", "{out_of_orderness: 1s}", "  s: {from: {join: {left: in, right: other, kind: cogroup, left_fields: [v], right_fields: [v]}}, key: [k], window: {session: {gap: 500ms}}}\n"},
		{"interval join", "json", "", "{out_of_orderness: 1s}", "  s: {from: {join: {left: in, right: other, kind: interval, left_fields: [v], right_fields: [v], between: {lower: -300ms, upper: 200ms}}}, key: [k]}\n"},
		{"hot keys", "json", "", "{out_of_orderness: 1s}", "  s: {from: {union: [in, other]}, key: [k], hot_keys: 2, window: {tumbling: 3s, allowed_lateness: 1s}, " + counts},
		{"all keys, sliding", "json", "", "{out_of_orderness: 1s}", "  s: {from: {union: [in, other]}, window: {sliding: {size: 4s, slide: 1s}}, " + counts},
		{"ascending", "json", "", "{ascending: true}", "  s: {from: {union: [in, other]}, key: [k], window: {tumbling: 3s, allowed_lateness: 1s}, " + aggregates},
		{"every third record", "json", "", "{out_of_orderness: 1s, emit: {every: 3}}", "  s: {from: {union: [in, other]}, key: [k], window: {tumbling: 3s}, trigger: {continuous: 700ms}, " + aggregates},
		{"markers", "json", "", "{marker: 'v == 5'}", "  s: {from: {union: [in, other]}, key: [k], window: {session: {gap: 300ms}, allowed_lateness: 1s}, " + aggregates},
		{"delay", "json", "", "{delay_field: v}", "  s: {from: {union: [in, other]}, key: [k], window: {tumbling: 1s}, evictor: {count: 3}, " + aggregates},
		{"jumps", "json", ", max_jump: 1s", "{out_of_orderness: 1s}", "  s: {from: {union: [in, other]}, key: [k], window: {tumbling: 2s}, " + aggregates},
		{"CSV", "csv", "", "{out_of_orderness: 1s}", "  s: {from: {union: [in, other]}, key: [k], window: {tumbling: 2s, allowed_lateness: 1s}, " + aggregates},
		{"long records", "{json: {}, max_record: 64B}", "", "{out_of_orderness: 1s}", "  s: {from: {union: [in, other]}, key: [k], window: {tumbling: 2s}, " + aggregates},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cuts, restored := 0, 0
			jobs := uint64(kindsOfJobs)
			if underRace {
				jobs = 2
			}
			for seed := range jobs {
				d := dice{rand.New(rand.NewPCG(seed, 5))}
				yaml := strings.NewReplacer("SOURCE", fmt.Sprintf(source, "in", c.format, c.time, c.watermark), "OTHER", fmt.Sprintf(source, "other", c.format, c.time, c.watermark)).Replace(head + c.steps + tail)
				files := sim.NewFS(env.Real().Clock)
				for _, name := range []string{"in", "other"} {
					for f := range 1 + d.IntN(3) {
						text := someRecords(d, c.format)
						if d.IntN(3) == 0 {
							files.Put(fmt.Sprintf("/job/%s-%d.gz", name, f), []byte(zipped(t, string(text))))
						} else {
							files.Put(fmt.Sprintf("/job/%s-%d", name, f), text)
						}
					}
				}
				base := attempt{files: files.Kill(), yaml: yaml, set: []string{fmt.Sprint("settings.batch.rows=", []int{1, 3, 10}[d.IntN(3)]), fmt.Sprint("parallelism=", 1+d.IntN(4)), fmt.Sprint("settings.queue=", 1+d.IntN(4))}}
				l := survives(ctx, t, d, base, files, fmt.Sprint("seed ", seed), seed%2 == 1, "")
				cuts, restored = cuts+l.cuts, restored+l.restored
			}
			if restored == 0 && !underRace {
				t.Errorf("%d cuts, none of them behind a checkpoint of the same run", cuts)
			}
		})
	}
}

// someRecords are records of one file, some of them bad.
func someRecords(d dice, format string) []byte {
	var text bytes.Buffer
	csv := format == "csv"
	if csv {
		text.WriteString("v,\"k\",ts\n")
	}
	from, pace := d.IntN(3)*500, []int{5, 20, 50}[d.IntN(3)]
	for i := range 20 + d.IntN(120) {
		k, ts, v := fmt.Sprint("k", d.IntN(4)), 20_000+from+i*pace+d.IntN(1500), d.IntN(8)
		if d.IntN(30) == 0 {
			ts += d.IntN(4000)
		}
		switch {
		case csv && d.IntN(10) == 0:
			text.WriteString(d.one("x,k1,20000\n", "\"1\",\"k\"\"\n\",1\",20100\n", "1,k2\n", "\n", "1,k3,20200\r\n"))
		case csv:
			fmt.Fprintf(&text, "%d,%s,%d\n", v, k, ts)
		case d.IntN(15) == 0:
			text.WriteString(d.one("rubbish\n", "\n", `{"k":"x"}`+"\n", `{"k":"`+strings.Repeat("y", 50+d.IntN(20_000))+`","ts":20000,"v":1}`+"\n"))
		default:
			text.WriteString(record(k, ts, v))
		}
	}
	if d.IntN(2) == 0 {
		return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	}
	return text.Bytes()
}
