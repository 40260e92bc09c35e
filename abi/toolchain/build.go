package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/abi/guest"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// minGo is the first version of Go whose modules were tried with this host.
const minGo = "go1.26"

// Built is a plug-in that can be given to a host.
type Built struct {
	Module   []byte
	Manifest *abi.Manifest
	Digest   string // SHA-256 of Module in hex: the plug-in's identity
}

// Build compiles the plug-in in dir. The same sources and the same version of the
// compiler give the same bytes, wherever they lie. Errors of the sources, the
// compiler's report among them, have class fault.ErrUser.
func Build(ctx context.Context, dir string) (*Built, error) {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Userf("directory %s does not exist", dir)
	case err != nil:
		return nil, fault.Userf("directory %s: %w", dir, err)
	case !info.IsDir():
		return nil, fault.Userf("%s is not a directory: name the one that the plug-in's sources lie in", dir)
	}
	module, err := compileGo(ctx, dir)
	if err != nil {
		return nil, err
	}
	return finish(ctx, module)
}

// compileGo calls the Go toolchain.
func compileGo(ctx context.Context, dir string) ([]byte, error) {
	if sources, err := filepath.Glob(filepath.Join(dir, "*.go")); err == nil && len(sources) == 0 {
		return nil, fault.Userf("directory %s has no Go files: a new project comes from `tidemark plugin new --lang go NAME`", dir)
	}
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, fault.Userf("no Go toolchain: the program go is not in the PATH; building a plug-in needs Go %s or newer, from https://go.dev/dl", minGo[2:])
	}
	if err := checkGo(ctx, path, dir); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "tidemark-build-")
	if err != nil {
		return nil, fault.Externalf("directory for the build: %w", err)
	}
	defer os.RemoveAll(work)
	out := filepath.Join(work, "plugin.wasm")
	// Nothing of this machine or moment goes in: no paths, no version control, no
	// build id; and no symbols, which no host reads.
	cmd := exec.CommandContext(ctx, path, "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w -buildid=", "-o", out, ".")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWASM=", "GOEXPERIMENT=")
	var report bytes.Buffer
	cmd.Stdout, cmd.Stderr = &report, &report
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("build %s: %w", dir, ctx.Err())
		}
		return nil, fault.Userf("build %s: %w\n%s", dir, err, strings.TrimSpace(report.String()))
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

// checkGo says clearly what the compiler would say in riddles.
func checkGo(ctx context.Context, path, dir string) error {
	cmd := exec.CommandContext(ctx, path, "env", "GOVERSION")
	cmd.Dir = dir
	var report bytes.Buffer
	cmd.Stderr = &report
	out, err := cmd.Output()
	if err != nil {
		return fault.Userf("ask %s for its version: %w\n%s", path, err, strings.TrimSpace(report.String()))
	}
	return judgeGo(strings.TrimSpace(string(out)), path)
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

// finish turns what a compiler made into a plug-in.
func finish(ctx context.Context, module []byte) (*Built, error) {
	compiler, err := guest.NewInProcess(ctx, "")
	if err != nil {
		return nil, err
	}
	defer compiler.Close(context.WithoutCancel(ctx)) // frees memory, and cannot fail
	module = binary.MergeData(module)
	text, err := compiler.AskManifest(ctx, module)
	if err != nil {
		// A guest that breaks down here is its author's, who calls this.
		return nil, fault.As(fault.ErrUser, fmt.Errorf("the module cannot be a plug-in: %w", err))
	}
	module = binary.WithManifest(module, text)
	info, err := binary.Read(bytes.NewReader(module))
	if err == nil {
		err = binary.Check(info)
	}
	if err != nil {
		return nil, fmt.Errorf("the module cannot be a plug-in: %w", err)
	}
	m, err := info.Manifest()
	if err != nil {
		return nil, err
	}
	return &Built{module, m, info.Digest}, nil
}

// Save writes the plug-in so that the file under its name is whole at any moment.
func (b *Built) Save(files env.FS, name string) error {
	temporary := name + ".inprogress"
	if err := write(files, temporary, b.Module); err != nil {
		return err
	}
	if err := files.Rename(temporary, name); err != nil {
		_ = files.Remove(temporary) // the error that matters is the first
		return fault.Userf("write %s: %w", name, err)
	}
	return nil
}
