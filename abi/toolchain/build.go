package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/abi/guest"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

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
	lang, err := languageOf(dir)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "tidemark-build-")
	if err != nil {
		return nil, fault.Externalf("directory for the build: %w", err)
	}
	defer os.RemoveAll(work)
	module, err := lang.compile(ctx, dir, work)
	if err != nil {
		return nil, err
	}
	return finish(ctx, module)
}

// compile runs a compiler in dir, with additions to the environment; what it says
// when it fails is the author's to read.
func compile(ctx context.Context, dir string, environ []string, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), environ...)
	var report bytes.Buffer
	cmd.Stdout, cmd.Stderr = &report, &report
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: %w", dir, ctx.Err())
		}
		return fault.Userf("build %s: %w\n%s", dir, err, strings.TrimSpace(report.String()))
	}
	return nil
}

// ask runs a tool in dir for a short answer.
func ask(ctx context.Context, dir, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	var report bytes.Buffer
	cmd.Stderr = &report
	out, err := cmd.Output()
	if err != nil {
		return "", fault.Userf("%s %s: %w\n%s", path, strings.Join(args, " "), err, strings.TrimSpace(report.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// finish turns what a compiler made into a plug-in.
func finish(ctx context.Context, module []byte) (*Built, error) {
	compiler, err := guest.NewInterpreter(ctx) // to compile a Go guest for one call takes a second
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
