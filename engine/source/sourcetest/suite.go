// Package sourcetest is the suite that every source passes. It checks what the
// engine relies on: splits in a stable order, the same bytes however they are asked
// for, positions, and what a Reader says when there is nothing.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"tidemark/engine/source"
)

// Features says what a source can do.
type Features struct {
	Seek   bool // Open takes an offset
	Many   bool // there can be several splits
	Follow bool // it can wait for more
}

// World is an outside that the suite fills.
type World interface {
	// Write appends content to the split with this name, and makes it if needed. A
	// bounded source has ended behind what was written before Source was called.
	Write(t *testing.T, name string, content []byte)
	// Source returns a source over the world.
	Source(t *testing.T, follow bool) source.Source
}

// Run runs the suite. newWorld makes an empty world.
func Run(t *testing.T, f Features, newWorld func(t *testing.T) World) {
	text := []byte("first line\nsecond line\n\nthe last line has no end")
	t.Run("a bounded split is read to its end", func(t *testing.T) {
		for _, size := range []int{1, 7, 1 << 16} {
			w := newWorld(t)
			w.Write(t, "a", text)
			s := w.Source(t, false)
			r := open(t, s, only(t, s), 0)
			if got := readAll(t, r, size); !bytes.Equal(got, text) {
				t.Errorf("in pieces of %d: %q", size, got)
			}
			for range 2 {
				if n, err := r.Read(make([]byte, 8)); n != 0 || err != io.EOF {
					t.Errorf("behind the end: %d, %v", n, err)
				}
			}
			shut(t, r)
		}
	})
	t.Run("a large split is read to its end", func(t *testing.T) {
		large := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
		w := newWorld(t)
		w.Write(t, "a", large)
		s := w.Source(t, false)
		r := open(t, s, only(t, s), 0)
		if got := readAll(t, r, 10_000); !bytes.Equal(got, large) {
			t.Errorf("%d bytes of %d, or others", len(got), len(large))
		}
		shut(t, r)
	})
	t.Run("an empty split ends at once", func(t *testing.T) {
		w := newWorld(t)
		w.Write(t, "a", nil)
		s := w.Source(t, false)
		r := open(t, s, only(t, s), 0)
		if got := readAll(t, r, 10); len(got) != 0 {
			t.Errorf("%q", got)
		}
		shut(t, r)
	})
	t.Run("a reader may be closed before the end", func(t *testing.T) {
		w := newWorld(t)
		w.Write(t, "a", bytes.Repeat(text, 100_000))
		s := w.Source(t, false)
		r := open(t, s, only(t, s), 0)
		if _, err := r.Read(make([]byte, 10)); err != nil && !errors.Is(err, source.ErrWait) {
			t.Error(err)
		}
		shut(t, r)
	})
	t.Run("a cancelled context stops it", func(t *testing.T) {
		w := newWorld(t)
		w.Write(t, "a", text)
		s := w.Source(t, false)
		split := only(t, s)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.Splits(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Splits: %v", err)
		}
		if _, err := s.Open(ctx, split, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("Open: %v", err)
		}
	})
	if f.Seek {
		t.Run("reading goes on at every position", func(t *testing.T) {
			w := newWorld(t)
			w.Write(t, "a", text)
			s := w.Source(t, false)
			split := only(t, s)
			for offset := range len(text) + 1 {
				r := open(t, s, split, int64(offset))
				if got := readAll(t, r, 5); !bytes.Equal(got, text[offset:]) {
					t.Errorf("from %d: %q", offset, got)
				}
				shut(t, r)
			}
			if r, err := s.Open(context.Background(), split, int64(len(text)+1)); err == nil {
				t.Error("a position behind the end is no error")
				shut(t, r)
			}
		})
	}
	if f.Many {
		t.Run("splits are sorted and stay", func(t *testing.T) {
			w := newWorld(t)
			for _, name := range []string{"b", "a10", "a9", "c"} {
				w.Write(t, name, []byte(name))
			}
			s := w.Source(t, false)
			first, second := splits(t, s), splits(t, s)
			if !slices.IsSorted(ids(first)) || !slices.Equal(ids(first), ids(second)) || len(first) != 4 {
				t.Errorf("%q, then %q", ids(first), ids(second))
			}
			all := ""
			for _, sp := range first {
				r := open(t, s, sp, 0)
				all += string(readAll(t, r, 4))
				shut(t, r)
			}
			if all != "a10a9bc" {
				t.Errorf("%q", all)
			}
		})
	}
	if f.Follow {
		t.Run("a followed split waits for more", func(t *testing.T) {
			w := newWorld(t)
			w.Write(t, "a", []byte("one\n"))
			s := w.Source(t, true)
			r := open(t, s, only(t, s), 0)
			want := ""
			for _, more := range []string{"one\n", "two\nthr", "ee\n"} {
				if want != "" {
					w.Write(t, "a", []byte(more))
				}
				want += more
				if got := string(readNow(t, r)); got != more {
					t.Errorf("%q, want %q", got, more)
				}
				if n, err := r.Read(make([]byte, 8)); n != 0 || !errors.Is(err, source.ErrWait) {
					t.Errorf("nothing new: %d, %v", n, err)
				}
			}
			shut(t, r)
		})
	}
	if f.Follow && f.Seek {
		t.Run("a followed split goes on at a position", func(t *testing.T) {
			w := newWorld(t)
			w.Write(t, "a", []byte("one\ntwo\n"))
			s := w.Source(t, true)
			r := open(t, s, only(t, s), 4)
			w.Write(t, "a", []byte("three\n"))
			if got := string(readNow(t, r)); got != "two\nthree\n" {
				t.Errorf("%q", got)
			}
			shut(t, r)
		})
	}
	if f.Follow && f.Many {
		t.Run("a followed source finds new splits", func(t *testing.T) {
			w := newWorld(t)
			w.Write(t, "b", []byte("b"))
			s := w.Source(t, true)
			first := splits(t, s)
			r := open(t, s, first[0], 0)
			w.Write(t, "a", []byte("a"))
			then := splits(t, s)
			if len(first) != 1 || len(then) != 2 || then[1].ID != first[0].ID {
				t.Fatalf("%q, then %q", ids(first), ids(then))
			}
			r2 := open(t, s, then[0], 0)
			if got := string(readNow(t, r2)); got != "a" {
				t.Errorf("%q", got)
			}
			shut(t, r2)
			shut(t, r)
		})
	}
}

func splits(t *testing.T, s source.Source) []source.Split {
	t.Helper()
	all, err := s.Splits(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func ids(splits []source.Split) (ids []string) {
	for _, s := range splits {
		ids = append(ids, s.ID)
	}
	return ids
}

func only(t *testing.T, s source.Source) source.Split {
	t.Helper()
	all := splits(t, s)
	if len(all) != 1 {
		t.Fatalf("splits %q, want one", ids(all))
	}
	return all[0]
}

func open(t *testing.T, s source.Source, split source.Split, offset int64) source.Reader {
	t.Helper()
	r, err := s.Open(context.Background(), split, offset)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func shut(t *testing.T, r source.Reader) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// readAll reads to the end in pieces of size, waiting where the reader can wake.
func readAll(t *testing.T, r source.Reader, size int) []byte {
	t.Helper()
	var all []byte
	p := make([]byte, size)
	for {
		n, err := r.Read(p)
		all = append(all, p[:n]...)
		switch {
		case err == io.EOF:
			return all
		case errors.Is(err, source.ErrWait):
			w, ok := r.(source.Waker)
			if !ok {
				t.Fatal("a bounded split waits and cannot say for what")
			}
			<-w.Ready()
		case err != nil:
			t.Fatal(err)
		case n == 0:
			t.Fatal("neither bytes nor a reason")
		}
	}
}

// readNow reads what a followed split has now.
func readNow(t *testing.T, r source.Reader) []byte {
	t.Helper()
	var all []byte
	p := make([]byte, 3)
	for {
		n, err := r.Read(p)
		all = append(all, p[:n]...)
		if errors.Is(err, source.ErrWait) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
