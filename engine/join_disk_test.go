package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

const bigJoin = `
version: 1
job: t
parallelism: 2
sources:
  in: {file: {path: "records-a.txt"}, format: json, schema: {k: string, note: string}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 2s}}
  other: {file: {path: "records-b.txt"}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 2s}}
steps:
  pairs:
    from: {join: {left: in, right: other, kind: interval, left_key: [k], right_key: [k], between: {lower: -30s, upper: 40s}}}
sinks:
  a: {from: pairs, file: {path: pairs.jsonl}, time_format: ms}
  b: {from: pairs.late, file: {path: late.jsonl}, time_format: ms}
`

// A join keeps more than five times as much as it has memory for: with all of it in memory it
// would go beyond a budget of that size. Rows, late records and the ledger are the same.
func TestAJoinWithItsStateOnDisk(t *testing.T) {
	var a, b strings.Builder
	for i := range 20_000 {
		ts := 4 * i
		if i%100 == 99 {
			ts = max(0, ts-9000)
		}
		if key := i * 7919 % 4999; i%2 == 0 {
			fmt.Fprintf(&a, `{"ts":%d,"k":"key-%d","note":"%d %s"}`+"\n", ts, key, i, strings.Repeat("text ", 60))
		} else {
			fmt.Fprintf(&b, `{"ts":%d,"k":"key-%d","v":%d}`+"\n", ts, key, i)
		}
	}
	files := map[string]string{"records-a.txt": a.String(), "records-b.txt": b.String()}
	const memory = 1 // MiB
	if _, _, err := runBig(t, bigJoin, files, "", fmt.Sprintf("settings.state_budget=%dMiB", 5*memory)); !errors.Is(err, fault.ErrQuota) {
		t.Errorf("in memory it ends with %v: it keeps too little", err)
	}
	want, before, err := runBig(t, bigJoin, files, "")
	if err != nil {
		t.Fatal(err)
	}
	got, after, err := runBig(t, bigJoin, files, t.TempDir(), "settings.state.backend=disk", fmt.Sprintf("settings.state.memory=%dMiB", memory))
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"pairs": 10_000, "late": 50} {
		if len(want[name]) < least || !slices.Equal(got[name], want[name]) {
			t.Errorf("%s has %d lines, want %d, and not the same", name, len(got[name]), len(want[name]))
		}
	}
	if g, w := fmt.Sprint(after.Steps[0].Inputs), fmt.Sprint(before.Steps[0].Inputs); g != w {
		t.Errorf("ledger %s, want %s", g, w)
	}
}

// Wherever a job with an interval join is cut off whose state is on disk, what it leaves behind
// in the end is what a run leaves that nobody has disturbed, and that had all in memory.
func TestACutOffOfAJoinOnDiskChangesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	const yaml = `version: 1
job: t
sources:
  in: {file: {path: "in-*"}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 1s}}
  other: {file: {path: "other-*"}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 500ms}}
steps:
  s: {from: {join: {left: in, right: other, kind: interval, left_fields: [v], right_fields: [v], between: {lower: LOWER, upper: UPPER}}}, key: [k]}
  per_key: {from: s, key: [k], window: {tumbling: 2s}, aggregates: {n: {function: count}}}
sinks:
  out: {from: s, file: {path: out/rows.jsonl}}
  late: {from: s.late, file: {path: out/late.jsonl}}
  counts: {from: per_key, file: {path: out/counts.jsonl}}
`
	onDisk := 0
	jobs := some(15)
	for seed := range uint64(jobs) {
		d := dice{rand.New(rand.NewPCG(seed, 6))}
		bounds := [][2]string{{"-300ms", "200ms"}, {"0s", "2s"}, {"-5s", "-100ms"}, {"-10s", "10s"}}[d.IntN(4)]
		files := sim.NewFS(env.Real().Clock)
		for _, name := range []string{"in", "other"} {
			for f := range 1 + d.IntN(3) {
				files.Put(fmt.Sprintf("/job/%s-%d", name, f), someRecords(d, "json"))
			}
		}
		base := attempt{files: files.Kill(), yaml: strings.NewReplacer("LOWER", bounds[0], "UPPER", bounds[1]).Replace(yaml),
			set: []string{fmt.Sprint("settings.batch.rows=", []int{1, 3, 10}[d.IntN(3)]), fmt.Sprint("parallelism=", 1+d.IntN(4))}}
		disk := t.TempDir()
		survives(ctx, t, d, base, files, fmt.Sprint("seed ", seed), seed%2 == 1, disk)
		used := func(stop int) (is bool) {
			half := base
			half.files, half.disk, half.stop = files.Kill(), disk, stop
			r, err := half.run(ctx)
			if err != nil && !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			for _, s := range r.report.Steps {
				is = is || s.ID == "s" && s.Disk > 0
			}
			return is
		}
		for stop := 20; stop <= 100; stop += 20 { // how far the join has come by then is a matter of chance
			if used(stop) {
				onDisk++
				break
			}
		}
	}
	if onDisk < jobs/2 {
		t.Errorf("of %d joins, %d had something on disk half way", jobs, onDisk)
	}
}
