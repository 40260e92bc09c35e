package wasmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What is kept is bounded, and the directory itself stays: another package may be using it.
func TestMachineCodeIsBounded(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := MachineCode(root)
	if err != nil {
		t.Fatal(err)
	}
	runtime := filepath.Join(dir, "runtime")
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := func() int {
		entries, err := os.ReadDir(runtime)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	for i := range maxCompiled {
		if err := os.WriteFile(filepath.Join(runtime, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := MachineCode(root); err != nil || again != dir || kept() != maxCompiled {
		t.Errorf("%s, %v; %d files are kept", again, err, kept())
	}
	if err := os.WriteFile(filepath.Join(runtime, "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := MachineCode(root); err != nil || kept() != 0 {
		t.Errorf("%v; %d files are kept", err, kept())
	}
}
