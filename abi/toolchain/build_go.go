package toolchain

import (
	"context"
	"errors"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tidemark/internal/fault"
)

// minGo is the first version of Go whose modules were tried with this host.
const minGo = "go1.26"

// findGo gives the Go toolchain, as it is chosen in dir.
func findGo(ctx context.Context, dir string) (path, release string, err error) {
	path, err = exec.LookPath("go")
	if err != nil {
		return "", "", fault.Userf("no Go toolchain: the program go is not in the PATH; building a plug-in needs Go %s or newer, from https://go.dev/dl", minGo[2:])
	}
	if release, err = ask(ctx, dir, path, "env", "GOVERSION"); err != nil {
		return "", "", err
	}
	return path, release, judgeGo(release, path)
}

// compileGo calls the Go toolchain.
func compileGo(ctx context.Context, dir, work string) ([]byte, error) {
	path, _, err := findGo(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(work, "plugin.wasm")
	// Nothing of this machine or moment goes in: no paths, no version control, no
	// build id; and no symbols, which no host reads.
	err = compile(ctx, dir, []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWASM=", "GOEXPERIMENT="},
		path, "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w -buildid=", "-o", out, ".")
	if err != nil {
		return nil, err
	}
	module, err := os.ReadFile(out)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) { // go build of a library writes nothing
			return nil, fault.Userf("build %s: not a program: a plug-in is a package main", dir)
		}
		return nil, fault.Externalf("read the module: %w", err)
	}
	return module, nil
}

// judgeGo judges what `go env GOVERSION` says: "go1.26.1", perhaps with experiments
// behind it or "devel" before it.
func judgeGo(found, path string) error {
	for word := range strings.FieldsSeq(found) {
		word, _, _ = strings.Cut(word, "-")
		if version.IsValid(word) {
			if version.Compare(word, minGo) < 0 {
				return fault.Userf("Go %s or newer is needed to build a plug-in, %s is %s; newer ones are at https://go.dev/dl", minGo[2:], path, word[2:])
			}
			return nil
		}
	}
	return fault.Userf("Go %s or newer is needed to build a plug-in, and %s says that its version is %q", minGo[2:], path, found)
}
