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
	path string
	file env.File
	r    io.Reader // of the bytes as they were before compression
	free func()    // of the decompressor; nil: none
}

func newBounded(ctx context.Context, path string, file env.File, info fs.FileInfo, offset int64) (*bounded, error) {
	var head [magicLen]byte
	n, err := io.ReadFull(file, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	c := compressionOf(head[:n])
	start := int64(0)
	if c == plain {
		if start = offset; offset > info.Size() {
			return nil, fault.Userf("%s has %d bytes, fewer than the %d that were read before: it is another file now", path, info.Size(), offset)
		}
	}
	if _, err := file.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	b := &bounded{path: path, file: file, r: file}
	if c == plain {
		return b, nil
	}
	if b.r, b.free, err = decompress(c, file); err != nil {
		return nil, b.failed(err)
	}
	if err := b.skip(ctx, offset); err != nil {
		if b.free != nil {
			b.free()
		}
		return nil, err
	}
	return b, nil
}

// skip reads past n decompressed bytes.
func (b *bounded) skip(ctx context.Context, n int64) error {
	const step = 4 << 20 // a few milliseconds between looks at ctx
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := io.CopyN(io.Discard, b.r, min(n, step))
		n -= done
		if errors.Is(err, io.EOF) {
			return fault.Userf("%s ends %d bytes before the position that was reached before: it is another file now", b.path, n)
		}
		if err != nil {
			return b.failed(err)
		}
	}
	return nil
}

// Read implements Reader.
func (b *bounded) Read(p []byte) (int, error) {
	for {
		n, err := b.r.Read(p)
		if n > 0 {
			return n, nil // an error comes again with the next call
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
	return readError(b.path, err)
}

// readError says that reading broke off. Half a compressed file is not the job's
// fault: it may be complete the next time.
func readError(name string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.Externalf("%s: the compressed data breaks off in the middle: %w", name, err)
	}
	return fault.Externalf("%s: %w", name, err)
}

// Close implements Reader.
func (b *bounded) Close() error {
	if b.free != nil {
		b.free()
	}
	return b.file.Close()
}
