package conformance

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

// golden is the folder of modules that stay as they are.
const golden = "../testdata/guests/v1"

// Every file is there as it was, and none beside them.
func TestGoldenGuestsAreNeverEdited(t *testing.T) {
	var got []string
	err := fs.WalkDir(os.DirFS(golden), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "README.md" || path == "DIGESTS" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(golden, path))
		got = append(got, fmt.Sprintf("%x  %s", sha256.Sum256(b), path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(golden, "DIGESTS"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(list)), "\n")
	if !slices.Equal(got, want) {
		onlyWant, onlyGot := difference(want, got)
		t.Errorf("DIGESTS says\n%s\nbut there is\n%s\nfiles here are never edited, only added to: see the README", onlyWant, onlyGot)
	}
}

// A module by hand is what its source says, and a standard plug-in conforms.
func TestGoldenGuestsConform(t *testing.T) {
	modules, err := filepath.Glob(filepath.Join(golden, "*", "*.wasm"))
	if err != nil || len(modules) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for _, path := range modules {
		name := strings.TrimSuffix(filepath.Base(path), ".wasm")
		t.Run(filepath.Base(filepath.Dir(path))+"/"+name, func(t *testing.T) {
			module, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(strings.TrimSuffix(path, ".wasm") + ".txt"); err == nil {
				if made, err := wasmtest.Assemble(string(text)); err != nil || !bytes.Equal(made, module) {
					t.Errorf("its source makes another module: %v", err)
				}
			}
			if slices.Contains(Plugins(), name) {
				conforms(t, name, module)
				return
			}
			k, err := Open(t.Context(), compiled)
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close(t.Context())
			m, err := k.compiler.Compile(t.Context(), module)
			if err != nil {
				t.Fatal(err)
			}
			i, err := m.Instantiate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			i.Close()
		})
	}
}
