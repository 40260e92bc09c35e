package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/env"
	"tidemark/internal/sim"
)

const rotatedJob = `version: 1
job: rotated
sources:
  in: {file: {path: "in-*.jsonl"}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 200s}}
steps:
  s: {from: in, key: [k], window: {tumbling: 5s}, aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}}
sinks:
  rows: {from: s, file: {path: out/rows.jsonl}}
`

// logs are files that are written to and rotated, one after the other, each once at most
// before all of it has been read.
type logs struct {
	dice
	files *sim.FS
	whole *sim.FS // all that was ever written, in files that stay
	total int64
	turns [2]int
	may   [2]bool // it may be rotated
}

// write appends some records to a file, and may rotate it in between.
func (l *logs) write() {
	f := l.IntN(2)
	l.append(f)
	if !l.may[f] || l.IntN(3) == 0 {
		return
	}
	l.may[f] = false
	l.turns[f]++
	name := fmt.Sprintf("/job/in-%d.jsonl", f)
	if err := l.files.Rename(name, fmt.Sprintf("%s.%d", name, l.turns[f])); err != nil {
		panic(err)
	}
	l.append(f)
}

// append appends some records to a file.
func (l *logs) append(f int) {
	name := fmt.Sprintf("/job/in-%d.jsonl", f)
	for range 1 + l.IntN(300) {
		line := []byte(record(fmt.Sprint("k", l.IntN(5)), 20_000+l.IntN(60_000), l.IntN(8)))
		l.files.Append(name, line)
		l.whole.Append(name, line)
		l.total++
	}
}

// A job whose files are rotated, while it runs and while it does not, and that is cut off
// again and again, has read each record once in the end.
func TestACutOffOfAJobWhoseFilesAreRotated(t *testing.T) {
	rotations, cuts := 0, 0
	for seed := range uint64(some(20)) {
		synctest.Test(t, func(t *testing.T) {
			d := dice{rand.New(rand.NewPCG(seed, 4))}
			l := &logs{dice: d, files: sim.NewFS(env.Real().Clock), whole: sim.NewFS(env.Real().Clock)}
			l.append(0)
			l.append(1)
			pattern := []string{"in-*.jsonl", "in-*.jsonl*"}[seed%2] // the second one names what is rotated away, too
			a := attempt{yaml: strings.Replace(rotatedJob, `"in-*.jsonl"`, fmt.Sprintf("%q, follow: true", pattern), 1)}
			for runs := 6 + d.IntN(6); ; runs-- {
				for range 1 + d.IntN(3) {
					l.write()
				}
				a.files, a.every = l.files, []int{1, 1, 2, 5}[d.IntN(4)]
				a.set = []string{"settings.batch.rows=3", fmt.Sprint("parallelism=", 1+d.IntN(4))}
				a.stop, a.idle = 0, 5*time.Second // enough for all that there is
				if d.IntN(2) == 0 {
					a.stop = 2 + d.IntN(60)
				}
				var writing sync.WaitGroup
				switch {
				case runs == 0:
					a.drain, a.stop = l.total, 0
				case d.IntN(2) == 0:
					wait := time.Duration(d.IntN(1000)) * time.Millisecond
					writing.Go(func() {
						time.Sleep(wait)
						l.write()
					})
				}
				r, err := a.run(t.Context())
				writing.Wait()
				if err == nil && runs == 0 {
					break
				}
				if !errors.Is(err, errCut) {
					t.Fatalf("seed %d, run %d: %v\n%v", seed, runs, err, l.files.Files())
				}
				cuts++
				if a.stop == 0 && r.report.Sources[0].Read != l.total {
					t.Fatalf("seed %d, run %d: %d records are read of %d; files %v, %+v", seed, runs, r.report.Sources[0].Read, l.total, l.files.Files(), r.report.Sources[0])
				}
				if a.stop == 0 && a.every == 1 { // its last checkpoint has all of that
					l.may = [2]bool{true, true}
				}
				l.files = l.files.Kill()
			}
			rotations += l.turns[0] + l.turns[1]
			base := attempt{files: l.whole, yaml: rotatedJob}
			if _, err := base.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, want := finals(t, a.files), finals(t, base.files); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d: got\n%v\nwant\n%v\nof %v", seed, got, want, l.files.Files())
			}
		})
	}
	t.Logf("%d rotations, %d cuts", rotations, cuts)
	if rotations < some(20)*2 {
		t.Errorf("%d rotations only", rotations)
	}
}
