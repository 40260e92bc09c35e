//go:build toolchains

package conformance

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/abi/toolchain"
)

// The kit passes for every plug-in in Go.
func TestAllConformInGo(t *testing.T) {
	for _, name := range Plugins() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conforms(t, name, buildGo(t, name))
		})
	}
}

// And it bites in the SDK in Go. A build takes seconds, so there are few.
func TestTheKitBitesInGo(t *testing.T) {
	for _, c := range []struct {
		fault, plugin  string
		file, old, new string
		where, what    string
		got            string
	}{
		{"later operations do not see a new state", "count_or_timeout", "sdk/go/state.go", "\ts.now[of.slot(s.what)] = body\n", "\t_ = body\n",
			"windows.txt:", "the n-th record fires", "1: state 0100000000000000"},
		{"nulls are values", "probe", "sdk/go/column.go", "return c.valid != nil && c.valid[r.i>>6]>>(r.i&63)&1 == 0", "return c.valid != nil && c.valid[0]>>(r.i&63)&1 == 0",
			"generated.txt:", "nulls in any pattern", "row"},
		{"a reset does nothing", "stats", "sdk/go/apply.go", "			k.renew(acc)\n", "",
			"apply.txt:", "a result on the way, a reset, a merge and a last result", "5: row count=3 sum=4.5"},
		{"every result goes to the first row", "stats", "sdk/go/apply.go", "w = Out{i: int(o.arg),", "w = Out{i: 0,",
			"apply.txt:", "a result on the way, a reset, a merge and a last result", "1: row count=2 sum=0.5"},
		{"an operation is believed", "stats", "sdk/go/apply.go", " || o.acc >= f.groups ||", " ||",
			"a frame that cannot be read", "operation 0 on an accumulator that there is not", "status 0"},
		{"an upgrade from any schema is the first one", "mean", "sdk/go/upgrade.go", "		if x.schema == schema {\n", "		if x.schema > 0 {\n",
			"accumulators.txt:", "accumulators of schema 2, which were wider", "REFUSED op=0"},
		{"op is not stored in upgrades", "history", "sdk/go/upgrade.go", "		f.op = uint32(i)\n", "",
			"accumulators.txt:", "accumulators of schema 1", "op is -1 after 3 items, it must be 2"},
		{"what is upgraded is always a state of a key", "visits", "sdk/go/upgrade.go", "Kept(heads[0].keys)", "KeptOfKey",
			"states.txt:", "states of windows", "the count of a key has 4 bytes"},
		{"states are not padded", "every", "sdk/go/upgrade.go", "end := used + 4 + (len(now)+3)&^3", "end := used + 5 + (len(now)+3)&^3",
			"states.txt:", "states of schema 1", "accumulator 1 has 2048 bytes, 36 are left"},
		{"a table of states is believed", "visits", "sdk/go/upgrade.go", "if !good || !good2 {\n		return badFrame", "if !good || false && !good2 {\n		return badFrame",
			"a frame that cannot be read", "states of keys\", with states beyond the frame", "TRAP"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			original, err := filepath.Abs(filepath.Join("../..", c.file))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(original)
			if err != nil {
				t.Fatal(err)
			}
			faulty := strings.Replace(string(text), c.old, c.new, 1)
			if faulty == string(text) {
				t.Fatalf("%s has no %q", c.file, c.old)
			}
			dir := t.TempDir()
			replacement, overlay := filepath.Join(dir, "faulty.go"), filepath.Join(dir, "overlay.json")
			files, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(replacement, []byte(faulty), 0o600), os.WriteFile(overlay, files, 0o600)); err != nil {
				t.Fatal(err)
			}
			t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
			built, err := toolchain.Build(t.Context(), filepath.Join("../../plugins", c.plugin))
			if err != nil {
				t.Fatal(err)
			}
			finds(t, check(t, c.plugin, built.Module), c.where, c.what, c.got)
		})
	}
}
