package meter

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// shellSection is the custom section of a shell with the digest of the module that it
// stands for.
const shellSection = Module + ":code"

// Shell returns a module that is all of a rewritten one but its code: each function only
// traps. Whoever has the machine code of the whole module needs no more to start it, and
// a shell is read in a fraction of the time and the memory. The digest of the whole one is
// in it, so that two modules never have the same shell.
func Shell(rewritten []byte) ([]byte, error) {
	m := &module{file: rewritten}
	if err := m.split(); err != nil {
		return nil, err
	}
	digest := sha256.Sum256(rewritten)
	out := append(make([]byte, 0, len(rewritten)/2), rewritten[:8]...)
	for _, id := range []byte{secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement, secDataCount, secCode, secData} {
		c := m.sections[id]
		var body []byte
		if id == secCode {
			n := c.entries()
			body = append(binary.AppendUvarint(nil, uint64(n)), bytes.Repeat([]byte{3, 0, opUnreachable, opEnd}, n)...)
		} else {
			body = c.rest()
		}
		if c.err != nil {
			return nil, c.err
		}
		if len(body) > 0 && c.file != nil {
			out = appendSection(out, id, body)
		}
	}
	if names := m.sections[secNames]; names.file != nil {
		out = appendSection(out, secCustom, append(appendName(nil, "name"), names.rest()...))
	}
	return appendSection(out, secCustom, append(appendName(nil, shellSection), digest[:]...)), nil
}
