package toolchain

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/fault"
)

// language is what this package knows of a language in which plug-ins are written,
// beside its SDK and its template.
type language struct {
	name string
	// sources is the pattern of files by which a project is known. The first language
	// of the table that fits is a project's.
	sources string
	// tests is the command that runs a project's own tests.
	tests string
	// compiler names what would compile the project in dir, with its version; the error
	// says what must be installed once.
	compiler func(ctx context.Context, dir string) (string, error)
	// compile makes a module of the sources in dir; work is a directory for what
	// comes about on the way.
	compile func(ctx context.Context, dir, work string) ([]byte, error)
}

// languages gives the table. A function: its rows call what asks for it.
func languages() []language {
	return []language{
		{"rust", "Cargo.toml", "cargo test",
			func(ctx context.Context, dir string) (string, error) {
				r, err := findRust(ctx, dir)
				return "rustc " + r.release, err
			}, compileRust},
		{"go", "*.go", "go test ./...",
			func(ctx context.Context, dir string) (string, error) {
				_, release, err := findGo(ctx, dir)
				return release, err
			}, compileGo},
		{"c", "*.c", "make test",
			func(ctx context.Context, dir string) (string, error) {
				c, err := findClang(ctx, dir)
				return "clang " + c.release, err
			}, compileC},
		{"assemblyscript", "asconfig.json", "npm test",
			func(ctx context.Context, dir string) (string, error) {
				a, err := findAsc(ctx, dir)
				return "assemblyscript " + a.release, err
			}, compileAssemblyScript},
	}
}

// Languages names the languages that New and Build know, in order.
func Languages() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.name)
	}
	slices.Sort(names)
	return names
}

// named gives a language by its name.
func named(name string) (language, error) {
	for _, l := range languages() {
		if l.name == name {
			return l, nil
		}
	}
	return language{}, fault.Userf("language %q: there is no SDK for it, there is one for %s", name, strings.Join(Languages(), ", "))
}

// languageOf says in which language the project in dir is written.
func languageOf(dir string) (language, error) {
	for _, l := range languages() {
		if found, err := filepath.Glob(filepath.Join(dir, l.sources)); err == nil && len(found) > 0 {
			return l, nil
		}
	}
	return language{}, fault.Userf("directory %s has no sources of a plug-in (*.go, *.c, Cargo.toml or asconfig.json): a new project comes from `tidemark plugin new --lang %s NAME`",
		dir, strings.Join(Languages(), "|"))
}

// TestCommand is what runs the own tests of a project in a language that Languages
// names.
func TestCommand(lang string) string {
	l, err := named(lang)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return l.tests
}

// Compiler names the compiler, with its version, that Build would call for a project in
// dir. The error, of class fault.ErrUser, names what must be installed once.
func Compiler(ctx context.Context, lang, dir string) (string, error) {
	l, err := named(lang)
	if err != nil {
		return "", err
	}
	return l.compiler(ctx, dir)
}
