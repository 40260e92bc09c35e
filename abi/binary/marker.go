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
	out := rewrite(module, func(id byte, body []byte) ([]byte, bool) { return nil, id == 0 && isMarker(body) })

	body := binary.AppendUvarint(nil, uint64(len(abi.SectionName)))
	body = append(body, abi.SectionName...)
	body = binary.LittleEndian.AppendUint32(body, abi.Version)
	body = append(body, manifest...)
	return appendSection(out, 0, body)
}

func isMarker(custom []byte) bool {
	size, n := binary.Uvarint(custom)
	return n > 0 && size == uint64(len(abi.SectionName)) && bytes.HasPrefix(custom[n:], []byte(abi.SectionName))
}
