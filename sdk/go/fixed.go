package tidemark

import (
	"reflect"
	"strconv"
	"unsafe"
)

// maxWidth bounds accumulators of a fixed size (abi/SPEC.md, section 2).
const maxWidth = 4096

// FixedAggregate registers an aggregate whose accumulator is a plain struct (or
// number or array) without pointers, of at most 4,096 bytes. It lives in the frame
// itself, where Add and Merge change it in place: nothing is copied, encoded or
// allocated. Its memory layout is what the host keeps, so a changed layout needs a
// new Spec.Schema. A module registers one aggregate.
func FixedAggregate[A any, P Accumulator[A]](s Spec) *Aggregate {
	width := fixedWidth[A](s)
	return newAggregate(s, width, fixed[A, P]{newPlace[A, P](width)})
}

// fixedWidth checks the accumulator's type and gives its size, rounded up to 8.
func fixedWidth[A any](s Spec) int {
	// Reflection costs some microseconds once and spares authors a kind of mistake
	// that would corrupt the guest's memory: a pointer out of the host's bytes.
	t := reflect.TypeFor[A]()
	if field := pointerIn(t); field != "" {
		panic("tidemark: aggregate " + jsonString(s.Name) + ": accumulator " + t.String() + " holds " + field +
			": a fixed accumulator has no pointers, strings, slices, maps or interfaces; use VariableAggregate")
	}
	width := int(widthOf[A]())
	if width == 0 || width > maxWidth {
		panic("tidemark: aggregate " + jsonString(s.Name) + ": accumulator " + t.String() + " has " +
			strconv.Itoa(int(t.Size())) + " bytes; a fixed accumulator has 1 to " + strconv.Itoa(maxWidth))
	}
	return width
}

// pointerIn says where in t there is a pointer; empty: nowhere.
func pointerIn(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if inner := pointerIn(t.Field(i).Type); inner != "" {
				return t.Field(i).Name + " " + inner
			}
		}
		return ""
	case reflect.Array:
		return pointerIn(t.Elem())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return ""
	}
	return t.String()
}

// place serves accumulators in place, all but add.
type place[A any, P BatchAccumulator[A]] struct {
	width uintptr
	gaps  []gap // of an accumulator; most have none
}

func newPlace[A any, P BatchAccumulator[A]](width int) place[A, P] {
	return place[A, P]{uintptr(width), gapsIn(reflect.TypeFor[A](), uintptr(width))}
}

// tidy clears what lies between the fields of the accumulators, which a call may have left
// there: equal accumulators are equal bytes.
func (k place[A, P]) tidy(f frame, base unsafe.Pointer) status {
	if len(k.gaps) > 0 {
		for i := range uintptr(f.groups) {
			clearGaps(unsafe.Slice((*byte)(unsafe.Add(base, i*k.width)), k.width), k.gaps)
		}
	}
	return ok
}

// accs gives the address of the row of accumulators at an offset.
func (k place[A, P]) accs(f frame, off uint32) (unsafe.Pointer, bool) {
	if !f.holds(off, uintptr(f.groups)*k.width) {
		return nil, false
	}
	return f.at(off), true
}

func (k place[A, P]) create(f frame) status {
	base, good := k.accs(f, f.acc)
	if !good {
		return badFrame
	}
	// The padding is cleared too, so that equal accumulators are equal bytes.
	clear(unsafe.Slice((*byte)(base), uintptr(f.groups)*k.width))
	for i := range uintptr(f.groups) {
		f.op = uint32(i)
		reset, own := any(P(unsafe.Add(base, i*k.width))).(Resetter)
		if !own {
			break
		}
		reset.Reset()
	}
	return k.tidy(f, base)
}

func (k place[A, P]) merge(f frame) status {
	base, good := k.accs(f, f.acc)
	from, good2 := k.accs(f, f.from)
	if !good || !good2 {
		return badFrame
	}
	for i := range uintptr(f.groups) {
		f.op = uint32(i)
		if err := P(unsafe.Add(base, i*k.width)).Merge((*A)(unsafe.Add(from, i*k.width))); err != nil {
			return f.refuse(err)
		}
	}
	return k.tidy(f, base)
}

func (k place[A, P]) result(f frame) status {
	base, good := k.accs(f, f.acc)
	if !good {
		return badFrame
	}
	return writeRows(f, func(i int, w *Out) error { return P(unsafe.Add(base, uintptr(i)*k.width)).Result(w) })
}

// fixed is place with a call for each record.
type fixed[A any, P Accumulator[A]] struct{ place[A, P] }

func (k fixed[A, P]) add(f frame) status {
	base, good := k.accs(f, f.acc)
	groups, good2 := f.groupOf()
	if !good || !good2 {
		return badFrame
	}
	for i, g := range groups { // the record path
		f.op = uint32(i)
		if err := P(unsafe.Add(base, uintptr(g)*k.width)).Add(Row{i}); err != nil {
			return f.refuse(err)
		}
	}
	return k.tidy(f, base)
}
