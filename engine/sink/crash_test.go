package sink_test

import (
	"fmt"
	"path"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/engine/job"
	"tidemark/engine/sink"
	"tidemark/internal/sim"
)

// epochOfJob is what a job does in one epoch.
type epochOfJob struct {
	rows    [2]string // of its two sinks
	decided bool      // else its checkpoint fails, and the rows go with the next one
}

// course is the life of a job: epochs from 1 on, of which the last is decided.
type course []epochOfJob

// short and long are courses; the long one has more rows in an epoch than a buffer takes.
var (
	short = course{
		{[2]string{"a1\n", "b1\n"}, true},
		{[2]string{"a2\n", ""}, false},
		{[2]string{"a3\n", "b3\n"}, true},
		{[2]string{"", "b4\n"}, true},
	}
	long = course{
		{[2]string{"a1\n", "b1\n"}, true},
		{[2]string{"a2\n", ""}, false},
		{[2]string{strings.Repeat("a3, a row of some length\n", 12_000), "b3\n"}, true},
		{[2]string{"", ""}, true},
		{[2]string{"a5\n", "b5\n"}, true},
	}
)

// targets are in one directory, which the job makes.
var targets = [2]string{"/job/out/rows.jsonl", "/job/out/late"}

// decision is what a job knows after a restart: it stands for the manifest.
type decision struct {
	epoch   int // 0: none
	pending [2][]byte
}

// live is one process of the job: it goes on behind what was decided, until the end or
// an error. What it decides is kept in d.
func (c course) live(fs *sim.FS, o sink.FileOptions, d *decision) error {
	var sinks [2]sink.Sink
	for i := range sinks {
		var err error
		if sinks[i], err = sink.OpenFile(fs, targets[i], o, sink.Restored{Epoch: uint64(d.epoch), Pending: d.pending[i]}); err != nil {
			return err
		}
		defer sinks[i].Abort()
	}
	for n := d.epoch + 1; n <= len(c); n++ {
		e := c[n-1]
		next := decision{epoch: n}
		for i, s := range sinks {
			if err := s.Write([]byte(e.rows[i])); err != nil {
				return err
			}
		}
		for i, s := range sinks {
			var err error
			if next.pending[i], err = s.Prepare(uint64(n), n == len(c)); err != nil {
				return err
			}
		}
		if !e.decided {
			continue
		}
		*d = next
		for i, s := range sinks {
			if err := s.Commit(d.pending[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// expected are the files that a reader finds when so much was decided and committed.
func (c course) expected(o sink.FileOptions, epoch int) map[string]string {
	out := map[string]string{}
	for n, e := range c[:epoch] {
		for i, rows := range e.rows {
			switch {
			case o.PerEpoch && rows != "":
				out[job.EpochFile(targets[i], uint64(n+1))] = rows
			case !o.PerEpoch && epoch == len(c):
				out[targets[i]] += rows
			}
		}
	}
	return out
}

// looks compares what a reader finds with what was decided: nothing else, nothing by
// halves, and, after all commits, all of it.
func (c course) looks(t *testing.T, fs *sim.FS, o sink.FileOptions, d *decision, all bool, when string) {
	t.Helper()
	want := c.expected(o, d.epoch)
	found := 0
	for _, name := range fs.Files() {
		if base := path.Base(name); strings.HasPrefix(base, ".") || strings.HasSuffix(base, ".inprogress") {
			continue
		}
		content, err := fs.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		rows, ok := want[name]
		if !ok || string(content) != rows {
			t.Fatalf("%s: epoch %d is decided, and %s has %s, want %s", when, d.epoch, name, shown(string(content)), shown(rows))
		}
		found++
	}
	if all && found != len(want) {
		t.Fatalf("%s: %d files, want %d: %q", when, found, len(want), fs.Files())
	}
}

func shown(s string) string {
	if len(s) > 100 {
		return fmt.Sprintf("%d bytes, %.40q…", len(s), s)
	}
	return fmt.Sprintf("%q", s)
}

// complete checks that the job has ended, that it has left nothing in progress, and that
// its files outlive a loss of power.
func (c course) complete(t *testing.T, fs *sim.FS, o sink.FileOptions, d *decision, when string) {
	t.Helper()
	if d.epoch != len(c) {
		t.Fatalf("%s: the last decided epoch is %d of %d", when, d.epoch, len(c))
	}
	c.looks(t, fs, o, d, true, when)
	for _, name := range fs.Files() {
		if strings.HasSuffix(name, ".inprogress") {
			t.Fatalf("%s: %s is left", when, name)
		}
	}
	c.looks(t, fs.Crash(0), o, d, true, when+", and a loss of power")
}

// stop is a way in which a call of the file system goes wrong, and what the next process
// finds then.
type stop struct {
	name  string
	fault func(n int) sim.Fault
	next  func(*sim.FS) *sim.FS
}

var (
	failed    = stop{"an error", func(n int) sim.Fault { return sim.FailNth(n, syscall.EIO) }, same}
	full      = stop{"no space from then on", func(n int) sim.Fault { return sim.FailFrom(n, syscall.ENOSPC, sim.Changes()...) }, same}
	cutShort  = stop{"an error after a part of a write", func(n int) sim.Fault { return sim.ShortNth(n, 7, syscall.EIO) }, same}
	killed    = stop{"a kill before it", halt(false), (*sim.FS).Kill}
	killedBy  = stop{"a kill after it", halt(true), (*sim.FS).Kill}
	dark      = stop{"a loss of power before it", halt(false), crash(0)}
	darkAfter = stop{"a loss of power after it", halt(true), crash(0)}
)

// same is for a job that starts again in the process that has failed.
func same(fs *sim.FS) *sim.FS {
	fs.Inject()
	return fs
}

func halt(done bool) func(n int) sim.Fault {
	return func(n int) sim.Fault {
		calls := 0
		return func(sim.Call) sim.Outcome {
			if calls++; calls == n {
				return sim.Outcome{Halt: true, Done: done}
			}
			return sim.Outcome{}
		}
	}
}

func crash(seed uint64) func(*sim.FS) *sim.FS {
	return func(fs *sim.FS) *sim.FS { return fs.Crash(seed) }
}

var kinds = []struct {
	name    string
	options sink.FileOptions
}{{"one file", sink.FileOptions{}}, {"a file for each epoch", perEpoch}}

func newDisk() *sim.FS { return sim.NewFS(sim.NewClock(time.Unix(0, 0))) }

// each lets a process run once for each n, with its n-th call going wrong, and ends when a
// run had none of that number.
func (c course) each(t *testing.T, s stop, o sink.FileOptions, before func() (*sim.FS, decision), then func(n int, fs *sim.FS, d decision)) {
	t.Helper()
	for n := 1; ; n++ {
		fs, d := before()
		calls := fs.Calls()
		fs.Inject(s.fault(n))
		err := c.live(fs, o, &d)
		if err == nil && fs.Calls()-calls < n {
			return
		}
		then(n, s.next(fs), d)
	}
}

// TestStopAtEveryCall lets a job's n-th call of the file system go wrong, for every n.
// What readers find then is of decided epochs, whole. The restart behind what was decided
// brings the same files as a run that nothing has disturbed.
func TestStopAtEveryCall(t *testing.T) {
	stops := []stop{failed, full, cutShort, killed, killedBy, dark, darkAfter}
	for seed := range uint64(4) {
		stops = append(stops, stop{fmt.Sprintf("a loss of power that keeps a part (%d)", seed+1), halt(true), crash(seed + 1)})
	}
	for _, kind := range kinds {
		for _, s := range stops {
			t.Run(kind.name+"/"+s.name, func(t *testing.T) {
				times := 0
				long.each(t, s, kind.options, func() (*sim.FS, decision) { return newDisk(), decision{} }, func(n int, fs *sim.FS, d decision) {
					when := fmt.Sprintf("call %d", n)
					long.looks(t, fs, kind.options, &d, false, when)
					if err := long.live(fs, kind.options, &d); err != nil {
						t.Fatalf("%s: restart: %v", when, err)
					}
					long.complete(t, fs, kind.options, &d, when+", then a restart")
					times++
				})
				if times < 20 {
					t.Errorf("only %d calls went wrong", times)
				}
			})
		}
	}
}

// TestStopTwice is the same for the restart: each of its calls goes wrong after each of the
// first process.
func TestStopTwice(t *testing.T) {
	for _, kind := range kinds {
		for _, both := range [][2]stop{{killedBy, darkAfter}, {darkAfter, killedBy}} {
			t.Run(kind.name+"/"+both[0].name+", then "+both[1].name, func(t *testing.T) {
				twice(t, kind.options, both[0], both[1])
			})
		}
	}
}

func twice(t *testing.T, o sink.FileOptions, first, second stop) {
	times := 0
	short.each(t, first, o, func() (*sim.FS, decision) { return newDisk(), decision{} }, func(n int, _ *sim.FS, _ decision) {
		again := func() (*sim.FS, decision) { // up to where the first process has ended
			fs, d := newDisk(), decision{}
			fs.Inject(first.fault(n))
			_ = short.live(fs, o, &d)
			return first.next(fs), d
		}
		short.each(t, second, o, again, func(m int, fs *sim.FS, d decision) {
			when := fmt.Sprintf("call %d of the first process, %d of the second", n, m)
			short.looks(t, fs, o, &d, false, when)
			if err := short.live(fs, o, &d); err != nil {
				t.Fatalf("%s: restart: %v", when, err)
			}
			short.complete(t, fs, o, &d, when+", then a restart")
			times++
		})
	})
	if times < 400 {
		t.Errorf("only %d pairs of calls went wrong", times)
	}
}

// TestStopWhileGoingBack has a job that was complete go on from an older checkpoint, with
// epochs that bring other rows, or none. Whatever call goes wrong, what readers find in the
// end is of these.
func TestStopWhileGoingBack(t *testing.T) {
	rows, none := epochOfJob{[2]string{"a\n", "b\n"}, true}, epochOfJob{decided: true}
	others := epochOfJob{[2]string{"", "another b\n"}, true}
	for _, c := range []struct {
		name        string
		first, then course
		back        int // the epoch that it goes on from
	}{
		{"to rows", course{rows, rows, rows}, course{rows, others, none, none}, 1},
		{"to none, with none behind it", course{rows, none, rows, rows}, course{rows, none, none, none, none}, 2},
	} {
		again := func() (*sim.FS, decision) {
			fs, d := newDisk(), decision{}
			if err := c.first[:c.back].live(fs, perEpoch, &d); err != nil {
				t.Fatal(err)
			}
			all := d
			if err := c.first.live(fs, perEpoch, &all); err != nil {
				t.Fatal(err)
			}
			fs.SyncAll()
			return fs, d
		}
		for _, s := range []stop{failed, killed, killedBy, dark, darkAfter} {
			t.Run(c.name+"/"+s.name, func(t *testing.T) {
				times := 0
				c.then.each(t, s, perEpoch, again, func(n int, fs *sim.FS, d decision) {
					when := fmt.Sprintf("call %d", n)
					if err := c.then.live(fs, perEpoch, &d); err != nil {
						t.Fatalf("%s: restart: %v", when, err)
					}
					c.then.complete(t, fs, perEpoch, &d, when+", then a restart")
					times++
				})
				if times < 10 {
					t.Errorf("only %d calls went wrong", times)
				}
			})
		}
	}
}
