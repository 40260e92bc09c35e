package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tidemark/internal/fault"
	"tidemark/sdk"
)

// clangVersions are the versions of clang that are tried by name, the one that the
// committed modules come from first. Older ones than 14 were not tried.
var clangVersions = []string{"19", "22", "21", "20", "18", "17", "16", "15", "14"}

// clang is a C compiler and the linker of the same version: the linker reads what the
// compiler leaves to link-time optimisation.
type clang struct {
	compiler, linker string
	release          string // such as 19.1.7
}

// findClang looks for a pair of versioned names, then of plain ones.
func findClang(ctx context.Context, dir string) (clang, error) {
	names := [][2]string{}
	for _, v := range clangVersions {
		names = append(names, [2]string{"clang-" + v, "wasm-ld-" + v})
	}
	seen := ""
	for _, pair := range append(names, [2]string{"clang", "wasm-ld"}) {
		compiler, err := exec.LookPath(pair[0])
		linker, err2 := exec.LookPath(pair[1])
		if err != nil || err2 != nil {
			continue
		}
		release, err := versionOf(ctx, dir, compiler)
		if err != nil {
			return clang{}, err
		}
		linkers, err := versionOf(ctx, dir, linker)
		if err != nil {
			return clang{}, err
		}
		if major(release) == major(linkers) && major(release) >= minClang {
			return clang{compiler, linker, release}, nil
		}
		seen += fmt.Sprintf("; %s is of version %s and %s of version %s", compiler, release, linker, linkers)
	}
	return clang{}, fault.Userf("no C compiler for WebAssembly: building a plug-in needs clang and wasm-ld of one version, %d or newer, in the PATH (clang-19 and wasm-ld-19, or clang and wasm-ld)%s; "+
		"install them once: apt install clang-19 lld-19", minClang, seen)
}

// minClang is the first version that is taken.
const minClang = 14

// versionNumber finds 19.1.7 in "Debian clang version 19.1.7 (3~deb12u1)" and in
// "Debian LLD 19.1.7 (compatible with GNU linkers)".
var versionNumber = regexp.MustCompile(`(?:clang version|LLD) ([0-9]+[0-9.]*)`)

func versionOf(ctx context.Context, dir, tool string) (string, error) {
	text, err := ask(ctx, dir, tool, "--version")
	if err != nil {
		return "", err
	}
	if found := versionNumber.FindStringSubmatch(text); found != nil {
		return found[1], nil
	}
	line, _, _ := strings.Cut(text, "\n")
	return "", fault.Userf("%s says that its version is %q; it must be that of clang or LLD", tool, line)
}

// major gives 19 of "19.1.7".
func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(first) // versionNumber found digits
	return n
}

// compileC calls clang over the sources in dir and the SDK: that of the project in
// sdk/, or else this host's own.
func compileC(ctx context.Context, dir, work string) ([]byte, error) {
	tools, err := findClang(ctx, dir)
	if err != nil {
		return nil, err
	}
	include := "sdk"
	switch _, err := os.Stat(filepath.Join(dir, "sdk", "tidemark.h")); {
	case errors.Is(err, fs.ErrNotExist):
		include = filepath.Join(work, "sdk")
		if err := writeSDK("c", include); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fault.Userf("the SDK in %s: %w", dir, err)
	}
	var sources []string
	for _, from := range []string{".", include} {
		at := from
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, from)
		}
		found, err := filepath.Glob(filepath.Join(at, "*.c"))
		if err != nil {
			return nil, fault.Userf("sources in %s: %w", at, err)
		}
		for _, f := range found { // in the order of their names
			if !strings.HasSuffix(f, "_test.c") {
				sources = append(sources, filepath.Join(from, filepath.Base(f)))
			}
		}
	}
	out := filepath.Join(work, "plugin.wasm")
	args := []string{
		// What abi/SPEC.md allows, whatever this version of clang takes for granted.
		"--target=wasm32-unknown-unknown", "-mcpu=mvp", "-msign-ext", "-mbulk-memory", "-mnontrapping-fptoint",
		"-std=c11", "-O2", "-flto", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-I", include,
		// The same bytes wherever the sources lie.
		"-ffile-prefix-map=" + work + "=", "-fdebug-compilation-dir=.",
		"-fuse-ld=" + tools.linker, "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-O2",
		// A stack that overflows meets the end of the memory, not the plug-in's data.
		"-Wl,--stack-first", "-Wl,-z,stack-size=262144",
		"-o", out,
	}
	// clang runs a wasm-opt over the module where it sees one, which gives other bytes.
	if err := compile(ctx, dir, []string{"PATH=" + work}, tools.compiler, append(args, sources...)...); err != nil {
		return nil, err
	}
	module, err := os.ReadFile(out)
	if err != nil {
		return nil, fault.Externalf("read the module: %w", err)
	}
	return module, nil
}

// writeSDK puts the SDK of a language that this host carries into a directory.
func writeSDK(lang, to string) error {
	files, err := sdkFiles(lang)
	if err != nil {
		return err
	}
	for _, f := range files {
		at := filepath.Join(to, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			return fault.Externalf("directory for the build: %w", err)
		}
		if err := os.WriteFile(at, f.content, 0o666); err != nil {
			return fault.Externalf("directory for the build: %w", err)
		}
	}
	return nil
}

// sdkFiles gives the sources of an SDK without its own tests.
func sdkFiles(lang string) ([]projectFile, error) {
	var out []projectFile
	err := fs.WalkDir(sdk.Files, lang, func(at string, d fs.DirEntry, err error) error {
		base := strings.TrimSuffix(path.Base(at), path.Ext(at))
		if err != nil || d.IsDir() || strings.HasSuffix(base, "_test") {
			return err
		}
		content, err := sdk.Files.ReadFile(at)
		out = append(out, projectFile{strings.TrimPrefix(at, lang+"/"), content})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("BUG: SDK of %s: %w", lang, err)
	}
	return out, nil
}
