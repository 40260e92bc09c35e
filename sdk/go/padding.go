package tidemark

import "reflect"

// gap is bytes of a value that belong to none of its fields.
type gap struct{ from, to uintptr }

// gapsIn finds the gaps of a type that holds no pointers, up to size bytes. What lies there is
// whatever was in the memory before: bytes that leave the guest must not have it, or equal
// values would not be equal bytes.
func gapsIn(t reflect.Type, size uintptr) (gaps []gap) {
	end := uintptr(0)
	var walk func(t reflect.Type, at uintptr)
	walk = func(t reflect.Type, at uintptr) {
		switch t.Kind() {
		case reflect.Struct:
			for i := range t.NumField() {
				walk(t.Field(i).Type, at+t.Field(i).Offset)
			}
		case reflect.Array:
			for i := range t.Len() {
				walk(t.Elem(), at+uintptr(i)*t.Elem().Size())
			}
		default:
			if at > end {
				gaps = append(gaps, gap{end, at})
			}
			end = at + t.Size()
		}
	}
	walk(t, 0)
	if end < size {
		gaps = append(gaps, gap{end, size})
	}
	return gaps
}

// clearGaps makes the gaps of a value, as bytes, zero.
func clearGaps(b []byte, gaps []gap) {
	for _, g := range gaps {
		clear(b[g.from:g.to])
	}
}
