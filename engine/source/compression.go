package source

import (
	"bufio"
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compression is how bytes are packed, told by their first bytes: names lie. No
// text in UTF-8 begins like either.
type compression uint8

const (
	plain compression = iota
	gzipped
	zstandard
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// magicLen is how many bytes decide.
const magicLen = 4

const (
	// packedBuffer is what is read at once of a compressed input.
	packedBuffer = 64 << 10
	// maxZstdWindow bounds the memory of a decompressor. The zstd tool makes no larger
	// window unless asked to, and reads none.
	maxZstdWindow = 128 << 20
)

// compressionOf tells the compression of an input that begins with head.
func compressionOf(head []byte) compression {
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return gzipped
	case bytes.HasPrefix(head, zstdMagic):
		return zstandard
	}
	return plain
}

// undecided reports whether head is too short to tell.
func undecided(head []byte) bool {
	return len(head) < len(gzipMagic) && bytes.HasPrefix(gzipMagic, head) ||
		len(head) < len(zstdMagic) && bytes.HasPrefix(zstdMagic, head)
}

// decompress returns the unpacked bytes of r: for gzip of all members, for zstd of
// all frames. free, if there is one, returns what the decompressor holds.
func decompress(c compression, r io.Reader) (unpacked io.Reader, free func(), err error) {
	switch c {
	case gzipped:
		z, err := gzip.NewReader(bufio.NewReaderSize(r, packedBuffer))
		return z, nil, err
	case zstandard:
		// One thread: the decompressor then works in the calls of Read, without
		// goroutines of its own.
		z, err := zstd.NewReader(bufio.NewReaderSize(r, packedBuffer), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, nil, nil
}
