package wasm

import (
	"encoding/binary"
	"testing"

	"tidemark/abi"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Whatever a guest answers, reading it takes no more than was answered.
func FuzzTakeAccs(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00a\x00\x00\x00\x00\x00\x00\x00"), 2)
	f.Add([]byte("\xff\xff\xff\xff"), 1)
	f.Fuzz(func(t *testing.T, out []byte, n int) {
		n &= 0xff
		var accs udf.Accs
		accs.Reset(0)
		if err := takeAccs(out, n, &accs); err != nil {
			return
		}
		if accs.N() != n || len(accs.Data)+4*n > len(out) {
			t.Errorf("%d accumulators of %d bytes out of %d, asked for %d", accs.N(), len(accs.Data), len(out), n)
		}
	})
}

func FuzzTakeRows(f *testing.F) {
	outs := []stream.Field{{Name: "i", Kind: stream.Int64}, {Name: "b", Kind: stream.Bool}, {Name: "s", Kind: stream.String}, {Name: "t", Kind: stream.String}, {Name: "f", Kind: stream.Float64}}
	f.Add([]byte("\x01"), []byte("text"), uint16(4))
	f.Fuzz(func(t *testing.T, columns, text []byte, used uint16) {
		const n = 3
		arena := make([]byte, 2_048)
		fr := newFrame(arena, n)
		places := fr.outputs(outs, n, nil)
		from := places[0].validity
		copy(arena[from:fr.h.Out], columns)
		copy(arena[fr.h.Out:], text)
		got := &stream.Columns{}
		for _, o := range outs {
			got.Cols = append(got.Cols, stream.Column{Kind: o.Kind})
		}
		limit := min(int(used), int(fr.h.OutBytes))
		if _, err := takeRows(arena, &fr.h, places, n, limit, got); err != nil {
			return
		}
		if len(got.Blob) > limit {
			t.Errorf("%d bytes of text out of %d", len(got.Blob), limit)
		}
		for _, c := range got.Cols {
			if c.Len() != n {
				t.Errorf("%d rows of %s, want %d", c.Len(), c.Kind, n)
			}
		}
	})
}

// The header's place is known here, so that the tests above need no guest.
func TestOutputsAreLaidOutAsTheSpecSays(t *testing.T) {
	arena := make([]byte, 1_024)
	f := newFrame(arena, 2)
	places := f.outputs([]stream.Field{{Name: "s", Kind: stream.String}, {Name: "b", Kind: stream.Bool}}, 2, nil)
	// 96 header, 2 descriptors of 32, then bitmap and data: 8 + 16 and 8 + 2 (8).
	if places[0] != (outColumn{160, 168}) || places[1] != (outColumn{184, 192}) || f.h.Out != 200 || f.h.OutBytes != 824 {
		t.Errorf("places %v, output %d bytes at %d", places, f.h.OutBytes, f.h.Out)
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(arena[at:]) }
	want := [2][6]uint32{{uint32(abi.String), 1, 160, 168, 200, 824}, {uint32(abi.Bool), 1, 184, 192, 0, 0}}
	for i, d := range want {
		for k, v := range d {
			if got := word(96 + 32*i + 4*k); got != v {
				t.Errorf("descriptor %d, word %d: got %d, want %d", i, k, got, v)
			}
		}
	}
	if word(8) != 2 || word(32) != 96 || word(36) != 2 || word(40) != 200 || word(0) != 1_024 {
		t.Errorf("header % x", arena[:48])
	}
}
