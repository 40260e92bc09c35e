package tidemark

import (
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
	"unsafe"
)

// Upgrade is an older layout of what a plug-in keeps, and how to make today's of it: a job
// goes on from a checkpoint that an older version of the plug-in has written. Without it a
// changed layout, which has another Schema, means that such state is given up.
//
// For accumulators of a fixed size use UpgradeFrom, for what is bytes UpgradeBytes.
type Upgrade struct {
	schema  int
	width   int // of old accumulators of fixed size
	convert func(old []byte, what Kept) ([]byte, error)
}

// Kept says what a state is that is upgraded.
type Kept uint32

// What plug-ins keep (abi/SPEC.md, section 3, frames of tm_upgrade).
const (
	KeptAccumulator Kept = 0
	KeptOfKey       Kept = 1 // of a process function
	KeptOfWindow    Kept = 2 // of a process function or a trigger
	KeptOfSplit     Kept = 3 // of a watermark generator
)

// UpgradeFrom makes accumulators, or states of FixedState, of an older schema, which were
// plain structs as Old, into New. New is its zero value before.
func UpgradeFrom[Old, New any](schema int, convert func(old *Old, now *New) error) Upgrade {
	for _, t := range [...]reflect.Type{reflect.TypeFor[Old](), reflect.TypeFor[New]()} {
		if field := pointerIn(t); field != "" || t.Size() == 0 {
			panic("tidemark: UpgradeFrom: " + t.String() + " is no layout that a host keeps: it is empty, or has pointers: " + field)
		}
	}
	oldWidth, width := int(widthOf[Old]()), int(widthOf[New]())
	oldSize, size := int(reflect.TypeFor[Old]().Size()), int(reflect.TypeFor[New]().Size()) // of states
	gaps := gapsIn(reflect.TypeFor[New](), uintptr(width))
	return Upgrade{schema, oldWidth, func(b []byte, what Kept) ([]byte, error) {
		want, n := oldWidth, width
		if what != KeptAccumulator {
			want, n = oldSize, size
		}
		if len(b) != want {
			return nil, errOldWidth
		}
		// Copies, since bytes of a frame may lie on no boundary of these types.
		was, now := make([]uint64, oldWidth/8), make([]uint64, width/8)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&was[0])), oldWidth), b)
		if err := convert((*Old)(unsafe.Pointer(&was[0])), (*New)(unsafe.Pointer(&now[0]))); err != nil {
			return nil, err
		}
		out := unsafe.Slice((*byte)(unsafe.Pointer(&now[0])), width)
		clearGaps(out, gaps)
		return out[:n], nil
	}}
}

// UpgradeBytes makes bytes of an older schema into those of today: accumulators that vary in
// size, or states. old is borrowed.
func UpgradeBytes(schema int, convert func(old []byte, what Kept) ([]byte, error)) Upgrade {
	return Upgrade{schema, 0, convert}
}

type upgradeError string

func (e upgradeError) Error() string { return string(e) }

const (
	errOldWidth  = upgradeError("a state of an older schema has another size than its type")
	errNewWidth  = upgradeError("an upgraded accumulator has another size than the accumulators of today")
	errNoUpgrade = upgradeError("the host asks for an upgrade that the plug-in does not have")
)

// upgrades are those of one plug-in.
type upgrades []Upgrade

// check says what is wrong with them, for accumulators of width, -1 for states; empty:
// nothing.
func (u upgrades) check(schema, width int) string {
	if len(u) > maxColumns {
		return tooMany("upgrade")
	}
	for i, x := range u {
		switch {
		case x.schema < 1 || x.schema >= schema || x.schema > math.MaxInt32:
			return "an upgrade is from schema " + strconv.Itoa(x.schema) + ", which must be at least 1 and below " + strconv.Itoa(schema)
		case width >= 0 && (x.width == 0) != (width == 0):
			return "the upgrade from schema " + strconv.Itoa(x.schema) + " mixes accumulators of fixed and of varying size"
		}
		for _, other := range u[:i] {
			if other.schema == x.schema {
				return "there are two upgrades from schema " + strconv.Itoa(x.schema)
			}
		}
	}
	return ""
}

// appendJSON writes the member of the manifest, with a comma before it; nothing if there are
// none. sized: with widths.
func (u upgrades) appendJSON(b []byte, sized bool) []byte {
	for i, x := range u {
		if i == 0 {
			b = append(b, `,"upgrades":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"schema":`+strconv.Itoa(x.schema)...)
		if sized {
			b = append(b, `,"width":`+strconv.Itoa(x.width)...)
		}
		b = append(b, '}')
	}
	if len(u) > 0 {
		b = append(b, ']')
	}
	return b
}

// serve converts the states of a frame. width is that of accumulators of a fixed size, else 0.
func (u upgrades) serve(f frame, width int) status {
	heads, good := slice[block](f, f.block, 1)
	off, data, good2 := f.varAccs(f.acc)
	if !good || !good2 {
		return badFrame
	}
	schema, what := heads[0].items, Kept(heads[0].keys)
	for i := range int(f.groups) {
		f.op = uint32(i)
		now, err := u.convert(int(schema), what, data[off[i]:off[i+1]])
		switch {
		case err != nil:
		case width > 0 && len(now) != width:
			err = errNewWidth
		case len(now) > accBytes:
			err = errLongAcc
		}
		if err != nil {
			return f.refuse(err)
		}
		used := int(f.outUsed)
		end := used + 4 + (len(now)+3)&^3
		if end > len(f.out) {
			return f.full(i)
		}
		binary.LittleEndian.PutUint32(f.out[used:], uint32(len(now)))
		clear(f.out[used+4+copy(f.out[used+4:], now) : end])
		f.outUsed = uint32(end)
	}
	return ok
}

func (u upgrades) convert(schema int, what Kept, old []byte) ([]byte, error) {
	for _, x := range u {
		if x.schema == schema {
			return x.convert(old, what)
		}
	}
	return nil, errNoUpgrade
}
