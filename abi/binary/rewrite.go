package binary

import "encoding/binary"

// rewrite returns a copy of module in which sections are replaced by what change gives for
// their id and body, nothing removes one; false leaves it as it is. What lies behind a
// damaged section is copied.
func rewrite(module []byte, change func(id byte, body []byte) (replacement []byte, replace bool)) []byte {
	out := make([]byte, 0, len(module))
	header := min(8, len(module))
	out, rest := append(out, module[:header]...), module[header:]
	for len(rest) > 0 {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			break
		}
		section := rest[:1+n+int(size)]
		rest = rest[len(section):]
		if replacement, replace := change(section[0], section[1+n:]); replace {
			section = replacement
		}
		out = append(out, section...)
	}
	return append(out, rest...)
}

func appendSection(dst []byte, id byte, body []byte) []byte {
	dst = binary.AppendUvarint(append(dst, id), uint64(len(body)))
	return append(dst, body...)
}
