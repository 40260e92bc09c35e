package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// noSync makes files quick: what a crash would take is not the subject here.
type noSync struct{ env.FS }

type noSyncFile struct{ env.File }

func (noSyncFile) Sync() error { return nil }

func (f noSync) Create(name string, flag int, perm os.FileMode) (env.File, error) {
	file, err := f.FS.Create(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return noSyncFile{file}, nil
}

func (noSync) SyncDir(string) error { return nil }

// unlocked is a store that cannot tell who lives, as object storage cannot.
type unlocked struct{ Store }

func (unlocked) Lock(context.Context) (io.Closer, error) { return io.NopCloser(nil), nil }

func testStore(t *testing.T) Store { return OpenLocal(noSync{env.Real().FS}, t.TempDir()) }

func claimed(t *testing.T, s Store) *Log {
	t.Helper()
	l := Open(s, rand.Reader)
	if err := l.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// take publishes a checkpoint with a section of the given body.
func take(t *testing.T, l *Log, k Kind, body string) *Checkpoint {
	t.Helper()
	w := begin(t, l, k, body)
	if err := w.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.Checkpoint()
}

func begin(t *testing.T, l *Log, k Kind, body string) *Writer {
	t.Helper()
	w := l.Begin(Meta{Kind: k, Job: "orders"})
	if err := w.Add(t.Context(), Section{Operator: "sum", Kind: KindGroup, Number: 1, Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
	return w
}

// content is the body that take wrote.
func content(t *testing.T, c *Checkpoint) string {
	t.Helper()
	if c == nil {
		return "none"
	}
	for s, err := range c.Sections(t.Context(), "sum", KindGroup) {
		if err != nil {
			t.Fatal(err)
		}
		return string(s.Body)
	}
	t.Fatal("no section")
	return ""
}

// last is the content of the checkpoint that a new start would go on from.
func last(t *testing.T, s Store) string {
	t.Helper()
	c, warnings, err := Open(s, rand.Reader).Last(t.Context())
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	return content(t, c)
}

func names(t *testing.T, s Store, prefix string) []string {
	t.Helper()
	names, err := s.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestWhatIsPublishedIsRead(t *testing.T) {
	s := testStore(t)
	l := claimed(t, s)
	meta := Meta{
		Kind: Periodic, Job: "orders", Plan: "ab12", Taken: 1_700_000_000_000, FirstStart: -5, MaxParallelism: 128,
		Operators: []OperatorInfo{{"sum", "window", 4, "tumbling 1m"}, {"in", "source", 1, ""}},
		Plugins:   []PluginInfo{{"stats", "sha256:00", 7}},
		Summary:   []KeyValue{{"keys", "12"}, {"watermark", "2024-01-01T00:00:00Z"}},
	}
	w := l.Begin(meta)
	meta.ID, meta.Generation = w.Meta().ID, w.Meta().Generation
	// Sizes around those at which the writer does otherwise, written out of order.
	sizes := []int{0, 1, 100, bufferSize/2 - 1, bufferSize / 2, bufferSize, 3 * bufferSize}
	var want []Section
	for i, size := range sizes {
		for _, op := range []string{"", "a", "ab"} {
			want = append(want, Section{Operator: op, Kind: KindGroup, Number: uint32(len(sizes) - i), Version: uint16(i), Body: bytes.Repeat([]byte{byte(i), 'x'}, size/2+1)[:size]})
		}
	}
	want = append(want, Section{Operator: "ab", Kind: KindTask, Body: []byte("task")})
	for _, section := range want {
		if err := w.Add(t.Context(), section); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, _, err := Open(s, rand.Reader).Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c.Meta, meta) {
		t.Errorf("meta %+v, want %+v", c.Meta, meta)
	}
	slices.SortFunc(want, func(a, b Section) int {
		return Ref{Operator: a.Operator, Kind: a.Kind, Number: a.Number}.compare(Ref{Operator: b.Operator, Kind: b.Kind, Number: b.Number})
	})
	for _, op := range []string{"", "a", "ab", "abc"} {
		for _, kind := range []string{KindGroup, KindTask, "grouq"} {
			var got, some []Section
			for section, err := range c.Sections(t.Context(), op, kind) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, section)
			}
			for _, section := range want {
				if section.Operator == op && section.Kind == kind {
					some = append(some, section)
				}
			}
			if len(got) != len(some) {
				t.Fatalf("%s %s: %d sections, want %d", op, kind, len(got), len(some))
			}
			for i := range got {
				if got[i].Number != some[i].Number || got[i].Version != some[i].Version || got[i].Operator != op || !bytes.Equal(got[i].Body, some[i].Body) {
					t.Errorf("section %d of %s: another one", some[i].Number, op)
				}
			}
		}
	}
}

func TestAZombieIsFenced(t *testing.T) {
	s := unlocked{testStore(t)}
	zombie := claimed(t, s)
	take(t, zombie, Periodic, "first")
	w := begin(t, zombie, Periodic, "never")

	l := claimed(t, s)
	if got := last(t, s); got != "first" {
		t.Fatalf("goes on from %s", got)
	}
	fenced := func(when string, err error) {
		t.Helper()
		if !errors.Is(err, ErrFenced) || !errors.Is(err, fault.ErrConflict) {
			t.Errorf("%s: %v, want ErrFenced", when, err)
		}
	}
	before := names(t, s, "")
	fenced("retain", zombie.Retain(t.Context(), 1))
	fenced("delete", zombie.Delete(t.Context(), 1))
	if after := names(t, s, ""); !slices.Equal(before, after) {
		t.Errorf("the zombie left %q of %q", after, before)
	}
	fenced("publish after a later claim", w.Publish(t.Context()))
	if err := w.Abandon(t.Context()); err != nil {
		t.Error(err)
	}

	// The number that the zombie would take becomes free again.
	for i := range 5 {
		take(t, l, Periodic, fmt.Sprint("later ", i))
		if err := l.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Retain(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
	w = begin(t, zombie, Periodic, "never")
	if name := logName(zombie.last + 1); slices.Contains(names(t, s, ""), name) {
		t.Fatalf("%s is still there: this test shows nothing", name)
	}
	fenced("publish at a free number", w.Publish(t.Context()))
	if got := last(t, s); got != "later 4" {
		t.Errorf("goes on from %s", got)
	}
	// What the zombie has left goes like any other old checkpoint.
	take(t, l, Periodic, "end")
	if err := l.Retain(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s, ""); len(got) != 3 { // claim, manifest, data
		t.Errorf("left: %q", got)
	}
}

func TestAnEarlierClaimInTheSameProcessIsFenced(t *testing.T) {
	l := claimed(t, testStore(t))
	w := begin(t, l, Periodic, "never")
	if err := l.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("%v, want ErrFenced", err)
	}
	take(t, l, Periodic, "next")
	if err := w.Abandon(t.Context()); err != nil {
		t.Error(err)
	}
	take(t, l, Periodic, "one after")
}

func TestADirectoryHasOneProcess(t *testing.T) {
	s := testStore(t)
	l := claimed(t, s)
	take(t, l, Periodic, "a")
	second := Open(OpenLocal(env.Real().FS, s.Path("")), rand.Reader)
	err := second.Claim(t.Context())
	if !errors.Is(err, fault.ErrConflict) || !strings.Contains(err.Error(), s.Path("")) {
		t.Fatalf("%v, want a conflict that names the directory", err)
	}
	if c, _, err := second.Last(t.Context()); err != nil || content(t, c) != "a" {
		t.Errorf("reading needs no lock: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Claim(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestIDsAreNeverUsedAgain(t *testing.T) {
	s := testStore(t)
	l := claimed(t, s)
	c := take(t, l, Periodic, "a")
	w := begin(t, l, Periodic, "b")
	if w.Meta().ID <= c.Meta.ID {
		t.Fatalf("%d after %d", w.Meta().ID, c.Meta.ID)
	}
	if err := w.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The newest manifest is damaged: its id is known from its data file.
	flip(t, w.Checkpoint().Path(), 30)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = claimed(t, s)
	if next := take(t, l, Periodic, "c"); next.Meta.ID <= w.Meta().ID || next.Meta.Generation <= c.Meta.Generation {
		t.Errorf("checkpoint %d of generation %d after %d of %d", next.Meta.ID, next.Meta.Generation, w.Meta().ID, c.Meta.Generation)
	}
}

// flip changes a bit of a file.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 0x10
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedCheckpointIsPassedOver(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
	}{
		{"a bit of it differs", func(t *testing.T, path string) { flip(t, path, 50) }},
		{"it is cut off", func(t *testing.T, path string) {
			if err := os.Truncate(path, 60); err != nil {
				t.Fatal(err)
			}
		}},
		{"it is empty", func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}},
		{"it is longer", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString("more"); err != nil {
				t.Fatal(err)
			}
		}},
		{"it is gone", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		for _, file := range []string{"manifest", "data"} {
			if c.name == "it is gone" && file == "manifest" {
				continue // then there is no such checkpoint
			}
			t.Run(file+": "+c.name, func(t *testing.T) {
				s := testStore(t)
				l := claimed(t, s)
				take(t, l, Periodic, "old")
				damaged := take(t, l, Periodic, "new")
				path := damaged.Path()
				if file == "data" {
					path = s.Path(damaged.Refs()[0].File())
				}
				c.damage(t, path)
				got, warnings, err := l.Last(t.Context())
				if err != nil || content(t, got) != "old" {
					t.Fatalf("%s, %v", content(t, got), err)
				}
				if len(warnings) != 1 || !strings.Contains(warnings[0], path) {
					t.Errorf("warnings %q, want one that names %s", warnings, path)
				}
				if _, err := l.Load(t.Context(), damaged.Meta.ID); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), path) {
					t.Errorf("loading it: %v, want damage that names %s", err, path)
				}
			})
		}
	}
}

func TestOnlyDamagedCheckpointsAreNoReasonToBeginFromNothing(t *testing.T) {
	s := testStore(t)
	l := claimed(t, s)
	c := take(t, l, Periodic, "only")
	flip(t, s.Path(c.Refs()[0].File()), 50)
	got, _, err := l.Last(t.Context())
	if got != nil || !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("%v, %v: want damage", got, err)
	}
}

func TestWhereAStartGoesOnFrom(t *testing.T) {
	s := testStore(t)
	l := claimed(t, s)
	want := func(want string) {
		t.Helper()
		if got := last(t, s); got != want {
			t.Errorf("goes on from %s, want %s", got, want)
		}
	}
	from := func(id uint64) {
		t.Helper()
		if err := l.ClaimFrom(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	want("none")
	a := take(t, l, Periodic, "a")
	saved := take(t, l, Savepoint, "saved")
	want("a")
	take(t, l, Stop, "b")
	want("b")
	from(saved.Meta.ID)
	want("saved")
	from(a.Meta.ID)
	want("a")
	from(0)
	want("none")
	if err := l.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("none")
	take(t, l, Savepoint, "saved too")
	want("none")
	take(t, l, Final, "c")
	want("c")
	if _, err := l.Load(t.Context(), 99); !errors.Is(err, fault.ErrUnknown) {
		t.Errorf("loading 99: %v", err)
	}
}

func TestRetain(t *testing.T) {
	s := testStore(t)
	l := claimed(t, s)
	if err := l.Retain(t.Context(), 2); err != nil {
		t.Fatalf("nothing to remove: %v", err)
	}
	a := take(t, l, Periodic, "a")
	saved := take(t, l, Savepoint, "saved")
	take(t, l, Periodic, "b")
	// The next one takes over the section of a, and Retain comes before it is published.
	w := l.Begin(Meta{Kind: Periodic})
	if err := w.Reuse(a.Refs()[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(t.Context(), Section{Kind: KindJob}); err != nil {
		t.Fatal(err)
	}
	if err := l.Retain(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Retain(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if got := last(t, s); got != "a" {
			t.Errorf("the incremental one has %s", got)
		}
	}
	list, err := l.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Meta.ID != saved.Meta.ID || list[1].Meta.ID != w.Meta().ID {
		t.Errorf("list %+v, %v", list, err)
	}
	want := []string{a.Refs()[0].File(), w.Checkpoint().Find("", KindJob)[0].File()}
	if got := names(t, s, dataPrefix); !slices.Equal(got, want) {
		t.Errorf("data %q, want %q", got, want)
	}
	// From one of one, through any number.
	for i := range 3 {
		next := l.Begin(Meta{Kind: Periodic})
		c, _, err := l.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(next.Reuse(c.Find("sum", KindGroup)[0]), next.Publish(t.Context()), l.Retain(t.Context(), 1)); err != nil {
			t.Fatal(i, err)
		}
	}
	if got := names(t, s, dataPrefix); !slices.Equal(got, want[:1]) {
		t.Errorf("data %q, want %q", got, want[:1])
	}
	take(t, l, Periodic, "whole")
	if err := l.Retain(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	next := l.Begin(Meta{Kind: Periodic})
	if err := next.Reuse(a.Refs()[0]); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("a file that is gone is reused: %v", err)
	}
	if err := next.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Delete(t.Context(), saved.Meta.ID); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s, savedPrefix); len(got) > 0 {
		t.Errorf("of the savepoint there is %q", got)
	}
	if err := l.Delete(t.Context(), saved.Meta.ID); !errors.Is(err, fault.ErrUnknown) {
		t.Errorf("deleted again: %v", err)
	}
	newest := take(t, l, Savepoint, "newest")
	if err := l.Delete(t.Context(), newest.Meta.ID); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("the newest entry: %v", err)
	}
}

func TestRetainKeepsWhatADamagedManifestMightName(t *testing.T) {
	s := testStore(t)
	l := claimed(t, s)
	saved := take(t, l, Savepoint, "saved")
	a := take(t, l, Periodic, "a")
	b := take(t, l, Periodic, "b")
	for _, path := range []string{saved.Path(), b.Path()} {
		flip(t, path, 40)
	}
	retain := func() {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = claimed(t, s) // which knows nothing but what is there
		if err := l.Retain(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	retain()
	if got := names(t, s, dataPrefix); !slices.Equal(got, []string{a.Refs()[0].File(), b.Refs()[0].File()}) {
		t.Errorf("data %q", got)
	}
	// With a newer one that is intact nobody goes back to b.
	c := take(t, l, Periodic, "c")
	retain()
	if got := names(t, s, dataPrefix); !slices.Equal(got, []string{c.Refs()[0].File()}) {
		t.Errorf("data %q", got)
	}
	if got := names(t, s, savedPrefix); len(got) != 1 {
		t.Errorf("data of the savepoint: %q", got)
	}
}

// lossy is a store whose answers to puts are lost.
type lossy struct {
	Store
	puts func(err error) error // what becomes of an answer
}

func (s lossy) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return s.puts(s.Store.PutIfAbsent(ctx, name, data))
}

func TestAPublishThatCannotTellIsDecided(t *testing.T) {
	s := lossy{Store: testStore(t), puts: func(err error) error { return err }}
	l := claimed(t, &s)
	broken := fault.Externalf("connection lost")
	s.puts = func(error) error { return broken }
	w := begin(t, l, Periodic, "perhaps")
	if err := w.Publish(t.Context()); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if err := w.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.puts = func(err error) error { return err }
	if got := last(t, &s); got != "perhaps" {
		t.Errorf("goes on from %s", got)
	}
	take(t, l, Periodic, "surely")
	if got := last(t, &s); got != "surely" {
		t.Errorf("goes on from %s", got)
	}
	if list, err := l.List(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestAPutThatWasTriedTwiceIsItsOwn(t *testing.T) {
	// The first try has put it, its answer was lost, and the second finds it there.
	s := lossy{Store: testStore(t), puts: func(err error) error { return ErrExists }}
	l := claimed(t, &s)
	take(t, l, Periodic, "a")
	if got := last(t, &s); got != "a" {
		t.Errorf("goes on from %s", got)
	}
}

func TestAbandonLeavesNothing(t *testing.T) {
	s := testStore(t)
	l := claimed(t, s)
	take(t, l, Periodic, "a")
	before := names(t, s, "")
	if err := begin(t, l, Periodic, "b").Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := names(t, s, ""); !slices.Equal(before, after) {
		t.Errorf("%q became %q", before, after)
	}
	take(t, l, Periodic, "c")
}

func TestLocalDirectoriesAreMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := OpenLocal(env.Real().FS, dir)
	if c, warnings, err := Open(s, rand.Reader).Last(t.Context()); c != nil || warnings != nil || err != nil {
		t.Errorf("of a directory that is not there: %v %v %v", c, warnings, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking made it")
	}
	take(t, claimed(t, s), Periodic, "x")
	if got := last(t, s); got != "x" {
		t.Error(got)
	}
}

// lagging is a store that does not list what was put.
type lagging struct{ Store }

func (lagging) List(context.Context, string) ([]string, error) { return nil, nil }

func TestAStoreWhoseListingsLagCannotBeClaimed(t *testing.T) {
	s := testStore(t)
	claimed(t, s)
	err := Open(lagging{unlocked{s}}, rand.Reader).Claim(t.Context())
	if !errors.Is(err, fault.ErrConflict) || !strings.Contains(err.Error(), s.Path("")) {
		t.Errorf("%v, want a conflict that names the place", err)
	}
}
