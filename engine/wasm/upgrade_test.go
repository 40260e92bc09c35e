package wasm

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// words are accumulators, or one, of int64.
func words(values ...int64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func TestUpgrade(t *testing.T) {
	a := startGo(t, "testdata/upgrade").(udf.Upgrader)
	for schema, want := range map[uint32]int{1: 8, 2: 24, 3: -1, 4: -1} {
		if width, ok := a.Former(schema); ok != (want >= 0) || ok && width != want {
			t.Errorf("schema %d: width %d, %t", schema, width, ok)
		}
	}

	// More than a frame holds, twice; each state with its own answer.
	var old, want [][]byte
	for i := range int64(300_000) {
		old, want = append(old, words(i)), append(want, words(1, i))
	}
	got, err := a.Upgrade(udf.KeptAccumulator, 1, old)
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("%d states: %d upgraded, %v", len(old), len(got), err)
	}
	got, err = a.Upgrade(udf.KeptAccumulator, 2, [][]byte{words(3, 4, 5), words(6, 7, 8)})
	if want := [][]byte{words(2, 8), words(2, 14)}; err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("from schema 2: %x, %v", got, err)
	}
	if got, err := a.Upgrade(udf.KeptAccumulator, 1, nil); err != nil || len(got) > 0 {
		t.Errorf("no states: %x, %v", got, err)
	}
	// It traps on every instance that has done something, and not on a fresh one.
	got, err = a.Upgrade(udf.KeptAccumulator, 1, [][]byte{words(1), words(-3), words(2), words(-3)})
	if want := [][]byte{words(1, 1), words(1, -3), words(1, 2), words(1, -3)}; err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("worn instances: %x, %v", got, err)
	}
	for _, row := range []struct {
		name, want string
		schema     uint32
		states     [][]byte
	}{
		{"a refusal", "plug-in plug cannot upgrade what it keeps from schema 1: a count is below 0", 1, [][]byte{words(1), words(-1), words(2)}},
		{"a trap", "plug-in plug cannot upgrade what it keeps from schema 1: panic: no luck with -2", 1, [][]byte{words(1), words(-2), words(2)}},
		{"another size than the manifest says", "from schema 2: a state of an older schema has another size than its type", 2, [][]byte{words(1)}},
		{"a schema that it does not know", "from schema 7: the host asks for an upgrade that the plug-in does not have", 7, [][]byte{words(1)}},
	} {
		if _, err := a.Upgrade(udf.KeptAccumulator, row.schema, row.states); err == nil || !strings.Contains(err.Error(), row.want) || !errors.Is(err, fault.ErrGuest) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
	// It works on.
	if got, err := a.Upgrade(udf.KeptAccumulator, 1, [][]byte{words(4)}); err != nil || !slices.Equal(got[0], words(1, 4)) {
		t.Errorf("after failures: %x, %v", got, err)
	}
}
