package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"

	"tidemark/engine"
	"tidemark/engine/result"
	"tidemark/engine/stream"
)

// redraw is how often the progress line changes: often enough to look alive.
const redraw = 200 * time.Millisecond

// screen is standard error: lines, and on a terminal one line of progress below
// them. Safe for concurrent use, since the engine reports from its own goroutines.
type screen struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	started  time.Time
	drawn    time.Time
	shown    bool // a progress line is there
	progress map[string]engine.Progress
}

func newScreen(w io.Writer) *screen {
	s := &screen{w: w, started: time.Now(), progress: map[string]engine.Progress{}}
	if f, ok := w.(*os.File); ok {
		s.terminal = isatty.IsTerminal(f.Fd())
	}
	return s
}

// line writes a line above the progress.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintf(s.w, format+"\n", args...)
}

// observe is the engine's Observe.
func (s *screen) observe(e engine.Event) {
	switch e := e.(type) {
	case engine.Warning:
		s.line("tidemark: warning: %s: %s", e.Operator, e.Message)
	case engine.Checkpointed:
		if e.Err != nil {
			s.line("tidemark: warning: checkpoint %d failed, and the job goes on: %v", e.Number, e.Err)
		}
	case engine.Progress:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.progress[e.Source] = e
		if now := time.Now(); s.terminal && now.Sub(s.drawn) >= redraw {
			s.drawn = now
			s.draw(now)
		}
	}
}

func (s *screen) draw(now time.Time) {
	var parts []string
	for id, p := range s.progress {
		at := "no time yet"
		switch {
		case p.Watermark == stream.MaxTime:
			at = "ended"
		case p.Watermark > stream.MinTime:
			at = "at " + result.TimeText(p.Watermark)
		}
		parts = append(parts, fmt.Sprintf("%s: %s read, %s", id, thousands(p.Read), at))
	}
	sort.Strings(parts)
	s.erase()
	fmt.Fprintf(s.w, "%3.0fs  %s", now.Sub(s.started).Seconds(), strings.Join(parts, "   "))
	s.shown = true
}

func (s *screen) erase() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// clear ends the progress line.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.terminal = false
}

// Write is for text of several lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.w.Write(p)
}
