package sink

import (
	"os"

	"tidemark/internal/env"
)

// device is a file that is no regular one. What is written is gone: rows since the last
// checkpoint come again after a restart.
type device struct {
	out  output
	last bool
}

func openDevice(fsys env.FS, path string) (Sink, error) {
	f, err := fsys.Create(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, cannot(path, err)
	}
	return &device{out: output{target: path, name: path, f: f}}, nil
}

func (s *device) Target() string           { return s.out.target }
func (s *device) Write(lines []byte) error { return s.out.write(lines) }
func (s *device) Flush() error             { return s.out.flush() }

// Prepare writes what is in the buffer: there is nothing to make durable.
func (s *device) Prepare(_ uint64, last bool) ([]byte, error) {
	s.last = last
	return nil, s.out.flush()
}

// Commit closes the file at the end.
func (s *device) Commit([]byte) error {
	if !s.last {
		return nil
	}
	return s.out.close()
}

// Abort writes what it has.
func (s *device) Abort() error { return s.out.abort() }

var _ Sink = (*device)(nil)
