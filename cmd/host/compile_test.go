package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

// A tenant's module that takes too long or too much memory to compile is refused, with a
// reason that its owner understands; the host goes on, and takes the next one.
func TestModulesThatAreTooMuchToCompile(t *testing.T) {
	dir := workspace(t, map[string]string{"sum.wasm": string(wasmtest.Guest(t, "sum"))})
	s := serve(t, dir)
	token := tenantIn(t, dir, "a")
	var locals, use strings.Builder
	const wide = 2800 // locals and loops: together as many as a function may have
	for i := range wide {
		fmt.Fprintf(&locals, " l%d:i64", i)
		fmt.Fprintf(&use, "loop $l%d i64.const 1 i64.add =l%d $x br_if 0 end ", i, (i+1)%wide)
	}
	for i := range wide { // all of them are alive in all loops
		fmt.Fprintf(&use, "$l%d drop ", i)
	}
	for _, c := range []struct{ name, body, want string }{
		{"a function of more than 1 MiB", "func straight x:i32\n" + strings.Repeat("  call tm_arena drop\n", 400_000), "bytes of code, a function may have 1048576"},
		{"calls that answer much", "func much ->" + strings.Repeat(" i64", 1000) + "\n  unreachable\nfunc calls x:i32\n  " + strings.Repeat("block call much br 0 end ", 20_000) + "\n", "takes more than 400 MiB of memory"},
		{"many locals in many loops", "func wide x:i32 |" + locals.String() + "\n  " + use.String() + "\n", "takes more than 3s of processor time"},
		{"blocks in blocks", "func deep x:i32\n  " + strings.Repeat("$x if ", 40_000) + strings.Repeat("end ", 40_000) + "\n", "blocks, loops and ifs in each other more than 2199 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bomb, err := wasmtest.Assemble(wasmtest.Text(t, "sum") + c.body)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "bomb.wasm"), bomb, 0o644); err != nil {
				t.Fatal(err)
			}
			_, stderr, code := s.as(t, dir, token, "plugin", "push", "bomb.wasm")
			if code != 2 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d, want 2 and %q:\n%s", code, c.want, stderr)
			}
		})
	}
	if _, stderr, code := s.as(t, dir, token, "plugin", "push", "sum.wasm"); code != 0 {
		t.Errorf("a module like others: exit %d\n%s", code, stderr)
	}
	done, err := filepath.Glob(filepath.Join(dir, "data", "compiled", "done-*", "*"))
	if err != nil || len(done) != 1 {
		t.Errorf("marks of compiled modules: %v, %v", done, err)
	}
}
