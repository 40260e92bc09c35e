// Package storetest checks that a checkpoint.Store keeps its contract. Tests of stores
// call it.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"tidemark/engine/checkpoint"
)

// Run checks a store. open returns one in an empty place of its own.
func Run(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s checkpoint.Store)
	}{
		{"what was created is read, from any place", created},
		{"an object that is put has one content for ever", once},
		{"of many puts at once one wins", race},
		{"lists", lists},
		{"what is deleted is gone, and what is not there, too", deletes},
		{"an upload that is given up", aborted},
		{"a job that ends", canceled},
		{"a log", log},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			lock, err := s.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.test(t, s)
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
			again, err := s.Lock(t.Context())
			if err != nil {
				t.Fatalf("locked again: %v", err)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// noise is n bytes that nothing compresses or mistakes for others.
func noise(n int) []byte {
	var out []byte
	for i := uint64(0); len(out) < n; i++ {
		sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, i))
		out = append(out, sum[:]...)
	}
	return out[:n]
}

func create(t *testing.T, s checkpoint.Store, name string, data []byte) {
	t.Helper()
	o, err := s.Create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 700_000)
		if k, err := o.Write(rest[:n]); err != nil || k != n {
			t.Fatal(k, err)
		}
		rest = rest[n:]
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s checkpoint.Store, name, data string) {
	t.Helper()
	if err := s.PutIfAbsent(t.Context(), name, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s checkpoint.Store, name string) string {
	t.Helper()
	b, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }() // nothing was written
	data, err := io.ReadAll(b)
	if err != nil || int64(len(data)) != b.Size() {
		t.Fatalf("%d of %d bytes: %v", len(data), b.Size(), err)
	}
	return string(data)
}

func created(t *testing.T, s checkpoint.Store) {
	data := noise(20 << 20) // several parts of an upload
	create(t, s, "data-1", data)
	if read(t, s, "data-1") != string(data) {
		t.Fatal("another content")
	}
	b, err := s.Open(t.Context(), "data-1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }() // nothing was written
	for _, at := range []int{0, 5, 3, 9 << 20, 9<<20 + 100, 1 << 20, len(data) - 50} {
		if _, err := b.Seek(int64(at), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 50)
		for range min(2, (len(data)-at)/50) {
			if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, data[at:at+50]) {
				t.Fatalf("50 bytes at %d: %v", at, err)
			}
			at += 50
		}
	}
	if _, err := io.ReadFull(b, make([]byte, 1)); err != io.EOF {
		t.Errorf("behind the end: %v", err)
	}
	if _, err := s.Open(t.Context(), "data-2"); !errors.Is(err, checkpoint.ErrMissing) {
		t.Errorf("what is not there: %v", err)
	}
}

func once(t *testing.T, s checkpoint.Store) {
	put(t, s, "log-1", "first")
	for _, data := range []string{"second", "first", "x"} {
		if err := s.PutIfAbsent(t.Context(), "log-1", []byte(data)); !errors.Is(err, checkpoint.ErrExists) {
			t.Errorf("put again: %v", err)
		}
	}
	if got := read(t, s, "log-1"); got != "first" {
		t.Errorf("it is %q", got)
	}
	if err := s.Delete(t.Context(), "log-1"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "log-1", "third") // a free name is free
}

func race(t *testing.T, s checkpoint.Store) {
	for round := range 5 {
		name := fmt.Sprintf("log-%d", round)
		won := make([]bool, 8)
		var wg sync.WaitGroup
		for i := range won {
			wg.Go(func() {
				switch err := s.PutIfAbsent(t.Context(), name, fmt.Append(nil, i)); {
				case err == nil:
					won[i] = true
				case !errors.Is(err, checkpoint.ErrExists):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		winner := slices.Index(won, true)
		if winner < 0 || slices.Contains(won[winner+1:], true) {
			t.Fatalf("winners %v", won)
		}
		if got := read(t, s, name); got != fmt.Sprint(winner) {
			t.Errorf("it is %s's, %d won", got, winner)
		}
	}
}

func lists(t *testing.T, s checkpoint.Store) {
	// More than one page of a listing of object storage.
	var want []string
	for i := range 1100 {
		name := fmt.Sprintf("log-%04d", i)
		put(t, s, name, "x")
		want = append(want, name)
	}
	create(t, s, "data-1", []byte("x"))
	for prefix, want := range map[string][]string{"log-": want, "data-": {"data-1"}, "none-": nil, "log-000": want[:10]} {
		if got, err := s.List(t.Context(), prefix); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d names, want %d: %v", prefix, len(got), len(want), err)
		}
	}
}

func deletes(t *testing.T, s checkpoint.Store) {
	for _, name := range []string{"log-1", "log-2", "log-3"} {
		put(t, s, name, "x")
	}
	if err := s.Delete(t.Context(), "log-1", "log-0", "log-3"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.List(t.Context(), "log-"); err != nil || !slices.Equal(got, []string{"log-2"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := s.Open(t.Context(), "log-1"); !errors.Is(err, checkpoint.ErrMissing) {
		t.Errorf("open: %v", err)
	}
}

func aborted(t *testing.T, s checkpoint.Store) {
	o, err := s.Create(t.Context(), "data-1")
	if err != nil {
		t.Fatal(err)
	}
	for range 12 {
		if _, err := o.Write(noise(1 << 20)); err != nil {
			t.Fatal(err)
		}
	}
	o.Abort()
	if err := s.Delete(t.Context(), "data-1"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.List(t.Context(), "data-"); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func canceled(t *testing.T, s checkpoint.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := s.Create(ctx, "data-1")
	if err == nil {
		_, werr := o.Write(noise(9 << 20))
		err = errors.Join(werr, o.Close())
	}
	_, lerr := s.List(ctx, "")
	_, oerr := s.Open(ctx, "log-1")
	for doing, err := range map[string]error{"create": err, "put": s.PutIfAbsent(ctx, "log-1", []byte("x")), "list": lerr, "open": oerr, "delete": s.Delete(ctx, "log-1")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", doing, err)
		}
	}
}

// log plays a job, its successor, and the two at once.
func log(t *testing.T, s checkpoint.Store) {
	ctx := t.Context()
	body := noise(1 << 20)
	publish := func(l *checkpoint.Log) error {
		w := l.Begin(checkpoint.Meta{Kind: checkpoint.Periodic, Job: "orders"})
		for i := range uint32(10) {
			if err := w.Add(ctx, checkpoint.Section{Operator: "sum", Kind: checkpoint.KindGroup, Number: i, Body: body[i:]}); err != nil {
				return errors.Join(err, w.Abandon(ctx))
			}
		}
		if err := w.Publish(ctx); err != nil {
			return errors.Join(err, w.Abandon(ctx))
		}
		return l.Retain(ctx, 1)
	}
	check := func(id uint64) {
		t.Helper()
		c, warnings, err := checkpoint.Open(s, nil).Last(ctx)
		if err != nil || len(warnings) > 0 || c.Meta.ID != id {
			t.Fatalf("%+v %q %v", c, warnings, err)
		}
		n := uint32(0)
		for section, err := range c.Sections(ctx, "sum", checkpoint.KindGroup) {
			if err != nil || section.Number != n || !bytes.Equal(section.Body, body[n:]) {
				t.Fatalf("section %d: %v", n, err)
			}
			n++
		}
		if n != 10 {
			t.Fatalf("%d sections", n)
		}
	}
	first := checkpoint.Open(nolock{s}, bytes.NewReader(noise(16)))
	second := checkpoint.Open(nolock{s}, bytes.NewReader(noise(48)[32:]))
	if err := errors.Join(first.Claim(ctx), publish(first), publish(first)); err != nil {
		t.Fatal(err)
	}
	check(2)
	if err := errors.Join(second.Claim(ctx), publish(second)); err != nil {
		t.Fatal(err)
	}
	if err := publish(first); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("a start that was replaced: %v", err)
	}
	check(3)
	names, err := s.List(ctx, "data-")
	if err != nil || len(names) != 1 {
		t.Errorf("data %q, %v", names, err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
}

// nolock is a store that is locked already.
type nolock struct{ checkpoint.Store }

func (nolock) Lock(context.Context) (io.Closer, error) { return io.NopCloser(nil), nil }
