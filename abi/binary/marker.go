package binary

import (
	"bytes"
	"encoding/binary"

	"tidemark/abi"
)

// WithManifest returns a copy of module with the section of SPEC section 1.4 at its
// end, in place of any that it has. It judges neither: read the result back with
// Read and Check. What lies behind a damaged section is copied as it is.
func WithManifest(module, manifest []byte) []byte {
	out := make([]byte, 0, len(module)+len(manifest)+32)
	rest := module
	take := func(n int) {
		out = append(out, rest[:n]...)
		rest = rest[n:]
	}
	take(min(8, len(rest)))
	for len(rest) > 0 {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			break
		}
		end := 1 + n + int(size)
		if rest[0] == 0 && isMarker(rest[1+n:end]) {
			rest = rest[end:]
			continue
		}
		take(end)
	}
	take(len(rest))

	body := binary.AppendUvarint(nil, uint64(len(abi.SectionName)))
	body = append(body, abi.SectionName...)
	body = binary.LittleEndian.AppendUint32(body, abi.Version)
	body = append(body, manifest...)
	out = append(out, 0)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...)
}

func isMarker(custom []byte) bool {
	size, n := binary.Uvarint(custom)
	return n > 0 && size == uint64(len(abi.SectionName)) && bytes.HasPrefix(custom[n:], []byte(abi.SectionName))
}
