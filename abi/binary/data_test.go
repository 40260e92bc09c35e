package binary_test

import (
	"slices"
	"strings"
	"testing"

	"tidemark/abi/binary"
)

func TestMergeData(t *testing.T) {
	const header = "\x00asm\x01\x00\x00\x00"
	data := func(count byte, segments string) string {
		body := string(count) + segments
		return "\x0b" + string(rune(len(body))) + body
	}
	const custom = "\x00\x02\x01x"
	for _, row := range []struct {
		name, in, want string
	}{
		{"neighbours become one", data(2, "\x00\x41\x00\x0b\x02ab"+"\x00\x41\x02\x0b\x01c"), data(1, "\x00\x41\x00\x0b\x03abc")},
		{"a gap is filled with zeros", data(2, "\x00\x41\x00\x0b\x01a"+"\x00\x41\x03\x0b\x01b"), data(1, "\x00\x41\x00\x0b\x04a\x00\x00b")},
		// 66 is c2 00 as a signed number: 42 alone would be -62.
		{"a gap of 65 bytes stays", data(2, "\x00\x41\x00\x0b\x01a"+"\x00\x41\xc2\x00\x0b\x01b"), data(2, "\x00\x41\x00\x0b\x01a"+"\x00\x41\xc2\x00\x0b\x01b")},
		{"segments in any order", data(2, "\x00\x41\x01\x0b\x01b"+"\x00\x41\x00\x0b\x01a"), data(1, "\x00\x41\x00\x0b\x02ab")},
		// -2 is the address 4,294,967,294.
		{"at the end of the address space", data(2, "\x00\x41\x7f\x0b\x01b"+"\x00\x41\x7e\x0b\x01a"), data(1, "\x00\x41\x7e\x0b\x02ab")},
		{"overlapping ones, of which the last counts", data(2, "\x00\x41\x00\x0b\x02ab"+"\x00\x41\x01\x0b\x01c"), ""},
		{"a passive one", data(1, "\x01\x01a"), ""},
		{"at an address that is a global", data(1, "\x00\x23\x00\x0b\x01a"), ""},
		{"one that ends too early", data(1, "\x00\x41\x00\x0b\x02a"), ""},
		{"bytes behind the last", data(1, "\x00\x41\x00\x0b\x01ab"), ""},
		{"no segment", data(0, ""), ""},
		{"a count of segments: instructions use them", "\x0c\x01\x02" + data(2, "\x00\x41\x00\x0b\x01a"+"\x00\x41\x01\x0b\x01b"), ""},
		{"a section that ends too early", "\x0b\x09\x01", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := row.want
			if want == "" {
				want = row.in
			}
			in := []byte(header + custom + row.in)
			before := slices.Clone(in)
			if got := string(binary.MergeData(in)); got != header+custom+want {
				t.Errorf("got %q, want %q", got, header+custom+want)
			}
			if !slices.Equal(in, before) {
				t.Error("the module was changed in place")
			}
		})
	}
	if got := string(binary.MergeData([]byte(header[:5]))); got != header[:5] {
		t.Errorf("half a header: %q", got)
	}
	// An address of two bytes at each side of zero, and a long run.
	long := "\x00\x41\x80\x01\x0b\x28" + strings.Repeat("x", 40)
	if got, want := string(binary.MergeData([]byte(header+data(1, long)))), header+data(1, long); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
