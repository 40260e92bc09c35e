package controller

import (
	"errors"
	"fmt"
	"io/fs"

	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// openInputs opens and closes the files that sources name, since that a file is there
// does not say that it may be read. What cannot be read is told at once, in an error of
// class fault.ErrUser. A pipe is left alone: opening it would wait for a writer.
func openInputs(files env.FS, sources []job.Source) error {
	var errs []error
	for i := range sources {
		s := &sources[i]
		if s.File.Path == "-" {
			continue
		}
		names := []string{s.File.Path}
		if s.File.Glob {
			var err error
			if names, err = files.Glob(s.File.Path); err != nil {
				errs = append(errs, fmt.Errorf("source %s: %w", s.ID, err))
			}
		}
		for _, name := range names {
			if err := openInput(files, name); err != nil {
				errs = append(errs, fmt.Errorf("source %s: %w", s.ID, err))
				break // the others are likely the same
			}
		}
	}
	return fault.As(fault.ErrUser, errors.Join(errs...))
}

func openInput(files env.FS, name string) error {
	info, err := files.Stat(name)
	if errors.Is(err, fs.ErrNotExist) { // a followed one may come yet
		return nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	return f.Close()
}
