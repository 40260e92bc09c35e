package engine

import (
	"context"
	"io"
	"slices"

	"tidemark/engine/source"
	"tidemark/engine/stream"
)

// fedSource is the source of a job that is driven by hand: its splits hold what was fed.
type fedSource struct {
	names  []string // of the splits, sorted
	splits map[string]*fedSplit
}

// fedSplit holds the bytes that were fed and not yet read.
type fedSplit struct {
	bytes []byte
	ended bool
}

func newFedSource(names []string) *fedSource {
	f := &fedSource{splits: map[string]*fedSplit{}}
	for _, n := range names {
		if f.splits[n] == nil {
			f.names = append(f.names, n)
			f.splits[n] = &fedSplit{}
		}
	}
	slices.Sort(f.names)
	return f
}

func (f *fedSource) Splits(context.Context) ([]source.Split, error) {
	var out []source.Split
	for _, n := range f.names {
		out = append(out, source.Split{ID: n, Path: n, ModTime: stream.MinTime, Size: -1})
	}
	return out, nil
}

func (f *fedSource) Open(_ context.Context, s source.Split, _ int64) (source.Reader, error) {
	return f.splits[s.ID], nil
}

// Read gives what was fed; with nothing left it has either ended or must wait.
func (s *fedSplit) Read(p []byte) (int, error) {
	if len(s.bytes) == 0 {
		if s.ended {
			return 0, io.EOF
		}
		return 0, source.ErrWait
	}
	n := copy(p, s.bytes)
	s.bytes = s.bytes[n:]
	return n, nil
}

func (s *fedSplit) Close() error { return nil }

var _ source.Source = (*fedSource)(nil)
