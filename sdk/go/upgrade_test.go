//go:build !wasip1

package tidemark

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// upgradedBy serves a frame of tm_upgrade with an output area of so many bytes.
func upgradedBy(t *testing.T, u upgrades, width, schema, what int, states []Acc, room int) (status, uint32, []Acc) {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	w := newWriter()
	w.h.groups = uint32(len(states))
	w.h.block = w.area(48)
	*w.u32(w.h.block, 0), *w.u32(w.h.block, 1) = uint32(schema), uint32(what)
	w.h.acc = w.accs(states, 0)
	w.h.out, w.h.outCap = uint32(w.at), uint32(room)
	w.h.size = uint32(w.at + room)
	f, good := openFrame(0, arenaBytes)
	if !good {
		t.Fatal("the frame cannot be read")
	}
	st := u.serve(f, width)
	switch st {
	case ok:
		return st, w.h.done, w.answered(len(states))
	case outputFull:
		return st, w.h.done, w.answered(int(w.h.done))
	}
	return st, w.h.op, []Acc{Acc(w.out()[:w.h.outUsed])}
}

func TestUpgradeServesFrames(t *testing.T) {
	type old struct{ n int32 }
	type now struct {
		flag bool // with a gap behind it
		n    int64
	}
	u := upgrades{
		UpgradeFrom(1, func(o *old, n *now) error { *n = now{true, int64(o.n)}; return nil }),
		UpgradeBytes(2, func(b []byte, what Kept) ([]byte, error) {
			if len(b) == 0 {
				return nil, errors.New("nothing was kept")
			}
			return append([]byte{byte(what)}, b...), nil
		}),
	}
	odd := upgrades{UpgradeFrom(1, func(o *int32, n *[3]int32) error { *n = [3]int32{1, *o, 3}; return nil })}
	word := func(v uint64) Acc { return binary.LittleEndian.AppendUint64(nil, v) }
	one := func(n uint64) Acc { return append(word(1), word(n)...) }
	half := func(v ...uint32) (b Acc) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	for _, row := range []struct {
		name                      string
		u                         upgrades
		width, schema, what, room int
		states                    []Acc
		st                        status
		number                    uint32 // done, or op
		want                      []Acc
	}{
		{"structs", u, 16, 1, 0, 4096, []Acc{word(5), word(6)}, ok, 0, []Acc{one(5), one(6)}},
		{"bytes of windows", u, 0, 2, 2, 4096, []Acc{Acc("abc"), Acc("d")}, ok, 0, []Acc{Acc("\x02abc"), Acc("\x02d")}},
		{"what fits", u, 0, 2, 1, 19, []Acc{Acc("abc"), Acc("d"), Acc("e")}, outputFull, 2, []Acc{Acc("\x01abc"), Acc("\x01d")}},
		{"nothing fits", u, 0, 2, 1, 7, []Acc{Acc("abc")}, outputFull, 0, nil},
		{"a refusal", u, 0, 2, 1, 4096, []Acc{Acc("abc"), {}}, refused, 1, []Acc{Acc("nothing was kept")}},
		{"an old state of another size", u, 16, 1, 0, 4096, []Acc{Acc("abc")}, refused, 0, []Acc{Acc(errOldWidth)}},
		{"a new one of another size", u, 24, 1, 0, 4096, []Acc{word(5)}, refused, 0, []Acc{Acc(errNewWidth)}},
		{"an unknown schema", u, 16, 3, 0, 4096, []Acc{word(5)}, refused, 0, []Acc{Acc(errNoUpgrade)}},
		{"structs whose size is no multiple of 8, as accumulators", odd, 16, 1, 0, 4096, []Acc{half(5, 0)}, ok, 0, []Acc{half(1, 5, 3, 0)}},
		{"and as states", odd, 0, 1, 1, 4096, []Acc{half(5), half(6)}, ok, 0, []Acc{half(1, 5, 3), half(1, 6, 3)}},
		{"a state with the size of an accumulator", odd, 0, 1, 1, 4096, []Acc{half(5, 0)}, refused, 0, []Acc{Acc(errOldWidth)}},
	} {
		st, number, got := upgradedBy(t, row.u, row.width, row.schema, row.what, row.states, row.room)
		same := len(got) == len(row.want)
		for i := range row.want {
			same = same && bytes.Equal(got[i], row.want[i])
		}
		if st != row.st || number != row.number || !same {
			t.Errorf("%s: status %d, number %d, %q, want %d, %d, %q", row.name, st, number, got, row.st, row.number, row.want)
		}
	}
}

func TestUpgradesAreChecked(t *testing.T) {
	none := func(b []byte, _ Kept) ([]byte, error) { return b, nil }
	fixed := func(schema int) Upgrade {
		return UpgradeFrom(schema, func(old, now *int64) error { *now = *old; return nil })
	}
	for _, row := range []struct {
		u             upgrades
		schema, width int
		want          string
	}{
		{nil, 1, 8, ""},
		{upgrades{fixed(1), fixed(2)}, 3, 8, ""},
		{upgrades{UpgradeBytes(1, none)}, 2, 0, ""},
		{upgrades{UpgradeBytes(1, none), fixed(2)}, 3, -1, ""},
		{upgrades{fixed(1)}, 1, 8, "an upgrade is from schema 1, which must be at least 1 and below 1"},
		{upgrades{fixed(0)}, 2, 8, "an upgrade is from schema 0"},
		{upgrades{fixed(1), fixed(1)}, 2, 8, "there are two upgrades from schema 1"},
		{upgrades{UpgradeBytes(1, none)}, 2, 8, "the upgrade from schema 1 mixes accumulators of fixed and of varying size"},
		{make(upgrades, 65), 2, 8, "more than 64 upgrades"},
	} {
		if got := row.u.check(row.schema, row.width); row.want == "" && got != "" || !strings.HasPrefix(got, row.want) {
			t.Errorf("%d upgrades to schema %d, width %d: %q, want %q", len(row.u), row.schema, row.width, got, row.want)
		}
	}
	if got := string(upgrades{fixed(1), fixed(2)}.appendJSON(nil, true)); got != `,"upgrades":[{"schema":1,"width":8},{"schema":2,"width":8}]` {
		t.Error(got)
	}
	if got := string(upgrades{fixed(1)}.appendJSON(nil, false)); got != `,"upgrades":[{"schema":1}]` {
		t.Error(got)
	}
}
