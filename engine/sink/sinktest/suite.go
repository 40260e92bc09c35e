// Package sinktest is the suite that every sink passes. It checks what the engine relies
// on: which rows readers see when, that committing is idempotent, and that a sink which
// is opened again goes on behind what was decided, wherever it was killed.
package sinktest

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/sink"
)

// Features says what a sink promises.
type Features struct {
	// ExactlyOnce: readers see the rows of decided epochs and no others, each once. Without
	// it rows are seen as they are written, and those since the last decided epoch again
	// after a restart.
	ExactlyOnce bool
	// PerEpoch: the rows of an epoch are seen as soon as it is committed. Without it all
	// are, with the last epoch. Of sinks that are ExactlyOnce.
	PerEpoch bool
	// Lasting: what was seen stays when the sink is opened again.
	Lasting bool
	// Slow: a call may take milliseconds, as on a disk, so that fewer courses of events are
	// tried.
	Slow bool
}

// World is an outside that one sink writes to.
type World interface {
	// Open opens the sink. One that was opened before was killed: it is not called again,
	// and was told nothing.
	Open(t *testing.T, from sink.Restored) sink.Sink
	// Seen are the rows that readers see, in order.
	Seen(t *testing.T) string
}

// Run runs the suite. newWorld makes an empty world.
func Run(t *testing.T, f Features, newWorld func(t *testing.T) World) {
	t.Run("a job without checkpoints", func(t *testing.T) {
		w := newWorld(t)
		s := w.Open(t, sink.Restored{})
		write(t, s, "one\n", "two\n")
		pending := prepare(t, s, 1, true)
		if f.ExactlyOnce {
			sees(t, w, "", "before it was decided")
		}
		commit(t, s, pending)
		sees(t, w, "one\ntwo\n", "after it")
		if s.Target() == "" {
			t.Error("the target has no name")
		}
	})
	t.Run("no rows", func(t *testing.T) {
		w := newWorld(t)
		s := w.Open(t, sink.Restored{})
		commit(t, s, prepare(t, s, 1, false))
		commit(t, s, prepare(t, s, 2, true))
		sees(t, w, "", "at the end")
	})
	t.Run("blocks of all sizes", func(t *testing.T) {
		w := newWorld(t)
		s := w.Open(t, sink.Restored{})
		var want strings.Builder
		for _, n := range []int{1, 200 << 10, 100 << 10, 3 << 20, 0, 10} {
			block := strings.Repeat("0123456789abcde\n", n/16)
			want.WriteString(block)
			write(t, s, block)
		}
		commit(t, s, prepare(t, s, 1, true))
		sees(t, w, want.String(), "at the end")
	})
	t.Run("flushed rows are seen if any are", func(t *testing.T) {
		w := newWorld(t)
		s := w.Open(t, sink.Restored{})
		write(t, s, "one\n")
		if err := s.Flush(); err != nil {
			t.Error(err)
		}
		if f.ExactlyOnce {
			sees(t, w, "", "before an epoch")
		} else {
			sees(t, w, "one\n", "at once")
		}
	})
	t.Run("an aborted epoch is not seen", func(t *testing.T) {
		w := newWorld(t)
		s := w.Open(t, sink.Restored{})
		write(t, s, "one\n")
		first := prepare(t, s, 1, false)
		commit(t, s, first)
		write(t, s, "two\n")
		prepare(t, s, 2, false)
		write(t, s, "three\n")
		if err := s.Abort(); err != nil {
			t.Error(err)
		}
		switch {
		case !f.ExactlyOnce:
			return
		case f.PerEpoch:
			sees(t, w, "one\n", "then")
		default:
			sees(t, w, "", "then")
		}
		s = w.Open(t, sink.Restored{Epoch: 1, Pending: first})
		write(t, s, "four\n")
		commit(t, s, prepare(t, s, 3, true))
		sees(t, w, "one\nfour\n", "after a restart from before it")
	})
	t.Run("an epoch that was aborted before it was known to be decided is seen", func(t *testing.T) {
		if !f.ExactlyOnce {
			return // they were seen before
		}
		w := newWorld(t)
		s := w.Open(t, sink.Restored{})
		write(t, s, "one\n")
		pending := prepare(t, s, 1, true)
		if err := s.Abort(); err != nil {
			t.Error(err)
		}
		sees(t, w, "", "in doubt")
		w.Open(t, sink.Restored{Epoch: 1, Pending: pending})
		sees(t, w, "one\n", "after a restart")
	})
	if f.Lasting {
		t.Run("every course of events", func(t *testing.T) { courses(t, f, newWorld) })
	}
}

// events are what can happen to a sink, by letter; see course.
const events = "wekcdr"

// courseLength is how many of them a course has, before its last epoch. With four, an
// epoch can be prepared in vain, the next one decided, and the process killed behind it.
const (
	courseLength     = 4
	slowCourseLength = 2
)

// courses runs all of them.
func courses(t *testing.T, f Features, newWorld func(t *testing.T) World) {
	length, total := courseLength, 1
	if f.Slow {
		length = slowCourseLength
	}
	for range length {
		total *= len(events)
	}
	for n := range total {
		var letters []byte
		for range length {
			letters = append(letters, events[n%len(events)])
			n /= len(events)
		}
		if course(t, f, newWorld(t), string(letters)); t.Failed() {
			return
		}
	}
}

// course drives a sink through events and compares what is seen with what must be.
func course(t *testing.T, f Features, w World, letters string) {
	var (
		s       = w.Open(t, sink.Restored{})
		from    sink.Restored // of the last decided epoch
		decided string        // rows up to it
		since   string        // rows since, as this process wrote them
		all     string        // rows that were written, also those that a kill took back
		epoch   uint64
		row     int
	)
	put := func() {
		row++
		line := fmt.Sprintf("row %d\n", row)
		write(t, s, line)
		since += line
		all += line
	}
	decide := func(pending []byte) {
		from = sink.Restored{Epoch: epoch, Pending: pending}
		decided += since
		since = ""
	}
	end := func(last bool) []byte {
		epoch++
		return prepare(t, s, epoch, last)
	}
	for i, letter := range letters {
		switch letter {
		case 'w': // rows
			put()
			put()
		case 'e': // an epoch about which nobody decides; what is written next is behind it
			end(false)
			put()
		case 'c': // an epoch that is decided while rows of the next one come
			pending := end(false)
			decide(pending)
			put()
			commit(t, s, pending)
		case 'k': // a kill
			since = ""
			s = w.Open(t, from)
		case 'd': // a kill between the decision and the commit
			decide(end(false))
			s = w.Open(t, from)
		case 'r': // the same commit once more
			if from.Epoch > 0 {
				commit(t, s, from.Pending)
			}
		}
		if !f.ExactlyOnce {
			continue
		}
		want := ""
		if f.PerEpoch {
			want = decided
		}
		sees(t, w, want, fmt.Sprintf("after %d events of %s", i+1, letters))
	}
	put()
	pending := end(true)
	decide(pending)
	commit(t, s, pending)
	commit(t, s, pending)
	want := decided
	if !f.ExactlyOnce {
		want = all
	}
	sees(t, w, want, "at the end of "+letters)
	w.Open(t, from)
	sees(t, w, want, "after one more restart behind "+letters)
}

func write(t *testing.T, s sink.Sink, blocks ...string) {
	t.Helper()
	for _, b := range blocks {
		if err := s.Write([]byte(b)); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
}

func prepare(t *testing.T, s sink.Sink, epoch uint64, last bool) []byte {
	t.Helper()
	pending, err := s.Prepare(epoch, last)
	if err != nil {
		t.Fatalf("prepare epoch %d: %v", epoch, err)
	}
	return pending
}

func commit(t *testing.T, s sink.Sink, pending []byte) {
	t.Helper()
	if err := s.Commit(pending); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func sees(t *testing.T, w World, want, when string) {
	t.Helper()
	if got := w.Seen(t); got != want {
		t.Fatalf("%s readers see %s, want %s", when, shown(got), shown(want))
	}
}

// shown is some rows in a message.
func shown(rows string) string {
	if len(rows) > 200 {
		return fmt.Sprintf("%d bytes, %.100q…", len(rows), rows)
	}
	return fmt.Sprintf("%q", rows)
}
