package sink

import (
	"io"
	"slices"
	"sync"

	"tidemark/internal/fault"
)

// Stream writes to a stream that is already open, such as standard output: at least
// once, at once, and not to be taken back.
type Stream struct {
	w    io.Writer
	name string
}

// NewStream makes a sink of a stream that people call by this name.
func NewStream(w io.Writer, name string) *Stream { return &Stream{w, name} }

func (s *Stream) Target() string                       { return s.name }
func (s *Stream) Flush() error                         { return nil }
func (s *Stream) Prepare(uint64, bool) ([]byte, error) { return nil, nil }
func (s *Stream) Commit([]byte) error                  { return nil }
func (s *Stream) Abort() error                         { return nil }

// Write passes the lines on.
func (s *Stream) Write(lines []byte) error {
	if _, err := s.w.Write(lines); err != nil {
		return fault.Externalf("write %s: %w", s.name, reason(err))
	}
	return nil
}

// Memory keeps the last lines, for output that nobody asked for and nobody may lose
// sight of: late and bad records of a job that writes to standard output only.
type Memory struct {
	limit int

	mu    sync.Mutex // Last may be called at any time, by anyone
	lines []string
}

// NewMemory keeps at most limit lines.
func NewMemory(limit int) *Memory { return &Memory{limit: limit} }

func (m *Memory) Target() string                       { return "memory" }
func (m *Memory) Flush() error                         { return nil }
func (m *Memory) Prepare(uint64, bool) ([]byte, error) { return nil, nil }
func (m *Memory) Commit([]byte) error                  { return nil }
func (m *Memory) Abort() error                         { return nil }

// Write keeps the newest lines.
func (m *Memory) Write(lines []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for start, i := 0, 0; i < len(lines); i++ {
		if lines[i] == '\n' {
			m.lines = append(m.lines, string(lines[start:i]))
			start = i + 1
		}
	}
	if over := len(m.lines) - m.limit; over > 0 {
		m.lines = slices.Delete(m.lines, 0, over)
	}
	return nil
}

// Last returns a copy of the lines, oldest first.
func (m *Memory) Last() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lines)
}

var (
	_ Sink = (*Stream)(nil)
	_ Sink = (*Memory)(nil)
)
