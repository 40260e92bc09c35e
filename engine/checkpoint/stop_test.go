package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

// directory is where the checkpoints of these tests are. It is made by the first start.
const directory = "/state/checkpoints/orders"

// cutOf is the sections of a checkpoint, which all but the first say which one it is. One
// of them is large.
func cutOf(name string) []Section {
	var cut []Section
	for i, size := range []int{9, 3, bufferSize / 2, 5, 0} {
		cut = append(cut, Section{Operator: "sum", Kind: KindGroup, Number: uint32(i), Body: bytes.Repeat([]byte(name), size/len(name)+1)})
	}
	cut[0].Body = []byte("unchanged since the first one")
	return cut
}

// which returns the name of the cut that a checkpoint is, and fails for a mixture.
func which(t *testing.T, c *Checkpoint) string {
	t.Helper()
	if c == nil {
		return "none"
	}
	var got []Section
	for s, err := range c.Sections(t.Context(), "sum", KindGroup) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	for _, name := range []string{"first", "saved", "second", "third", "fourth"} {
		if slices.EqualFunc(got, cutOf(name), func(a, b Section) bool {
			return a.Number == b.Number && bytes.Equal(a.Body, b.Body)
		}) {
			return name
		}
	}
	t.Fatal("a mixture")
	return ""
}

// publish takes the checkpoint of a name, sharing with an earlier one what has not changed.
func publish(ctx context.Context, l *Log, k Kind, name string, earlier *Checkpoint) (*Checkpoint, error) {
	w := l.Begin(Meta{Kind: k})
	write := func() error {
		cut := cutOf(name)
		if earlier != nil {
			if err := w.Reuse(earlier.Find("sum", KindGroup)[0]); err != nil {
				return err
			}
			cut = cut[1:]
		}
		for _, s := range cut {
			if err := w.Add(ctx, s); err != nil {
				return err
			}
		}
		return w.Publish(ctx)
	}
	if err := write(); err != nil {
		return nil, errors.Join(err, w.Abandon(ctx))
	}
	return w.Checkpoint(), nil
}

// story is what a start of the job does in these tests: it goes on from what there is, and
// takes checkpoints. done tells how far it came for certain, one of the cuts or "none".
func story(ctx context.Context, l *Log) (done string, err error) {
	done = "none"
	if err := l.Claim(ctx); err != nil {
		return done, err
	}
	last, _, err := l.Last(ctx)
	if err != nil {
		return done, err
	}
	if last != nil {
		return done, errors.New("there should be nothing yet")
	}
	if err := l.Retain(ctx, 1); err != nil {
		return done, err
	}
	first, err := publish(ctx, l, Periodic, "first", nil)
	if err != nil {
		return done, err
	}
	done = "first"
	if _, err := publish(ctx, l, Savepoint, "saved", nil); err != nil {
		return done, err
	}
	done = "saved"
	if _, err := publish(ctx, l, Periodic, "second", first); err != nil {
		return done, err
	}
	done = "second"
	if err := l.Retain(ctx, 1); err != nil {
		return done, err
	}
	if _, err := publish(ctx, l, Periodic, "third", nil); err != nil {
		return done, err
	}
	done = "third"
	return done, l.Retain(ctx, 1)
}

// after are the checkpoints that may be the last when so much was certain: that, or what
// was under way.
var after = map[string][]string{
	"none": {"none", "first"}, "first": {"first"}, "saved": {"first", "second"}, "second": {"second", "third"}, "third": {"third"},
}

// recovers checks what the next start finds, and lets it go on.
func recovers(t *testing.T, disk *sim.FS, done string) {
	t.Helper()
	ctx := t.Context()
	l := Open(OpenLocal(disk, directory), rand.Reader)
	if err := l.Claim(ctx); err != nil {
		t.Fatal(err)
	}
	last, warnings, err := l.Last(ctx)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%q %v", warnings, err)
	}
	if got := which(t, last); !slices.Contains(after[done], got) {
		t.Fatalf("goes on from %s, want one of %q", got, after[done])
	}
	intact(t, l, done != "none" && done != "first")
	if last, err = publish(ctx, l, Periodic, "fourth", last); err != nil {
		t.Fatal(err)
	}
	if err := l.Retain(ctx, 1); err != nil {
		t.Fatal(err)
	}
	tidy(t, disk, l)
	if got := which(t, last); got != "fourth" {
		t.Fatalf("it became %s", got)
	}
}

// intact checks that all checkpoints that there are can be loaded, with the savepoint if
// there must be one.
func intact(t *testing.T, l *Log, saved bool) {
	t.Helper()
	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		c, err := l.Load(t.Context(), e.Meta.ID)
		if err != nil {
			t.Fatal(err)
		}
		got := which(t, c)
		if (got == "saved") != (e.Meta.Kind == Savepoint) {
			t.Fatalf("the %s one is %s", e.Meta.Kind, got)
		}
		saved = saved && got != "saved"
	}
	if saved {
		t.Fatal("the savepoint is gone")
	}
}

// tidy checks that there is no file but those that the checkpoints consist of, one claim
// and the lock.
func tidy(t *testing.T, disk *sim.FS, l *Log) {
	t.Helper()
	list, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{path.Join(directory, lockFile): true, path.Join(directory, logName(l.generation)): true}
	for _, e := range list {
		c, err := l.Load(t.Context(), e.Meta.ID)
		if err != nil {
			t.Fatal(err)
		}
		want[c.Path()] = true
		for _, r := range c.Refs() {
			want[path.Join(directory, r.File())] = true
		}
	}
	for _, name := range disk.Files() {
		if !want[name] {
			t.Fatalf("%s is left over; there should be %v", name, want)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Fatalf("missing: %v", want)
	}
}

func newDisk() *sim.FS { return sim.NewFS(sim.NewClock(time.Unix(1_700_000_000, 0))) }

// calls is how many calls of the file system the story makes when nothing is wrong.
func calls(t *testing.T) int {
	t.Helper()
	disk := newDisk()
	if done, err := story(t.Context(), Open(OpenLocal(disk, directory), rand.Reader)); err != nil || done != "third" {
		t.Fatal(done, err)
	}
	n := disk.Calls()
	if n < 50 {
		t.Fatalf("only %d calls: these tests show little", n)
	}
	return n
}

// TestStopAtEveryCall ends the process at each call of the file system, one after the
// other, before it, in the middle of it, or after it, and then the machine's power fails,
// or does not (the process is killed only). The next start finds the old checkpoint or the
// new one.
func TestStopAtEveryCall(t *testing.T) {
	for n := 1; n <= calls(t); n++ {
		for how, out := range map[string]sim.Outcome{"before": {Halt: true}, "after": {Halt: true, Done: true}, "amid": {Halt: true, Bytes: 11}} {
			disk, op := newDisk(), sim.Op("")
			count := 0
			disk.Inject(func(c sim.Call) sim.Outcome {
				if count++; count == n {
					op = c.Op
					return out
				}
				return sim.Outcome{}
			})
			done, err := story(t.Context(), Open(OpenLocal(disk, directory), rand.Reader))
			if !errors.Is(err, sim.ErrGone) && done != "third" {
				t.Fatalf("call %d, %s: %v", n, how, err)
			}
			if how == "amid" && op != sim.OpWrite || how == "after" && !slices.Contains(sim.Changes(), op) {
				continue // the same as before it
			}
			t.Run(fmt.Sprintf("%s call %d (%s), killed", how, n, op), func(t *testing.T) { recovers(t, disk.Kill(), done) })
			if how == "before" {
				continue // power fails as after the change before it
			}
			for seed := range uint64(16) {
				t.Run(fmt.Sprintf("%s call %d (%s), without power, seed %d", how, n, op, seed), func(t *testing.T) {
					recovers(t, disk.Crash(seed), done)
				})
			}
			if t.Failed() {
				return
			}
		}
	}
}

// TestEveryCallMayFail lets one call fail, and the same process go on: what it had stays
// intact, and the next attempt succeeds.
func TestEveryCallMayFail(t *testing.T) {
	for n := 1; n <= calls(t); n++ {
		for _, bytes := range []int{0, 11} {
			t.Run(fmt.Sprintf("call %d after %d bytes", n, bytes), func(t *testing.T) {
				disk := newDisk()
				count := 0
				disk.Inject(func(c sim.Call) sim.Outcome {
					if count++; count == n {
						return sim.Outcome{Err: syscall.EIO, Bytes: min(bytes, c.Size)}
					}
					return sim.Outcome{}
				})
				ctx := t.Context()
				l := Open(OpenLocal(disk, directory), rand.Reader)
				done, err := story(ctx, l)
				if err != nil && (!errors.Is(err, syscall.EIO) || !errors.Is(err, fault.ErrExternal)) {
					t.Fatalf("%v: it is nobody's fault but the disk's", err)
				}
				if l.generation == 0 {
					if err := l.Claim(ctx); err != nil {
						t.Fatal(err)
					}
				}
				last, warnings, err := Open(OpenLocal(disk, directory), rand.Reader).Last(ctx)
				if err != nil || len(warnings) > 0 {
					t.Fatalf("%q %v", warnings, err)
				}
				if got := which(t, last); !slices.Contains(after[done], got) {
					t.Fatalf("the last is %s, want one of %q", got, after[done])
				}
				intact(t, l, done != "none" && done != "first")
				if last, err = publish(ctx, l, Periodic, "fourth", nil); err != nil {
					t.Fatal(err)
				}
				if got := which(t, last); got != "fourth" {
					t.Fatalf("it became %s", got)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				after := disk.Crash(0)
				next := Open(OpenLocal(after, directory), rand.Reader)
				if err := next.Claim(ctx); err != nil {
					t.Fatal(err)
				}
				if err := next.Retain(ctx, 1); err != nil {
					t.Fatal(err)
				}
				tidy(t, after, next)
			})
		}
	}
}

// TestAFullDisk lets the space run out at every few bytes of a checkpoint.
func TestAFullDisk(t *testing.T) {
	ctx := t.Context()
	size := int64(0)
	for _, s := range cutOf("second") {
		size += int64(len(s.Body))
	}
	for room := int64(0); room < size; room += size / 29 {
		disk := newDisk()
		l := Open(OpenLocal(disk, directory), rand.Reader)
		if done, err := story(ctx, l); err != nil {
			t.Fatal(done, err)
		}
		used := int64(0)
		for _, name := range disk.Files() {
			data, err := disk.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			used += int64(len(data))
		}
		disk.Limit(used + room)
		for range 3 {
			if _, err := publish(ctx, l, Periodic, "fourth", nil); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, fault.ErrExternal) {
				t.Fatalf("with room for %d of %d bytes: %v", room, size, err)
			}
			last, warnings, err := l.Last(ctx)
			if err != nil || len(warnings) > 0 || which(t, last) != "third" {
				t.Fatal(warnings, err)
			}
			tidy(t, disk, l) // attempts give their room back
		}
		disk.Limit(0)
		if _, err := publish(ctx, l, Periodic, "fourth", nil); err != nil {
			t.Fatal(err)
		}
	}
}
