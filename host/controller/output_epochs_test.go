package controller

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine/sink"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

// epochJob is the sink of a job that makes a file for each epoch, and what it has done.
type epochJob struct {
	t       *testing.T
	sink    sink.Sink
	written string // whole lines
	seen    string // those that a reader must find, since they are not in a buffer
	epoch   uint64
	pending []byte
}

const epochPath = "/data/out/rows.jsonl"

func newEpochJob(t *testing.T, files env.FS) *epochJob {
	t.Helper()
	s, err := sink.OpenFile(files, epochPath, sink.FileOptions{PerEpoch: true}, sink.Restored{})
	if err != nil {
		t.Fatal(err)
	}
	return &epochJob{t: t, sink: s}
}

// do makes a step: a row, an epoch that is prepared, the commit of the last one.
func (j *epochJob) do(step rune) {
	j.t.Helper()
	var err error
	switch step {
	case 'w':
		row := fmt.Sprintf("row %d\n", len(j.written))
		j.written += row
		if err = j.sink.Write([]byte(row)); err == nil {
			err = j.sink.Flush()
		}
	case 'p':
		j.epoch++
		j.pending, err = j.sink.Prepare(j.epoch, false)
	case 'c':
		err = j.sink.Commit(j.pending)
	}
	if err != nil {
		j.t.Fatal(err)
	}
	j.seen = j.written
}

// rest reads an output from a position on.
func rest(t *testing.T, files env.FS, from int64, ended bool) (text string, next int64, complete bool) {
	t.Helper()
	rows, err := openRows(files, epochPath, from, ended)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(rows)
	if err := errors.Join(err, rows.Close()); err != nil {
		t.Fatal(err)
	}
	return string(b), rows.Next, rows.Complete
}

func TestRowsOfEpochs(t *testing.T) {
	files := sim.NewFS(sim.NewClock(time.Unix(0, 0)))
	if text, next, complete := rest(t, files, 0, false); text != "" || next != 0 || complete {
		t.Errorf("before anything is there: %q, %d, %v", text, next, complete)
	}
	_, err := openRows(files, epochPath, 1, false)
	if !errors.Is(err, fault.ErrUser) {
		t.Errorf("before anything is there, from 1: %v", err)
	}
	j := newEpochJob(t, files)
	at, got := int64(0), "" // of a client that reads on
	for i, step := range "wwppwpcwwpwcwpcpcwwwpc" {
		j.do(step)
		when := fmt.Sprintf("after step %d (%c)", i, step)
		for from := range int64(len(j.seen)) + 1 {
			text, next, complete := rest(t, files, from, false)
			if text != j.seen[from:] || next != int64(len(j.seen)) || complete {
				t.Fatalf("%s, from %d: %q, next %d, complete %v; want %q", when, from, text, next, complete, j.seen[from:])
			}
		}
		more, next, _ := rest(t, files, at, false)
		at, got = next, got+more
		if got != j.seen {
			t.Fatalf("%s a client has %q, want %q", when, got, j.seen)
		}
		for _, from := range []int64{-1, next + 1} {
			if _, err := openRows(files, epochPath, from, false); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), fmt.Sprintf("between 0 and %d", next)) {
				t.Fatalf("%s, from %d: %v", when, from, err)
			}
		}
	}
	if _, _, complete := rest(t, files, 0, true); !complete {
		t.Error("a job that has ended, and has committed all, is not complete")
	}
	j.do('w')
	if _, _, complete := rest(t, files, 0, true); complete {
		t.Error("with rows in progress it is")
	}
	j.do('p')
	if _, _, complete := rest(t, files, 0, true); complete {
		t.Error("with rows that are not decided it is")
	}
}

// A listing may show a file under its old name and its new one.
func TestAnEpochCountsOnce(t *testing.T) {
	if got := epochs(sink.Parts{Published: []uint64{2, 4}, Prepared: []uint64{4, 5}}); !slices.Equal(got, []uint64{2, 4, 5}) {
		t.Errorf("%d", got)
	}
}

// Half a line can be on the disk while a large block is written.
func TestRowsOfAnOpenEpochAreWholeLines(t *testing.T) {
	files := sim.NewFS(sim.NewClock(time.Unix(0, 0)))
	j := newEpochJob(t, files)
	j.do('w')
	j.do('p')
	j.do('c')
	j.do('w')
	parts, err := sink.ListParts(files, epochPath)
	if err != nil {
		t.Fatal(err)
	}
	files.Append(parts.Open, []byte("half a li"))
	if text, next, _ := rest(t, files, 0, false); text != j.seen || next != int64(len(j.seen)) {
		t.Errorf("%q, next %d, want %q", text, next, j.seen)
	}
}

// busy is a file system on which a job goes on whenever somebody looks.
type busy struct {
	env.FS
	look func(op string)
}

func (b busy) Open(name string) (env.File, error) {
	b.look("open")
	return b.FS.Open(name)
}

func (b busy) Stat(name string) (fs.FileInfo, error) {
	b.look("stat")
	return b.FS.Stat(name)
}

func (b busy) ReadDir(name string) ([]fs.DirEntry, error) {
	b.look("readdir")
	return b.FS.ReadDir(name)
}

// A job ends, commits and begins epochs between any two looks at its files: nobody gets
// rows with a gap, or fewer than there were when he asked.
func TestRowsOfEpochsThatMove(t *testing.T) {
	const before = "wpcwpwpcw"
	for _, then := range []string{"c", "p", "pc", "pw", "pcw", "pwp", "pwpc", "pwpcw", "w", "wp", "wpcwpcwpcw"} {
		for first := 0; ; first++ { // look at which the job goes on, with a step at each
			files := sim.NewFS(sim.NewClock(time.Unix(0, 0)))
			j := newEpochJob(t, files)
			for _, step := range before {
				j.do(step)
			}
			had, looks := j.seen, 0
			text, next, _ := rest(t, busy{files, func(string) {
				if n := looks - first; n >= 0 && n < len(then) {
					j.do(rune(then[n]))
				}
				looks++
			}}, 0, false)
			if !strings.HasPrefix(j.seen, text) || len(text) < len(had) || next != int64(len(text)) {
				t.Fatalf("%s from look %d on: %q, next %d; it had %q at first and %q at last", then, first, text, next, had, j.seen)
			}
			if looks <= first { // it has gone on at every one
				if looks < 10 {
					t.Fatalf("only %d looks", looks)
				}
				break
			}
		}
	}
	t.Run("without end", func(t *testing.T) {
		files := sim.NewFS(sim.NewClock(time.Unix(0, 0)))
		j := newEpochJob(t, files)
		_, err := openRows(busy{files, func(op string) {
			if op == "readdir" {
				j.do('w')
				j.do('p')
			}
		}}, epochPath, 0, false)
		if !errors.Is(err, fault.ErrExternal) || !strings.Contains(err.Error(), "ask again") {
			t.Errorf("%v", err)
		}
	})
}
