package toolchain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/fault"
)

// tools makes a directory of programs, each of which prints a text whatever it is
// asked, and makes it the PATH.
func tools(t *testing.T, programs map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range programs {
		script := fmt.Sprintf("#!/bin/sh\necho '%s'\n", text)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

func TestFindClang(t *testing.T) {
	const install = "install them once: apt install clang-19 lld-19"
	for _, row := range []struct {
		name     string
		programs map[string]string
		want     string // the compiler's name and release, or part of the error
	}{
		{"nothing", nil, install},
		{"a compiler without a linker", map[string]string{"clang-19": "clang version 19.1.7"}, install},
		{"a pair", map[string]string{"clang-19": "Debian clang version 19.1.7 (3~deb12u1)", "wasm-ld-19": "Debian LLD 19.1.7"}, "clang-19 19.1.7"},
		{"several pairs, and 19 is what is tried first", map[string]string{
			"clang-14": "clang version 14.0.6", "wasm-ld-14": "LLD 14.0.6", "clang-19": "clang version 19.1.7", "wasm-ld-19": "LLD 19.1.7",
			"clang-20": "clang version 20.1.0", "wasm-ld-20": "LLD 20.1.0"}, "clang-19 19.1.7"},
		{"a half pair and a whole one", map[string]string{
			"clang-19": "clang version 19.1.7", "clang-14": "clang version 14.0.6", "wasm-ld-14": "LLD 14.0.6"}, "clang-14 14.0.6"},
		{"names without a version", map[string]string{"clang": "clang version 18.1.8", "wasm-ld": "LLD 18.1.8 (compatible with GNU linkers)"}, "clang 18.1.8"},
		{"a linker of another version", map[string]string{"clang": "clang version 18.1.8", "wasm-ld": "LLD 17.0.6"}, "is of version 18.1.8 and "},
		{"both too old", map[string]string{"clang": "clang version 9.0.1", "wasm-ld": "LLD 9.0.1"}, "14 or newer"},
		{"another compiler of that name", map[string]string{"clang": "acme cc", "wasm-ld": "LLD 17.0.6"}, `says that its version is "acme cc"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := tools(t, row.programs)
			c, err := findClang(t.Context(), dir)
			if err != nil {
				if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want %q", err, row.want)
				}
				return
			}
			if got := filepath.Base(c.compiler) + " " + c.release; got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestFindRust(t *testing.T) {
	const about = "rustc\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: %s\nLLVM version: 14.0.6\n"
	const wasm, lld = "lib/rustlib/wasm32-unknown-unknown/lib/libstd-1.rlib", "lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld"
	const install = "install it once: rustup target add wasm32-unknown-unknown, or on Debian: apt install rustc cargo libstd-rust-dev-wasm32 lld-14"
	type toolchain struct {
		release string
		cargo   bool
		files   []string // of the sysroot
	}
	for _, row := range []struct {
		name   string
		places []toolchain
		linker bool   // wasm-ld-14 is in the PATH
		want   string // the release, or part of the error
	}{
		{"nothing", nil, true, install},
		{"rustup's, with the target", []toolchain{{"1.95.0", true, []string{wasm, lld}}}, false, "1.95.0"},
		{"rustup's, without it", []toolchain{{"1.95.0", true, []string{lld}}}, true, "rustc has not the target; " + install},
		{"a distribution's", []toolchain{{"1.63.0", true, []string{wasm}}}, true, "1.63.0"},
		{"a distribution's without a linker", []toolchain{{"1.63.0", true, []string{wasm}}}, false, "needs the linker wasm-ld-14 (apt install lld-14)"},
		{"the second will do", []toolchain{{"1.95.0", true, nil}, {"1.63.0", true, []string{wasm}}}, true, "1.63.0"},
		{"the first does not work", []toolchain{{"none", true, nil}, {"1.63.0", true, []string{wasm}}}, true, "1.63.0"},
		{"none works", []toolchain{{"none", true, nil}}, true, "rustc does not work: "},
		{"too old", []toolchain{{"1.62.1", true, []string{wasm, lld}}}, true, `is of version "1.62.1"`},
		{"no cargo", []toolchain{{"1.97.0-nightly", false, []string{wasm, lld}}}, true, "has no cargo beside it"},
		{"something else", []toolchain{{"of summer", true, nil}}, true, `is of version "of summer"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.linker {
				tools(t, map[string]string{"wasm-ld-14": "LLD 14.0.6"})
			} else {
				tools(t, nil)
			}
			var places []string
			for _, of := range row.places {
				place, sysroot := t.TempDir(), t.TempDir()
				script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = -vV ]; then echo '"+about+"'; else echo '%s'; fi\n", of.release, sysroot)
				if of.release == "none" {
					script = "#!/bin/sh\necho no toolchain is chosen >&2\nexit 1\n"
				}
				write := func(name, text string) {
					if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o700)); err != nil {
						t.Fatal(err)
					}
				}
				write(filepath.Join(place, "rustc"), script)
				if of.cargo {
					write(filepath.Join(place, "cargo"), "")
				}
				for _, f := range of.files {
					write(filepath.Join(sysroot, f), "")
				}
				places = append(places, place)
			}
			r, err := firstRust(t.Context(), t.TempDir(), places)
			if err != nil {
				if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want %q", err, row.want)
				}
				return
			}
			if r.release != row.want || (r.linker != "") != (r.release == "1.63.0") {
				t.Errorf("got %+v, want %s", r, row.want)
			}
		})
	}
}

func TestFindAsc(t *testing.T) {
	project := filepath.Join(t.TempDir(), "project") // no directory above it has node_modules
	if err := os.Mkdir(project, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "asconfig.json"), []byte(`{"extends": "../lib/asconfig.json"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const install = "install it once: npm install in the project"
	for _, row := range []struct {
		name     string
		programs map[string]string
		want     string // part of the error
	}{
		{"nothing", nil, "needs Node.js 20 or newer"},
		{"node alone", map[string]string{"node": "v20.0.0"}, install},
		{"an old node", map[string]string{"node": "v18.20.4", "asc": ""}, `says that its version is "v18.20.4"`},
		{"no node", map[string]string{"asc": "Version 0.28.20"}, "no node in the PATH"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tools(t, row.programs)
			a, err := findAsc(t.Context(), project)
			if err == nil || !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, %v, want %q", a, err, row.want)
			}
		})
	}
	// One program stands for both: it answers for the compiler when it is given a file.
	for _, row := range []struct{ asc, want string }{
		{"Version 0.28.20", "0.28.20"},
		{"Version 0.29.0", "0.29.0"},
		{"Version 0.27.30", `says that its version is "Version 0.27.30"`},
		{"Version 1.0.0", `says that its version is "Version 1.0.0"`},
		{"something else", `says that its version is "something else"`},
	} {
		t.Run(row.asc, func(t *testing.T) {
			path := tools(t, map[string]string{"asc": ""})
			node := "#!/bin/sh\ncase $1 in --version) echo v20.0.0 ;; *) echo '" + row.asc + "' ;; esac\n"
			if err := os.WriteFile(filepath.Join(path, "node"), []byte(node), 0o700); err != nil {
				t.Fatal(err)
			}
			parent, inner := filepath.Dir(project), filepath.Join("node_modules", "assemblyscript", "bin", "asc.js")
			// Each goes before those above it.
			for _, at := range []string{filepath.Join(path, "asc"), filepath.Join(parent, "lib", inner), filepath.Join(parent, inner), filepath.Join(project, inner)} {
				if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, nil, 0o700); err != nil {
					t.Fatal(err)
				}
				a, err := findAsc(t.Context(), project)
				if err != nil {
					if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
						t.Errorf("got %v, want %q", err, row.want)
					}
					continue
				}
				if a.release != row.want || a.script != at {
					t.Errorf("got %+v, want %s in %s", a, row.want, at)
				}
			}
			for _, at := range []string{project, parent, filepath.Join(parent, "lib")} {
				if err := os.RemoveAll(filepath.Join(at, "node_modules")); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestBuildWithoutTools(t *testing.T) {
	for lang, want := range map[string]string{"c": "no C compiler for WebAssembly", "assemblyscript": "no node in the PATH"} {
		dir := filepath.Join("..", "..", "plugins", lang, "stats")
		tools(t, nil)
		if _, err := Build(t.Context(), dir); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", lang, err, want)
		}
	}
}
