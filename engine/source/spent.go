package source

import (
	"context"
	"errors"
	"io"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// A file that a reader has left for its successor has been read to its end. Rotation may leave
// it under a name of the pattern, where the next process must not take it for a new one.

// headBytes is how much of its beginning is kept to know it by.
const headBytes = 1 << 10

// left notes that a reader leaves its file, of which it has read so much. What is known of the
// file by then does not depend on its name.
func (r *followed) left() error {
	number := env.FileNumber(r.info)
	if number == 0 {
		return nil
	}
	head := make([]byte, min(r.pos, headBytes))
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return readError(r.path, err)
	}
	n, err := io.ReadFull(r.file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return readError(r.path, err)
	}
	r.source.mu.Lock()
	defer r.source.mu.Unlock()
	r.id.spent = &Trace{Number: number, Head: head[:n], Offset: r.pos}
	return nil
}

// Spent implements Finder.
func (f *File) Spent() (out []Trace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range f.known.files {
		if id.spent != nil && id.open == 0 {
			out = append(out, *id.spent)
		}
	}
	return out
}

// Skip implements Finder.
func (f *File) Skip(ctx context.Context, spent []Trace) error {
	by := map[uint64]*Trace{}
	for i := range spent {
		by[spent[i].Number] = &spent[i]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, id := range f.known.byPath {
		was := by[env.FileNumber(id.info)]
		if was == nil || id.open > 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		is, err := f.liken(path, *was)
		if err != nil && !errors.Is(err, fault.ErrUser) {
			return err
		}
		if is.number {
			id.spent = was
			delete(f.known.splits, path)
		}
	}
	return nil
}
