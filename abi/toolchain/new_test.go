package toolchain

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

func TestNewWritesAWholeProject(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) { writesAWholeProject(t, kind) })
	}
}

func writesAWholeProject(t *testing.T, kind string) {
	dir := filepath.Join(t.TempDir(), "deep", "high-values")
	if err := New(env.Real().FS, "go", kind, dir); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, at)
			got = append(got, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".gitignore", "README.md", "go.mod", "main.go", "main_test.go", "sdk/go.mod", "sdk/raw_wasip1.go", "sdk/raw_native.go"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, name := range got {
		if strings.HasPrefix(name, "sdk/") && strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".tmpl") {
			t.Errorf("%s does not belong into a project", name)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "{{") {
			t.Errorf("%s has a place that was not filled", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	full := filepath.Join(t.TempDir(), "full")
	if err := New(env.Real().FS, "go", "aggregate", full); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, lang, dir, want, kind string }{
		{"a directory with files", "go", full, "is not empty", ""},
		{"a file of that name", "go", file, "file", ""},
		{"a path under a file", "go", filepath.Join(file, "under"), "under", ""},
		{"a language that has no SDK", "cobol", filepath.Join(t.TempDir(), "x"), `language "cobol": there is no SDK for it, there is one for go`, ""},
		{"a name with capitals", "go", filepath.Join(t.TempDir(), "Big"), `name "Big"`, ""},
		{"a name with a dot", "go", filepath.Join(t.TempDir(), "a.b"), `name "a.b"`, ""},
		{"no name", "go", "", `name "."`, ""},
		{"a directory above", "go", "..", `name ".."`, ""},
		{"a kind that there is not", "go", filepath.Join(t.TempDir(), "k"), `kind "trigger": a plug-in is one of aggregate, process, pair`, "trigger"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := New(env.Real().FS, row.lang, cmp.Or(row.kind, "aggregate"), row.dir)
			if err == nil || !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want it to say %q", err, row.want)
			}
		})
	}
}

func TestNewTakesAnEmptyDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "empty")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := New(env.Real().FS, "go", "aggregate", dir); err != nil {
		t.Error(err)
	}
}
