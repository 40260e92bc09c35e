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
	"tidemark/sdk"
)

func TestNewWritesAWholeProject(t *testing.T) {
	wanted := map[string][]string{
		"assemblyscript": {".gitignore", "README.md", "package.json", "package-lock.json", "asconfig.json", "tsconfig.json", "assembly/index.ts", "test/index.test.js",
			"sdk/asconfig.json", "sdk/exports.ts", "sdk/twin.js", "sdk/laws.js", "sdk/functions.js", "sdk/compile.js", "sdk/tidemark/index.ts", "sdk/tidemark/raw.ts"},
		"go":   {".gitignore", "README.md", "go.mod", "main.go", "main_test.go", "sdk/go.mod", "sdk/raw_wasip1.go", "sdk/raw_native.go"},
		"rust": {".gitignore", "README.md", "Cargo.toml", "src/lib.rs", "sdk/Cargo.toml", "sdk/src/lib.rs", "sdk/src/raw.rs", "sdk/src/twin.rs"},
		"c":    {".gitignore", "README.md", "Makefile", "main.c", "main_test.c", "sdk/tidemark.h", "sdk/tidemark.c", "sdk/raw_wasm32.c", "sdk/twin.c"},
	}
	for _, lang := range Languages() {
		for _, kind := range Kinds(lang) {
			t.Run(lang+" "+kind, func(t *testing.T) { writesAWholeProject(t, lang, kind, wanted[lang]) })
		}
		if !slices.Equal(Kinds(lang), kinds[:]) {
			t.Errorf("%s has projects of %v only", lang, Kinds(lang))
		}
	}
	if len(wanted) != len(Languages()) {
		t.Error("not all languages")
	}
}

func writesAWholeProject(t *testing.T, lang, kind string, wanted []string) {
	dir := filepath.Join(t.TempDir(), "deep", "high-values")
	if err := New(env.Real().FS, lang, kind, dir); err != nil {
		t.Fatal(err)
	}
	got := filesBelow(t, dir)
	for _, want := range append(wanted, "README.md") {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, name := range got {
		if strings.HasPrefix(name, "sdk/") && strings.Contains(name, "_test.") || strings.HasSuffix(name, ".tmpl") {
			t.Errorf("%s does not belong into a project", name)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "{{name") {
			t.Errorf("%s has a place that was not filled", name)
		}
	}
}

func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, at)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryLanguageHasAnSDKAndATemplate(t *testing.T) {
	entries, err := sdk.Files.ReadDir("template")
	if err != nil {
		t.Fatal(err)
	}
	var templates []string
	for _, e := range entries {
		templates = append(templates, e.Name())
	}
	if !slices.Equal(templates, Languages()) {
		t.Errorf("templates for %v, languages %v", templates, Languages())
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
		{"a language that has no SDK", "cobol", filepath.Join(t.TempDir(), "x"), `language "cobol": there is no SDK for it, there is one for assemblyscript, c, go, rust`, ""},
		{"a name with capitals", "go", filepath.Join(t.TempDir(), "Big"), `name "Big"`, ""},
		{"a name with a dot", "go", filepath.Join(t.TempDir(), "a.b"), `name "a.b"`, ""},
		{"no name", "go", "", `name "."`, ""},
		{"a directory above", "go", "..", `name ".."`, ""},
		{"a kind that there is not", "c", filepath.Join(t.TempDir(), "k"), `kind "reduce": a new plug-in in c is one of aggregate, process, pair, map, watermark, trigger, assigner`, "reduce"},
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
