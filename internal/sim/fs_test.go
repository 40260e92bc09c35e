package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/env"
)

func newFS() *FS { return NewFS(NewClock(time.UnixMilli(1704067200000))) }

// must is for what cannot fail here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// put makes a file of a process: written, and synced if so.
func put(f env.FS, name, content string, sync bool) {
	w := must(f.Create(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644))
	must(io.WriteString(w, content))
	if sync {
		check(w.Sync())
	}
	check(w.Close())
}

// state is all files with their content, in order of names.
func state(f *FS) string {
	var all []string
	for _, name := range f.Files() {
		all = append(all, fmt.Sprintf("%s=%s", name, bytes.ReplaceAll(must(f.Get(name)), []byte{0}, []byte("."))))
	}
	return strings.Join(all, " ")
}

// Each row is what a process does, and all the states in which a loss of power may leave
// it. Every one of them must come about, and no other.
func TestCrash(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(f *FS)
		want []string
	}{
		{"content and name are synced", func(f *FS) {
			put(f, "/d/a", "xyz", true)
			check(f.SyncDir("/d"))
		}, []string{"/d/a=xyz"}},
		{"the name is not synced", func(f *FS) {
			put(f, "/d/a", "xyz", true)
		}, []string{"", "/d/a=xyz"}},
		{"the content is not synced: any part of it", func(f *FS) {
			put(f, "/d/a", "xyz", false)
			check(f.SyncDir("/d"))
		}, []string{"/d/a=", "/d/a=x", "/d/a=xy", "/d/a=xyz"}},
		{"of two writes, the second alone", func(f *FS) {
			w := must(f.Create("/d/a", os.O_WRONLY|os.O_CREATE, 0o644))
			must(io.WriteString(w, "x"))
			must(io.WriteString(w, "y"))
			check(f.SyncDir("/d"))
		}, []string{"/d/a=", "/d/a=x", "/d/a=.y", "/d/a=xy"}},
		{"a write over what was synced", func(f *FS) {
			f.Put("/d/a", []byte("1234"))
			w := must(f.Create("/d/a", os.O_WRONLY, 0))
			must(w.Seek(1, io.SeekStart))
			must(io.WriteString(w, "xy"))
		}, []string{"/d/a=1234", "/d/a=1x34", "/d/a=1xy4"}},
		{"a file cut to nothing", func(f *FS) {
			f.Put("/d/a", []byte("12"))
			w := must(f.Create("/d/a", os.O_WRONLY|os.O_TRUNC, 0))
			must(io.WriteString(w, "x"))
		}, []string{"/d/a=", "/d/a=12", "/d/a=x", "/d/a=x2"}},
		{"a file replaced by a rename", func(f *FS) {
			f.Put("/d/a", []byte("old"))
			put(f, "/d/t", "new", true)
			check(f.SyncDir("/d"))
			check(f.Rename("/d/t", "/d/a"))
		}, []string{"/d/a=old /d/t=new", "/d/a=new"}},
		{"and its directory synced", func(f *FS) {
			f.Put("/d/a", []byte("old"))
			put(f, "/d/t", "new", true)
			check(f.Rename("/d/t", "/d/a"))
			check(f.SyncDir("/d"))
		}, []string{"/d/a=new"}},
		{"replaced before it was written out: the mistake that everybody makes once", func(f *FS) {
			f.Put("/d/a", []byte("old"))
			put(f, "/d/t", "n", false)
			check(f.Rename("/d/t", "/d/a"))
			check(f.SyncDir("/d"))
		}, []string{"/d/a=", "/d/a=n"}},
		{"between two directories, of which one is synced", func(f *FS) {
			f.Put("/d/a", []byte("x"))
			f.Put("/e/b", nil)
			check(f.Rename("/d/a", "/e/a"))
			check(f.SyncDir("/e"))
		}, []string{"/d/a=x /e/b=", "/e/a=x /e/b="}},
		{"or both", func(f *FS) {
			f.Put("/d/a", []byte("x"))
			f.Put("/e/b", nil)
			check(f.Rename("/d/a", "/e/a"))
			check(f.SyncDir("/e"))
			check(f.SyncDir("/d"))
		}, []string{"/e/a=x /e/b="}},
		{"what is synced of a name needs what was before: the second file is there, so the first has moved", func(f *FS) {
			f.Put("/d/a", []byte("1"))
			f.Put("/e/b", nil)
			check(f.Rename("/d/a", "/e/a"))
			put(f, "/d/a", "2", true)
			check(f.SyncDir("/d"))
		}, []string{"/d/a=2 /e/a=1 /e/b="}},
		{"no file is lost between two names", func(f *FS) {
			put(f, "/d/a", "1", true)
			check(f.SyncDir("/d"))
			check(f.Rename("/d/a", "/d/b"))
			put(f, "/d/a", "2", true)
		}, []string{"/d/a=1", "/d/b=1", "/d/a=2 /d/b=1"}},
		{"a removal", func(f *FS) {
			f.Put("/d/a", []byte("x"))
			check(f.Remove("/d/a"))
		}, []string{"", "/d/a=x"}},
		{"a link", func(f *FS) {
			f.Put("/d/a", []byte("x"))
			check(f.Link("/d/a", "/d/b"))
		}, []string{"/d/a=x", "/d/a=x /d/b=x"}},
		{"a directory that was made is a name above it", func(f *FS) {
			check(f.MkdirAll("/d/n", 0o755))
			put(f, "/d/n/a", "x", true)
			check(f.SyncDir("/d/n"))
		}, []string{"", "/d/n/a=x"}},
		{"one that was synced is there with what is in it", func(f *FS) {
			check(f.MkdirAll("/d/n", 0o755))
			check(f.SyncDir("/d"))
			put(f, "/d/n/a", "x", true)
			check(f.SyncDir("/d/n"))
		}, []string{"/d/n/a=x"}},
		{"a Sync that failed is not made good by the next", func(f *FS) {
			w := must(f.Create("/d/a", os.O_WRONLY|os.O_CREATE, 0o644))
			check(f.SyncDir("/d"))
			must(io.WriteString(w, "x"))
			f.Inject(FailNth(1, syscall.EIO, OpSync))
			if err := w.Sync(); !errors.Is(err, syscall.EIO) {
				panic(err)
			}
			must(io.WriteString(w, "y"))
			check(w.Sync())
		}, []string{"/d/a=.y", "/d/a=xy"}},
		{"O_SYNC needs no Sync", func(f *FS) {
			w := must(f.Create("/d/a", os.O_WRONLY|os.O_CREATE|os.O_SYNC, 0o644))
			must(io.WriteString(w, "xyz"))
			check(f.SyncDir("/d"))
		}, []string{"/d/a=xyz"}},
		{"other writers are not in doubt", func(f *FS) {
			f.Put("/d/a", []byte("1"))
			f.Append("/d/a", []byte("2"))
		}, []string{"/d/a=12"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFS()
			check(f.MkdirAll("/d", 0o755))
			f.SyncAll()
			row.do(f)
			found := map[string]uint64{}
			for seed := range uint64(400) {
				got := state(f.Crash(seed))
				if again := state(f.Crash(seed)); again != got {
					t.Fatalf("seed %d gives %q, and then %q", seed, got, again)
				}
				if !slices.Contains(row.want, got) {
					t.Errorf("seed %d: %q", seed, got)
				}
				found[got] = seed
			}
			for _, want := range row.want {
				if _, ok := found[want]; !ok {
					t.Errorf("never: %q", want)
				}
			}
		})
	}
}

// With seed 0 nothing is left but what is durable; and a large write can end at a sector.
func TestCrashLosesByTheSeed(t *testing.T) {
	f := newFS()
	f.Put("/a", []byte("1"))
	w := must(f.Create("/a", os.O_WRONLY|os.O_APPEND, 0))
	must(w.Write(bytes.Repeat([]byte("x"), 3*sector)))
	put(f, "/b", "2", false)
	if got := state(f.Crash(0)); got != "/a=1" {
		t.Errorf("got %q", got)
	}
	sizes := map[int]bool{}
	for seed := range uint64(2000) {
		sizes[len(must(f.Crash(seed).Get("/a")))] = true
	}
	for _, want := range []int{1, sector, 2 * sector, 1 + 3*sector} {
		if !sizes[want] {
			t.Errorf("never cut to %d bytes", want)
		}
	}
	if len(sizes) < 100 {
		t.Errorf("cut to %d sizes only", len(sizes))
	}
}

func TestKillLosesNothingThatWasWritten(t *testing.T) {
	f := newFS()
	f.Put("/a", []byte("1"))
	f.Put("/c", []byte("3"))
	w := must(f.Create("/a", os.O_WRONLY|os.O_APPEND, 0))
	must(io.WriteString(w, "2"))
	check(f.Rename("/c", "/d"))
	put(f, "/b", "x", true)
	const all = "/a=12 /b=x /d=3"
	next := f.Kill()
	if got := state(next); got != all {
		t.Errorf("got %q", got)
	}
	if got := state(next.Crash(0)); got != "/a=1 /c=3" {
		t.Errorf("what was not durable before is so after: %q", got)
	}
	next = f.Kill()
	check(must(next.Create("/a", os.O_WRONLY, 0)).Sync())
	check(next.SyncDir("/"))
	if got := state(next.Crash(0)); got != all {
		t.Errorf("what the next process has synced is lost: %q", got)
	}
}

func TestNothingGoesOnAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(f *FS) *FS{
		"crash": func(f *FS) *FS { return f.Crash(7) },
		"kill":  func(f *FS) *FS { return f.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFS()
			f.Put("/a", []byte("1"))
			w := must(f.Create("/a", os.O_RDWR, 0))
			must(f.Lock("/lock"))
			f.SyncAll()
			next := end(f)
			_, err := w.Write([]byte("2"))
			for _, err := range []error{err, w.Sync(), w.Truncate(0), f.Remove("/a"), f.Rename("/a", "/b")} {
				if !errors.Is(err, ErrGone) {
					t.Errorf("got %v", err)
				}
			}
			if got := state(next); got != "/a=1 /lock=" {
				t.Errorf("found %q", got)
			}
			if _, err := next.Lock("/lock"); err != nil {
				t.Errorf("nobody holds it any more: %v", err)
			}
			before, after := must(f.Stat2("/a")), must(next.Stat("/a"))
			if !env.SameFile(before, after) {
				t.Error("it is another file now")
			}
		})
	}
}

// Stat2 is Stat of a process that has ended.
func (f *FS) Stat2(name string) (fs.FileInfo, error) {
	at, err := f.there(name)
	if err != nil {
		return nil, err
	}
	return f.info(at.node, name), nil
}

// replace is how a file is replaced so that everybody sees the old or the new one.
func replace(f env.FS, name, content string) error {
	w, err := f.Create(name+".t", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, content)
	if err == nil {
		err = w.Sync()
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.Rename(name+".t", name)
	}
	if err == nil {
		err = f.SyncDir(filepath.Dir(name))
	}
	return err
}

// The loop that tests of what is stored are made of: each call fails, or is the last one.
func TestEveryCallInTurn(t *testing.T) {
	old, replaced := strings.Repeat("o", 700), strings.Repeat("n", 900)
	site := func() *FS {
		f := newFS()
		f.Put("/d/a", []byte(old))
		return f
	}
	calls := 0
	for n := 1; ; n++ {
		f := site()
		f.Inject(FailNth(n, syscall.EIO))
		if err := replace(f, "/d/a", replaced); err == nil {
			calls = n - 1
			break
		} else if !errors.Is(err, syscall.EIO) {
			t.Fatalf("call %d: %v", n, err)
		}
		if got := string(must(f.Get("/d/a"))); got != old && n < 6 {
			t.Errorf("call %d failed and the file is %q", n, got)
		}
	}
	if calls != 6 {
		t.Fatalf("%d calls, want create, write, sync, close, rename, syncdir", calls)
	}
	seen := map[string]int{}
	for n := 1; n <= calls; n++ {
		for seed := range uint64(100) {
			f := site()
			f.Inject(HaltNth(n, seed))
			if err := replace(f, "/d/a", replaced); !errors.Is(err, ErrGone) {
				t.Fatalf("call %d: %v", n, err)
			}
			if n := f.Calls(); n > calls {
				t.Fatalf("%d calls", n)
			}
			for _, next := range []*FS{f.Kill(), f.Crash(seed)} {
				got := string(must(next.Get("/d/a")))
				if got != old && got != replaced {
					t.Fatalf("call %d, seed %d: a mixture: %q", n, seed, got)
				}
				seen[got]++
			}
		}
	}
	if seen[old] == 0 || seen[replaced] == 0 {
		t.Errorf("seen: %v", seen)
	}
}

func TestFaults(t *testing.T) {
	for _, row := range []struct {
		name   string
		fault  Fault
		errs   []error // of three writes of three bytes
		counts []int   // of bytes written
		want   string
	}{
		{"none", nil, []error{nil, nil, nil}, []int{3, 3, 3}, "aaabbbccc"},
		{"the second fails", FailNth(2, syscall.EIO, OpWrite), []error{nil, syscall.EIO, nil}, []int{3, 0, 3}, "aaaccc"},
		{"all from the second", FailFrom(2, syscall.ENOSPC, OpWrite), []error{nil, syscall.ENOSPC, syscall.ENOSPC}, []int{3, 0, 0}, "aaa"},
		{"the second is short", ShortNth(2, 1, syscall.EIO), []error{nil, syscall.EIO, nil}, []int{3, 1, 3}, "aaabccc"},
		{"the second is done and fails", func(c Call) Outcome {
			if c.Op == OpWrite && c.Nth == 2 {
				return Outcome{Err: syscall.EIO, Done: true}
			}
			return Outcome{}
		}, []error{nil, syscall.EIO, nil}, []int{3, 3, 3}, "aaabbbccc"},
		{"other calls", FailFrom(1, syscall.EIO, OpRead, OpSync), []error{nil, nil, nil}, []int{3, 3, 3}, "aaabbbccc"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFS()
			if row.fault != nil {
				f.Inject(row.fault)
			}
			w := must(f.Create("/a", os.O_WRONLY|os.O_CREATE, 0o644))
			for i, p := range []string{"aaa", "bbb", "ccc"} {
				n, err := io.WriteString(w, p)
				if !errors.Is(err, row.errs[i]) || n != row.counts[i] {
					t.Errorf("write %d: %d, %v", i+1, n, err)
				}
			}
			if got := string(must(f.Get("/a"))); got != row.want {
				t.Errorf("got %q", got)
			}
			if f.Calls() != 4 || f.Calls(OpWrite) != 3 || f.Calls(OpWrite, OpCreate) != 4 || f.Calls(OpSync) != 0 {
				t.Errorf("counted %d calls", f.Calls())
			}
		})
	}
}

func TestSpaceRunsOut(t *testing.T) {
	f := newFS()
	f.Put("/a", []byte("12345"))
	f.Limit(10)
	w := must(f.Create("/b", os.O_WRONLY|os.O_CREATE, 0o644))
	if n, err := w.Write([]byte("abcdefg")); n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if n, err := w.Write([]byte("h")); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	must(w.Seek(0, io.SeekStart))
	must(w.Write([]byte("ABCDE"))) // no more space than before
	if err := w.Truncate(6); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	must(w.Seek(8, io.SeekStart))
	if n, err := w.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("behind a gap: wrote %d, %v", n, err)
	}
	check(f.Link("/a", "/c"))
	check(f.Remove("/a"))
	if _, err := w.Write([]byte("y")); err == nil {
		t.Fatal("a file that has another name takes space")
	}
	check(f.Rename("/c", "/e"))
	check(f.Remove("/e"))
	if n, err := w.Write([]byte("yz")); n != 2 || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if got := state(f); got != "/b=ABCDE...yz" {
		t.Errorf("got %q", got)
	}
	f.SyncAll()
	next := f.Crash(1)
	w = must(next.Create("/b", os.O_WRONLY|os.O_APPEND, 0))
	if n, err := w.Write([]byte("1")); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("after a crash: wrote %d, %v", n, err)
	}
}

func TestSlowCallsTakeVirtualTime(t *testing.T) {
	clock := NewClock(time.UnixMilli(0))
	f := NewFS(clock)
	f.Put("/a", nil)
	f.Inject(Slow(3*time.Second, OpStat))
	must(f.Stat("/a"))
	must(f.Stat("/a"))
	must(f.Open("/a"))
	if got := clock.Now().UnixMilli(); got != 6000 {
		t.Errorf("took %d ms", got)
	}
}

// What becomes of a call follows from the seed and the call, not from the others.
func TestSeededFaultsDoNotDependOnTheOrder(t *testing.T) {
	o := Odds{Fail: 0.2, Short: 0.2, Slow: 0.2, Errors: []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES}, Delay: time.Minute}
	var calls []Call
	for n := range 300 {
		calls = append(calls, Call{Op: OpWrite, Name: fmt.Sprint("/", n%7), Nth: 1 + n/7, Size: 100})
	}
	outcomes := func(seed uint64) map[Call]Outcome {
		all, fault := map[Call]Outcome{}, Seeded(seed, o)
		for _, c := range calls {
			all[c] = fault(c)
		}
		return all
	}
	first := outcomes(1)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(calls), func(i, k int) { calls[i], calls[k] = calls[k], calls[i] })
	kinds := map[string]int{}
	for c, out := range outcomes(1) {
		if out != first[c] {
			t.Fatalf("%+v: %+v, and in another order %+v", c, out, first[c])
		}
		kinds[fmt.Sprintf("failed %v, short %v, slow %v", out.Err != nil, out.Bytes > 0, out.Delay > 0)]++
	}
	if len(kinds) != 6 {
		t.Errorf("got %v", kinds)
	}
	second := outcomes(2)
	if slices.IndexFunc(calls, func(c Call) bool { return first[c] != second[c] }) < 0 {
		t.Error("another seed changes nothing")
	}
}

func TestLocks(t *testing.T) {
	f := newFS()
	held := must(f.Lock("/lock"))
	if _, err := f.Lock("/lock"); !errors.Is(err, env.ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	check(held.Close())
	if err := held.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	must(f.Lock("/lock"))
}

// A random sequence of calls does the same here as on the machine's own file system.
func TestFSIsLikeTheMachines(t *testing.T) {
	names := []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "a/b", "."}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		dir := t.TempDir()
		mine, real := newFS(), env.Real().FS
		check(mine.MkdirAll(dir, 0o755))
		type both struct{ mine, real env.File }
		var open []both
		for step := range 200 {
			a, b := filepath.Join(dir, names[r.IntN(len(names))]), filepath.Join(dir, names[r.IntN(len(names))])
			if a == dir || b == dir { // nobody removes or renames that
				b = a
			}
			var what string
			var do func(f env.FS, file env.File) (string, error)
			var of both
			switch n := r.IntN(14); {
			case n == 0:
				what = "mkdirall " + a
				do = func(f env.FS, _ env.File) (string, error) { return "", f.MkdirAll(a, 0o755) }
			case n == 1 && a != dir:
				what = "remove " + a
				do = func(f env.FS, _ env.File) (string, error) { return "", f.Remove(a) }
			case n == 2 && a != dir:
				what = "rename " + a + " " + b
				do = func(f env.FS, _ env.File) (string, error) { return "", f.Rename(a, b) }
			case n == 3:
				what = "link " + a + " " + b
				do = func(f env.FS, _ env.File) (string, error) { return "", f.Link(a, b) }
			case n <= 6:
				flags := []int{os.O_WRONLY | os.O_CREATE, os.O_RDWR | os.O_CREATE | os.O_TRUNC, os.O_RDWR, os.O_WRONLY | os.O_CREATE | os.O_EXCL, os.O_RDWR | os.O_CREATE | os.O_APPEND, os.O_RDONLY}
				flag := flags[r.IntN(len(flags))]
				what = fmt.Sprintf("open %s %#x", a, flag)
				var pair both
				do = func(f env.FS, _ env.File) (string, error) {
					file, err := f.Create(a, flag, 0o644)
					if f == real {
						pair.real = file
					} else {
						pair.mine = file
					}
					return "", err
				}
				got, want := result(do(mine, nil)), result(do(real, nil))
				if got != want {
					t.Fatalf("seed %d, step %d: %s: %s, on the machine %s", seed, step, what, got, want)
				}
				if want != `"" <nil>` {
					continue
				}
				if must(pair.real.Stat()).IsDir() { // what can be done with it is the system's affair
					check(errors.Join(pair.mine.Close(), pair.real.Close()))
					continue
				}
				open = append(open, pair)
				continue
			case n == 7:
				what = "stat " + a
				do = func(f env.FS, _ env.File) (string, error) {
					info, err := f.Stat(a)
					if err != nil || info.IsDir() {
						return "", err
					}
					return fmt.Sprint(info.Name(), info.Size(), info.Mode()), nil
				}
			case n == 8:
				what = "readdir " + a
				do = func(f env.FS, _ env.File) (string, error) {
					entries, err := f.ReadDir(a)
					return fmt.Sprint(entries), err
				}
			case n == 9:
				pattern := filepath.Join(dir, []string{"*", "d/*", "*/a", "?", "d/[a-c]", "a", "d/e/*"}[r.IntN(7)])
				what = "glob " + pattern
				do = func(f env.FS, _ env.File) (string, error) {
					names, err := f.Glob(pattern)
					return fmt.Sprint(names), err
				}
			case len(open) == 0:
				continue
			default:
				of = open[r.IntN(len(open))]
				text, size, back := fmt.Sprint("text", step), int64(r.IntN(12)), -int64(r.IntN(5))
				switch r.IntN(6) {
				case 0:
					what = "write"
					do = func(_ env.FS, file env.File) (string, error) { return count(io.WriteString(file, text)) }
				case 1:
					what = "read"
					do = func(_ env.FS, file env.File) (string, error) {
						p := make([]byte, size)
						n, err := file.Read(p)
						return string(p[:max(0, n)]), err
					}
				case 2:
					what = "seek"
					do = func(_ env.FS, file env.File) (string, error) {
						pos, err := file.Seek(back, io.SeekEnd)
						return fmt.Sprint(pos), err
					}
				case 3:
					what = "truncate"
					do = func(_ env.FS, file env.File) (string, error) { return "", file.Truncate(size) }
				case 4:
					what = "fstat"
					do = func(_ env.FS, file env.File) (string, error) {
						info, err := file.Stat()
						if err != nil || info.IsDir() {
							return "", err
						}
						return fmt.Sprint(info.Name(), info.Size()), nil
					}
				default:
					what = "close"
					do = func(_ env.FS, file env.File) (string, error) { return "", file.Close() }
				}
				what += " " + of.mine.Name()
			}
			if got, want := result(do(mine, of.mine)), result(do(real, of.real)); got != want {
				t.Fatalf("seed %d, step %d: %s: %s, on the machine %s", seed, step, what, got, want)
			}
		}
		for _, o := range open {
			_, _ = o.mine.Close(), o.real.Close()
		}
		for _, name := range mine.Files() {
			if want := must(os.ReadFile(name)); !bytes.Equal(must(mine.Get(name)), want) {
				t.Errorf("seed %d: %s is %q, on the machine %q", seed, name, must(mine.Get(name)), want)
			}
		}
	}
}

func count(n int, err error) (string, error) { return fmt.Sprint(n), err }

// result is what a call gave, as far as callers tell errors apart.
func result(v string, err error) string {
	var number syscall.Errno
	var link *os.LinkError
	switch {
	case errors.As(err, &number):
		v, err = fmt.Sprintf("link error %v", errors.As(err, &link)), number
	case errors.Is(err, fs.ErrClosed):
		err = fs.ErrClosed
	}
	return fmt.Sprintf("%q %v", v, err)
}
