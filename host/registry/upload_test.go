package registry

import (
	"errors"
	"strings"
	"testing"

	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// What does not fit this host is refused at upload, with both sides named: what the module has,
// and what it must have.
func TestUploadsNameBothSides(t *testing.T) {
	r := open(t, t.TempDir())
	if _, _, err := r.Put(t.Context(), "a", wasmtest.Guest(t, "stats")); err != nil {
		t.Fatal(err)
	}
	const has, params = `"version": "1.0.0"`, `"type": "float64", "default": 0`
	for _, c := range []struct {
		name  string
		guest string
		edits []string
		want  string
	}{
		{"a later version of the ABI", "stats", []string{"memory 6", "version 2\nmemory 6"}, "built for ABI version 2, this host speaks version 1"},
		{"an earlier version of the ABI", "stats", []string{"memory 6", "version 0\nmemory 6"}, "built for ABI version 0, this host speaks version 1"},
		{"a missing export", "stats", []string{"func tm_aggregate_result", "func result"}, "does not export the function tm_aggregate_result (i32) -> i32, which its manifest asks for"},
		{"a missing export of every plug-in", "stats", []string{"func tm_configure", "func configure"}, "does not export the function tm_configure (i32) -> i32, which every plug-in has"},
		{"exports of another kind than the manifest's", "unpaid", []string{"func tm_pair", "func tm_map"}, "does not export the function tm_pair (i32) -> i32, which its manifest asks for"},
		{"another parameter", "unpaid", []string{"func tm_pair f:i32 -> i32 |", "func tm_pair f:i32 g:i64 -> i32 |"}, "exports tm_pair as (i32, i64) -> i32, it must be (i32) -> i32"},
		{"another result", "stats", []string{"func tm_configure f:i32 -> i32\n", "func tm_configure f:i32 -> i64\n  i64.const 0 return\n"}, "exports tm_configure as (i32) -> i64, it must be (i32) -> i32"},
		{"the arena in another form", "stats", []string{"func tm_arena -> i64\n  i64.const 0x0001_0000_0004_0000", "func tm_arena -> i32\n  0"}, "exports tm_arena as () -> i32, it must be () -> i64"},
		{"a column of another type", "stats", []string{`"name": "value", "type": "float64"`, `"name": "value", "type": "float32"`}, `manifest aggregate.inputs[0].type: is "float32", it must be int64, float64, bool, string or timestamp`},
		{"a column whose type is no text", "stats", []string{`"name": "value", "type": "float64"`, `"name": "value", "type": 2`}, "manifest aggregate.inputs[0].type: must be int64, float64, bool, string or timestamp"},
		{"a parameter of a type that columns alone have", "unpaid", []string{params, `"type": "timestamp"`}, `manifest pair.params[0].type: is "timestamp", a parameter must be int64, float64, bool or string`},
		{"a default of another type than the parameter", "unpaid", []string{params, `"type": "int64", "default": 0.5`}, "manifest pair.params[0].default: must be an int64, written without fraction and exponent"},
		{"two kinds at once", "stats", []string{has, has + `, "map": {"inputs": [], "outputs": [{"name": "n", "type": "int64"}]}`}, "manifest map: stands beside aggregate: a module is one of them"},
		{"an accumulator that is too wide", "stats", []string{`"width": 32`, `"width": 4104`}, "manifest aggregate.accumulator.width: must be a whole number from 0 to 4096"},
		{"a function that no host offers", "stats", []string{"memory 6", "import env.now -> i64\nmemory 6"}, `imports function "env"."now", which the host does not offer`},
		{"a WASI function of another type", "stats", []string{"memory 6", "import wasi_snapshot_preview1.proc_exit i64\nmemory 6"}, `imports function "wasi_snapshot_preview1"."proc_exit" as (i64) -> (), it is (i32) -> ()`},
		{"too much memory", "stats", []string{"memory 6", "memory 2000"}, "starts with 2000 pages of memory, at most 1024 (64 MiB) are allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := r.Put(t.Context(), "a", wasmtest.Guest(t, c.guest, c.edits...))
			if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
