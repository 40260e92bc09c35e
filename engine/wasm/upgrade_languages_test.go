package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// float is the bytes of a number.
func float(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }

// Accumulators of a fixed size, more than a frame holds: each with its own answer, which
// results are made of.
func TestFixedAccumulatorsAreUpgradedInEveryLanguage(t *testing.T) {
	inEveryLanguage(t, "mean", func(t *testing.T, a udf.Aggregate) {
		up := a.(udf.Upgrader)
		for schema, want := range map[uint32]int{1: 16, 2: 24, 3: -1} {
			if width, ok := up.Former(schema); ok != (want >= 0) || ok && width != want {
				t.Errorf("schema %d: width %d, %t", schema, width, ok)
			}
		}
		var old, want [][]byte
		for i := range int64(150_000) {
			old = append(old, slices.Concat(float(0.5), float(float64(i))))
			want = append(want, slices.Concat(words(i), float(float64(i)/2)))
		}
		got, err := up.Upgrade(udf.KeptAccumulator, 1, old)
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("%d states: %d upgraded, %v", len(old), len(got), err)
		}
		narrow, err := up.Upgrade(udf.KeptAccumulator, 2, [][]byte{slices.Concat(float(7), words(2), float(3))})
		if err != nil || !bytes.Equal(narrow[0], slices.Concat(words(2), float(7))) {
			t.Fatalf("from schema 2: %x, %v", narrow, err)
		}
		var into, from udf.Accs
		into.Reset(16)
		into.Append(got[4])
		from.Reset(16)
		from.Append(narrow[0])
		if err := a.Merge(&into, &from); err != nil {
			t.Fatal(err)
		}
		if got := result(t, a, &into); !slices.Equal(got, []string{"6 1.5"}) { // 4 of 0.5, and 7 of 2
			t.Errorf("the result is %q", got)
		}
		for _, row := range []struct {
			schema uint32
			states [][]byte
			want   string
		}{
			{1, [][]byte{old[1], slices.Concat(float(1), float(0.5))}, "plug-in plug cannot upgrade what it keeps from schema 1: a count is not a whole number"},
			{2, [][]byte{old[1]}, "from schema 2: a state of an older schema has another size than its type"},
			{7, [][]byte{old[1]}, "from schema 7: the host asks for an upgrade that the plug-in does not have"},
		} {
			if _, err := up.Upgrade(udf.KeptAccumulator, row.schema, row.states); !errors.Is(err, fault.ErrGuest) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		}
	})
}

// Accumulators of all lengths up to 1 MiB, over many frames.
func TestVaryingAccumulatorsAreUpgradedInEveryLanguage(t *testing.T) {
	inEveryLanguage(t, "history", func(t *testing.T, a udf.Aggregate) {
		var old, want [][]byte
		for n := range 2000 {
			size := n * n / 200 // up to 20 KB
			if n%500 == 0 {
				size = 1<<20 - 3
			}
			text := bytes.Repeat([]byte{'a' + byte(n%26)}, size)
			old = append(old, append(bytes.Clone(text), '\n'))
			want = append(want, append(binary.AppendUvarint(nil, uint64(size)), text...))
		}
		got, err := a.(udf.Upgrader).Upgrade(udf.KeptAccumulator, 1, old)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d states: %d upgraded, %v", len(old), len(got), err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("state %d of %d bytes is wrong: %d bytes, want %d", i, len(old[i]), len(got[i]), len(want[i]))
			}
		}
	})
}
