package source

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// bounded reads a regular file to its end.
type bounded struct {
	path  string
	file  *parked
	c     compression
	r     io.Reader // of the bytes as they were before compression; nil: nothing was read
	free  func()    // of the decompressor; nil: none
	ended bool
}

var _ Verifier = (*bounded)(nil)

// bounded takes over a file that was just opened.
func (f *File) bounded(ctx context.Context, path string, file env.File, info fs.FileInfo, offset int64) (*bounded, error) {
	var head [magicLen]byte
	n, err := io.ReadFull(file, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	b := &bounded{path: path, c: compressionOf(head[:n])}
	start := int64(0)
	if b.c == plain {
		if start = offset; offset > info.Size() {
			return nil, fault.Userf("%s has %d bytes, fewer than the %d that were read before: it is another file now", path, info.Size(), offset)
		}
	}
	if b.file, err = f.park(path, file, info, start); err != nil {
		return nil, err
	}
	if b.c != plain && offset > 0 {
		if err := b.skip(ctx, offset); err != nil {
			b.shut()
			return nil, err
		}
	}
	return b, nil
}

// skip reads past n decompressed bytes.
func (b *bounded) skip(ctx context.Context, n int64) error {
	left, err := b.discard(ctx, n)
	if err == io.EOF {
		return fault.Userf("%s ends %d bytes before the position that was reached before: it is another file now", b.path, left)
	}
	return err
}

// maxVerify bounds how far Verify reads: a few seconds.
const maxVerify = 1 << 30

// Verify implements Verifier: formats of compression have checksums at their end.
func (b *bounded) Verify(ctx context.Context) error {
	if b.c == plain || b.ended {
		return nil
	}
	_, err := b.discard(ctx, maxVerify)
	if err == io.EOF {
		return nil
	}
	return err
}

// discard reads past n decompressed bytes and returns how many of them are left when
// it ends with an error, io.EOF among them.
func (b *bounded) discard(ctx context.Context, n int64) (left int64, err error) {
	if err := b.begin(); err != nil {
		return n, b.failed(err)
	}
	const step = 4 << 20 // a few milliseconds between looks at ctx
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		done, err := io.CopyN(io.Discard, b.r, min(n, step))
		if n -= done; err != nil {
			return n, b.failed(err)
		}
	}
	return 0, nil
}

// begin makes the decompressor, which has large buffers: not before they are used.
func (b *bounded) begin() error {
	if b.r != nil {
		return nil
	}
	r, free, err := decompress(b.c, b.file)
	if err == nil {
		b.r, b.free = r, free
	}
	return err
}

// Read implements Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	if err := b.begin(); err != nil {
		return 0, b.failed(err)
	}
	for {
		n, err := b.r.Read(p)
		if n > 0 {
			return n, nil // an error comes again with the next call
		}
		if err == io.EOF {
			b.ended = true
			b.shut()
			return 0, err
		}
		if err != nil {
			return 0, b.failed(err)
		}
	}
}

func (b *bounded) failed(err error) error {
	if err == io.EOF {
		return err
	}
	var ofFile *fs.PathError
	if b.c != plain && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &ofFile) {
		return fault.Externalf("%s: the compressed data is damaged: %w", b.path, err)
	}
	return readError(b.path, err)
}

// readError says that reading broke off. Half a compressed file is not the job's
// fault: it may be complete the next time.
func readError(name string, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Externalf("%s: the compressed data breaks off in the middle: %w", name, err)
	case crowded(err):
		return fault.Externalf("%s: %w: %s", name, err, moreRoom)
	}
	return fault.Externalf("%s: %w", name, err)
}

// shut gives back all that is held.
func (b *bounded) shut() {
	if b.free != nil {
		b.free()
		b.free = nil
	}
	b.file.close()
}

// Close implements Reader.
func (b *bounded) Close() error {
	b.shut()
	return nil
}
