package wasm

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"tidemark/engine/stream"
)

// Memory that is not aligned takes the path that machines of another byte order
// take; both must write the same bytes.
func TestGatherOnAnyMemory(t *testing.T) {
	floats := []float64{1.5, math.Inf(-1), math.Copysign(0, -1), 7}
	for _, c := range []struct {
		name string
		sel  []uint32
	}{
		{"a run", []uint32{1, 2, 3}},
		{"single rows", []uint32{0, 2, 3}},
		{"nothing", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []byte
			for _, r := range c.sel {
				want = binary.LittleEndian.AppendUint64(want, math.Float64bits(floats[r]))
			}
			buf := make([]byte, 8*len(floats)+1)
			for off := range 2 {
				dst := buf[off : off+8*len(c.sel)]
				gather(dst, floats, c.sel, isRun(c.sel))
				if !bytes.Equal(dst, want) {
					t.Errorf("at offset %d: got %x, want %x", off, dst, want)
				}
				small := buf[off : off+4*len(c.sel)]
				put32(small, c.sel)
				for i, r := range c.sel {
					if got := binary.LittleEndian.Uint32(small[4*i:]); got != r {
						t.Errorf("at offset %d: group %d is %d, want %d", off, i, got, r)
					}
				}
			}
		})
	}
}

func TestIsRun(t *testing.T) {
	for _, c := range []struct {
		sel  []uint32
		want bool
	}{
		{nil, false},
		{[]uint32{7}, true},
		{[]uint32{7, 8, 9}, true},
		{[]uint32{7, 9}, false},
		{[]uint32{0, 0, 2}, false}, // the ends alone would say yes
	} {
		if got := isRun(c.sel); got != c.want {
			t.Errorf("%v: got %v", c.sel, got)
		}
	}
}

func TestGatherBits(t *testing.T) {
	var b stream.Bits
	for i := range 130 {
		b = b.Append(i, i%3 == 0)
	}
	dst := bytes.Repeat([]byte{0xff}, 8)
	gatherBits(dst, b, []uint32{0, 1, 3, 64, 66, 128, 129})
	if want := []byte{0b1010101, 0, 0, 0, 0, 0, 0, 0}; !bytes.Equal(dst, want) {
		t.Errorf("got %b, want %b", dst, want)
	}
}
