//go:build toolchains

package toolchain

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// The tests of this file call the compilers of all languages: scripts/toolchains.sh
// installs them and runs the tests.

// madeWith are the compilers that made the modules of wasmtest.Built.
var madeWith = map[string]string{"c": "clang 19.1.7", "rust": "rustc 1.63.0", "assemblyscript": "assemblyscript 0.28.20"}

func TestCommittedModulesAreThoseOfTheirSources(t *testing.T) {
	// clang runs a wasm-opt that it finds in the PATH; here that would break the build.
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "wasm-opt"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, lang := range wasmtest.Languages() {
		committed := wasmtest.BuiltIn(t, lang)
		projects, err := filepath.Glob(filepath.Join("..", "..", "plugins", lang, "*", "README.md"))
		if err != nil || len(projects) != len(committed) {
			t.Errorf("%s: %d plug-ins, %d modules (%v): make all modules anew with scripts/guests.sh", lang, len(projects), len(committed), err)
		}
		for _, plugin := range committed {
			t.Run(lang+"/"+plugin, func(t *testing.T) {
				t.Parallel() // a compiler uses one processor most of its time
				dir := filepath.Join("..", "..", "plugins", lang, plugin)
				built, err := Build(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Equal(built.Module, wasmtest.Built(t, lang, plugin)) {
					return
				}
				compiler, err := Compiler(t.Context(), lang, dir)
				t.Errorf("internal/wasmtest/built has another module: make it anew with scripts/guests.sh; here compiles %s (%v), the committed ones are made with %s",
					compiler, err, madeWith[lang])
			})
		}
	}
}

func TestANewProjectInEveryLanguageTestsAndBuilds(t *testing.T) {
	offline(t)
	for _, lang := range wasmtest.Languages() {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			var digests []string
			for _, parent := range []string{t.TempDir(), filepath.Join(t.TempDir(), "else where")} {
				dir := filepath.Join(parent, "high-values")
				if err := New(env.Real().FS, lang, "aggregate", dir); err != nil {
					t.Fatal(err)
				}
				if lang == "assemblyscript" { // what npm install would put there
					if err := os.Symlink(nodeModules(t), filepath.Join(dir, "node_modules")); err != nil {
						t.Fatal(err)
					}
				}
				built, err := Build(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				if m := built.Manifest; m.Name != "high-values" || m.SDK != lang || m.Aggregate.Width != 16 || m.Aggregate.Params[0].Default.Float != 100 {
					t.Errorf("manifest: %+v", m)
				}
				if bytes.Contains(built.Module, []byte(parent)) {
					t.Error("the module holds the path that it was built in")
				}
				if digests = append(digests, built.Digest); len(digests) == 1 {
					continue
				}
				test := strings.Fields(TestCommand(lang))
				cmd := exec.Command(test[0], test[1:]...)
				cmd.Dir = dir
				if report, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("the project's own tests: %v\n%s", err, report)
				}
			}
			if digests[0] != digests[1] {
				t.Errorf("the same sources gave %s and %s", digests[0], digests[1])
			}
		})
	}
}

// The templates of the other kinds test and build, too.
func TestNewProjectsOfEveryKindTestAndBuild(t *testing.T) {
	offline(t)
	for _, lang := range wasmtest.Languages() {
		for _, kind := range Kinds(lang) {
			if kind == "aggregate" {
				continue // TestANewProjectInEveryLanguageTestsAndBuilds
			}
			t.Run(lang+"/"+kind, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "of-a-kind")
				if err := New(env.Real().FS, lang, kind, dir); err != nil {
					t.Fatal(err)
				}
				if lang == "assemblyscript" {
					if err := os.Symlink(nodeModules(t), filepath.Join(dir, "node_modules")); err != nil {
						t.Fatal(err)
					}
				}
				built, err := Build(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				if m := built.Manifest; m.Name != "of-a-kind" || m.SDK != lang || m.Aggregate != nil {
					t.Errorf("manifest: %+v", m)
				}
				test := strings.Fields(TestCommand(lang))
				cmd := exec.Command(test[0], test[1:]...)
				cmd.Dir = dir
				if report, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("the project's own tests: %v\n%s", err, report)
				}
			})
		}
	}
}

// nodeModules is where scripts/toolchains.sh installs the compiler of AssemblyScript.
func nodeModules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "sdk", "assemblyscript", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBuildErrorsInEveryLanguage(t *testing.T) {
	for _, row := range []struct {
		name, dir string
		want      []string
	}{
		{"C that does not compile", "testdata/c/broken", []string{"broken.c:3:", "undeclared"}},
		{"C without an aggregate", "testdata/c/nothing", []string{"undefined symbol: tm_plugin"}},
		{"Rust that does not compile", "testdata/rust/broken", []string{"src/lib.rs:3:", "i32"}},
		{"Rust that is no module", "testdata/rust/library", []string{"crate-type = [\"cdylib\", \"rlib\"]"}},
		{"Rust without an aggregate", "testdata/rust/nothing", []string{"does not export the function tm_"}},
		{"a name with capitals", "testdata/rust/name", []string{`aggregate "Name": a name matches`}},
		{"a default that JSON does not know", "testdata/c/default", []string{`param "k": has a default that is not a plain whole number`}},
		{"AssemblyScript that does not compile", "testdata/assemblyscript/broken", []string{"in index.ts(3,1)", "undeclared"}},
		{"AssemblyScript without a plug-in", "testdata/assemblyscript/nothing", []string{"panic: tidemark: no plug-in is registered"}},
		{"an accumulator with a reference", "testdata/assemblyscript/reference", []string{"accumulator Names holds a reference", "use variableAggregate"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := Build(t.Context(), row.dir)
			if !errors.Is(err, fault.ErrUser) {
				t.Fatalf("got %v, want an error of the user", err)
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it to say %q", err, want)
				}
			}
		})
	}
}

func TestGuestsOfEveryLanguageSayWhatWentWrong(t *testing.T) {
	for _, lang := range wasmtest.Languages() {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			m := startMoody(t, "testdata/"+lang+"/moody")
			st, err := m.add("calm", "calm", "error", "calm")
			if err != nil || st != abi.Refused || m.Op() != 2 {
				t.Fatalf("an error: status %d, op %d, %v", st, m.Op(), err)
			}
			if got := string(m.Arena()[4096:][:m.OutUsed()]); got != "in no mood for this" {
				t.Errorf("an error: message %q", got)
			}
			if st, err = m.add("calm"); err != nil || st != abi.OK {
				t.Errorf("after an error the instance is dead: status %d, %v", st, err)
			}
			for _, row := range []struct {
				mood string
				want []string // any of them
			}{
				{"panic", []string{"panic: a fit of temper"}},
				{"hoard", []string{"panic: out of memory", "unreachable"}},
				{"deep", []string{"out of bounds memory access", "stack overflow"}},
			} {
				m.restart()
				_, err := m.add("calm", row.mood, "calm")
				var trap *guest.Trap
				if !errors.As(err, &trap) || trap.Op != 1 {
					t.Fatalf("%s: got %v, want a trap at record 1", row.mood, err)
				}
				said := false
				for _, want := range row.want {
					said = said || strings.Contains(trap.Message, want)
				}
				if !said {
					t.Errorf("%s: got %q, want one of %q", row.mood, trap.Message, row.want)
				}
			}
			// Nothing of a call is left, 64 KiB each: 200 MiB pass through a memory of 64.
			m.restart()
			for i := range 3200 {
				if st, err := m.add("calm"); err != nil || st != abi.OK {
					t.Fatalf("call %d: status %d, %v", i, st, err)
				}
			}
		})
	}
}
