package controller

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"tidemark/engine/job"
	"tidemark/engine/sink"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Output is a file that a job writes, as its owner sees it. Stored as JSON.
type Output struct {
	Sink     string `json:"sink"`
	Operator string `json:"operator"` // step or source that it comes from
	Port     string `json:"port"`     // results, late, failed, bad, or the name of a side output
	Path     string `json:"path"`     // absolute
}

// outputsOf lists what a graph writes.
func outputsOf(g *job.Graph) []Output {
	var out []Output
	for _, s := range g.Sinks {
		if s.File == "" {
			continue
		}
		port := s.From.Name
		if port == "" {
			port = "results"
		}
		out = append(out, Output{Sink: s.ID, Operator: s.From.Operator, Port: port, Path: s.File})
	}
	return out
}

// ports are the outputs that can be asked for, beside the side outputs of the job.
var ports = []string{"results", "late", "failed", "bad"}

// choose finds the one output of a port; of names its operator, or is empty where
// there is only one.
func choose(outputs []Output, port, of string) (Output, error) {
	known := slices.Clone(ports)
	for _, o := range outputs {
		if !slices.Contains(known, o.Port) {
			known = append(known, o.Port)
		}
	}
	if !slices.Contains(known, port) {
		return Output{}, fault.Userf("port %q: must be one of %s", port, strings.Join(known, ", "))
	}
	var found []Output
	var operators []string
	for _, o := range outputs {
		if o.Port == port && (of == "" || o.Operator == of) {
			found = append(found, o)
		}
		if o.Port == port && !slices.Contains(operators, o.Operator) {
			operators = append(operators, o.Operator)
		}
	}
	switch {
	case len(found) == 0 && of != "" && len(operators) > 0:
		return Output{}, fault.Unknownf("no %s of %q; there are those of %s", port, of, strings.Join(operators, ", "))
	case len(found) == 0:
		return Output{}, fault.Unknownf("the job has no output %s", port)
	case len(operators) > 1 && of == "":
		return Output{}, fault.Userf("%s come from several operators; name one: %s", port, strings.Join(operators, ", "))
	}
	return found[0], nil // several sinks on one port hold the same rows
}

// Rows is a piece of an output: whole lines. The caller closes it.
type Rows struct {
	io.Reader
	Next     int64 // where the next piece begins, in bytes
	Complete bool  // the job has published all: nothing follows
	file     io.Closer
}

// Close releases the file.
func (r *Rows) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// openRows opens an output from a position on. A job that still runs has it under
// another name, and of that the whole lines are given; one with a file for each epoch has
// many of them. ended: the job has finished. What is not decided yet may be taken back by
// a restart and written anew.
func openRows(files env.FS, path string, from int64, ended bool) (*Rows, error) {
	f, complete, err := openOutput(files, path)
	if errors.Is(err, fs.ErrNotExist) {
		return openEpochs(files, path, from, ended)
	}
	if err != nil {
		return nil, fault.As(fault.ErrExternal, err)
	}
	end, err := wholeLines(f)
	if err == nil && (from < 0 || from > end) {
		err = fault.Userf("from: must be between 0 and %d, is %d", end, from)
	}
	if err == nil {
		_, err = f.Seek(from, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Rows{Reader: io.LimitReader(f, end-from), Next: end, Complete: complete, file: f}, nil
}

func openOutput(files env.FS, path string) (f env.File, complete bool, err error) {
	// The file may be published between two looks, but never taken back.
	for _, name := range []string{path, path + sink.InProgress, path} {
		f, err = files.Open(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, name == path, err
		}
	}
	return nil, false, err
}

// wholeLines returns where the last whole line of a file ends.
func wholeLines(f env.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, fault.As(fault.ErrExternal, err)
	}
	buf := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		start := max(0, end-int64(len(buf)))
		piece := buf[:end-start]
		if _, err := f.Seek(start, io.SeekStart); err != nil {
			return 0, fault.As(fault.ErrExternal, err)
		}
		if _, err := io.ReadFull(f, piece); err != nil {
			return 0, fault.As(fault.ErrExternal, fmt.Errorf("read %s: %w", f.Name(), err))
		}
		if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}
