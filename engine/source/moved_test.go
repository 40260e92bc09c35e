package source_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine/source"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// down ends the reading, and returns what a checkpoint keeps of each file.
func (l *log) down() map[string]source.Trace {
	l.t.Helper()
	traces := map[string]source.Trace{}
	l.spent = l.src.Spent()
	for id, r := range l.open {
		read := l.read[id]
		traces[id] = source.Trace{Number: r.(source.Numbered).Number(), Head: []byte(read[:min(len(read), 1<<10)]), Offset: int64(len(read))}
		if err := r.Close(); err != nil {
			l.t.Error(err)
		}
	}
	clear(l.open)
	return traces
}

// up goes on in a new process.
func (l *log) up(traces map[string]source.Trace) error {
	l.t.Helper()
	l.src = newFile(l.t, l.spec, l.env)
	if _, err := l.src.Splits(l.t.Context()); err != nil {
		return err
	}
	if err := l.src.Skip(l.t.Context(), l.spent); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(traces)) {
		s, err := l.src.Find(l.t.Context(), id, traces[id])
		if err != nil {
			return err
		}
		if l.open[id], err = l.src.Open(l.t.Context(), s, traces[id].Offset); err != nil {
			l.t.Fatal(err)
		}
	}
	return nil
}

// Files that are rotated while nobody reads them: what is left of each is read, then its
// successor, and nothing twice.
func TestRotationWhileNobodyReads(t *testing.T) {
	for _, row := range []struct {
		name    string
		pattern string
		read    string // what is read before
		play    func(l *log)
		traces  func(map[string]source.Trace)
		want    []string // what is read then, a second after the other
	}{
		{name: "nothing", want: []string{"app.log: three\n"}, play: func(l *log) { l.write("app.log", "three\n") }},
		{name: "by a new name", want: []string{"app.log: rest\n", "app.log: |three\n"}, play: func(l *log) {
			l.write("app.log", "rest\n")
			l.rename("app.log", "app.log.1")
			l.write("app.log", "three\n")
		}},
		{name: "and the successor is not there yet", pattern: "*.log", want: []string{"app.log: rest\n", ""}, play: func(l *log) {
			l.write("app.log", "rest\n")
			l.rename("app.log", "app.old")
		}},
		{name: "by a copy", want: []string{"app.log: rest\n", "app.log: |three\n"}, play: func(l *log) {
			l.write("app.log", "rest\n")
			l.write("app.log-2024", "one\ntwo\nrest\n")
			l.truncate("app.log")
			l.write("app.log", "three\n")
		}},
		{name: "while older ones are there", want: []string{"app.log: rest\n", "app.log: |three\n"}, play: func(l *log) {
			l.write("app.log.2", "one\ntwo\nlong ago\n")
			l.age("app.log.2")
			l.write("app.log", "rest\n")
			l.rename("app.log", "app.log.1")
			l.write("app.log", "three\n")
		}},
		{name: "by a name of the pattern", pattern: "app.log*", want: []string{"app.log: rest\n", "app.log: |three\n", ""}, play: func(l *log) {
			l.write("app.log", "rest\n")
			l.rename("app.log", "app.log.1")
			l.write("app.log", "three\n")
		}},
		{name: "all of a pattern", pattern: "app.log*", want: []string{"app.log: rest\n, app.log.1: end\n", "app.log: |three\n", ""}, play: func(l *log) {
			l.write("app.log.1", "end\n")
			l.rename("app.log.1", "app.log.2")
			l.write("app.log", "rest\n")
			l.rename("app.log", "app.log.1")
			l.write("app.log", "three\n")
		}, read: "app.log.1"},
		{name: "of which nothing had been read", want: []string{"app.log: rest\n", "app.log: |three\n"}, read: "none", play: func(l *log) {
			l.write("app.log", "rest\n")
			l.rename("app.log", "app.log.1")
			l.write("app.log", "three\n")
		}},
		{name: "on another machine", want: []string{"app.log: three\n"}, play: func(l *log) { l.write("app.log", "three\n") },
			traces: func(traces map[string]source.Trace) {
				tr := traces["app.log"]
				tr.Number += 1_000_000
				traces["app.log"] = tr
			}},
		{name: "where files have no numbers", want: []string{"app.log: rest\n", "app.log: |three\n"}, play: func(l *log) {
			l.write("app.log", "rest\n")
			l.rename("app.log", "app.log.1")
			l.write("app.log", "three\n")
		}, traces: func(traces map[string]source.Trace) {
			tr := traces["app.log"]
			tr.Number = 0
			traces["app.log"] = tr
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			pattern := row.pattern
			if pattern == "" {
				pattern = "app.log"
			}
			l := newLog(t, pattern, row.pattern != "")
			switch row.read {
			case "none":
				l.write("app.log", "")
				l.expect("")
			case "":
				l.write("app.log", "one\ntwo\n")
				l.expect("app.log: one\ntwo\n")
			default:
				l.write(row.read, "older\n")
				l.write("app.log", "one\ntwo\n")
				l.expect("app.log: one\ntwo\n, " + row.read + ": older\n")
			}
			traces := l.down()
			row.play(l)
			if row.traces != nil {
				row.traces(traces)
			}
			if err := l.up(traces); err != nil {
				t.Fatal(err)
			}
			for _, want := range row.want {
				l.expect(want)
				l.later(time.Second)
			}
			l.expect("")
		})
	}
}

// Where it cannot be told what has become of a file, going on is refused with what is there.
func TestRotationThatLeavesNoTrace(t *testing.T) {
	for _, row := range []struct {
		name, want string
		play       func(l *log)
		numberless bool
	}{
		{name: "deleted", want: "none in its directory is the old one, of which 8 bytes had been read", play: func(l *log) {
			l.remove("app.log")
			l.write("app.log", "something else\n")
		}},
		{name: "compressed", want: "none in its directory is the old one", play: func(l *log) {
			l.remove("app.log")
			l.write("app.log.1.gz", "\x1f\x8b")
			l.write("app.log", "something else\n")
		}},
		{name: "truncated", want: "or is shorter", play: func(l *log) {
			l.truncate("app.log")
		}},
		{name: "rotated twice", want: "rotated more than once: what came between it and app.log is not known to be read, app.log.1. Append it to app.log.2 in order", play: func(l *log) {
			l.rename("app.log", "app.log.2")
			l.write("app.log.1", "between\n")
			l.write("app.log", "three\n")
		}},
		{name: "copied twice", want: "several begin as it did: app.log.1, app.log.2", numberless: true, play: func(l *log) {
			l.write("app.log.1", "one\ntwo\nx\n")
			l.write("app.log.2", "one\ntwo\ny\n")
			l.truncate("app.log")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLog(t, "app.log", false)
			l.write("app.log", "one\ntwo\n")
			l.expect("app.log: one\ntwo\n")
			traces := l.down()
			row.play(l)
			if row.numberless {
				traces["app.log"] = source.Trace{Head: traces["app.log"].Head, Offset: 8}
			}
			err := l.up(traces)
			if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	l := newLog(t, "*.log", true)
	l.write("a.log", "one\n")
	l.expect("a.log: one\n")
	traces := l.down()
	l.remove("a.log")
	if err := l.up(traces); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "not there any more, nor in its directory by another name, and 4 bytes") {
		t.Errorf("got %v", err)
	}
	l.spec.Path = l.path("b*.log")
	if err := l.up(traces); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "none of the files that") {
		t.Errorf("got %v", err)
	}
}

// A number without the beginning is that of another file: the system has given it anew.
func TestANumberAloneIsNoFile(t *testing.T) {
	l := newLog(t, "app.log", false)
	l.write("app.log", "one\n")
	l.expect("app.log: one\n")
	traces := l.down()
	l.remove("app.log")
	l.write("app.log", "two\nthree\n")
	info, err := env.Real().FS.Stat(l.path("app.log"))
	if err != nil {
		t.Fatal(err)
	}
	traces["app.log"] = source.Trace{Number: env.FileNumber(info), Head: traces["app.log"].Head, Offset: 4}
	if err := l.up(traces); !errors.Is(err, fault.ErrUser) {
		t.Errorf("got %v", err)
	}
}

// What was read to its end before is not read again under the name that it has got, be that
// one of the pattern, also of a split. A file that gets its number anew is another one.
func TestFilesThatWereReadBefore(t *testing.T) {
	l := newLog(t, "app.log*", true)
	again := func() {
		t.Helper()
		if err := l.up(l.down()); err != nil {
			t.Fatal(err)
		}
	}
	l.write("app.log", "one\n")
	l.write("app.log.1", "older\n")
	l.expect("app.log: one\n, app.log.1: older\n")
	l.rename("app.log.1", "app.log.2")
	l.rename("app.log", "app.log.1")
	l.write("app.log", "two\n")
	l.expect("")
	l.later(time.Second)
	l.expect("app.log: |two\n")
	l.expect("")
	for range 2 {
		again() // app.log.1 has been read by the split app.log, and app.log.2 is the split app.log.1
		l.expect("")
		l.later(time.Second)
		l.expect("")
	}
	traces := l.down()
	l.rename("app.log.2", "app.log.3")
	l.rename("app.log.1", "app.log.2")
	l.write("app.log", "end\n")
	l.rename("app.log", "app.log.1")
	l.write("app.log", "three\n")
	if err := l.up(traces); err != nil {
		t.Fatal(err)
	}
	l.expect("app.log: end\n")
	l.later(time.Second)
	l.expect("app.log: |three\n")
	l.expect("")
	again()
	l.later(time.Second)
	l.expect("")

	traces = l.down()
	info, err := l.env.FS.Stat(l.path("app.log.2"))
	if err != nil {
		t.Fatal(err)
	}
	l.remove("app.log.2")
	l.write("app.log.2", "new\nas it is\n")
	for i := range l.spent {
		if l.spent[i].Number == env.FileNumber(info) { // as if the system had given it again
			if info, err = l.env.FS.Stat(l.path("app.log.2")); err != nil {
				t.Fatal(err)
			}
			l.spent[i].Number = env.FileNumber(info)
		}
	}
	if err := l.up(traces); err != nil {
		t.Fatal(err)
	}
	l.expect("app.log.2: new\nas it is\n")
}
