package guest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Elsewhere opens modules that another process has compiled: what compiling costs, and
// whether it ends, is then that process's trouble. The two share a directory of machine
// code. A module is opened only once the other process has said that all of its code is
// there.
//
// Safe for concurrent use. Modules are compiled one at a time, so that the memory that
// this takes is that of one.
type Elsewhere struct {
	*InProcess
	files   env.FS
	done    string // directory of marks, one for each module that is compiled
	compile func(ctx context.Context, file []byte, cacheDir string) error
	dir     string
	one     chan struct{}
}

var _ Compiler = (*Elsewhere)(nil)

// NewElsewhere makes a compiler over the directory cacheDir, of which NewInProcess says
// more. compile has a module compiled into that directory, by another process that does
// what InProcess does; an error of class fault.ErrUser is about the module.
func NewElsewhere(ctx context.Context, cacheDir string, files env.FS, compile func(ctx context.Context, file []byte, cacheDir string) error) (*Elsewhere, error) {
	in, err := NewInProcess(ctx, cacheDir)
	if err != nil {
		return nil, err
	}
	e := &Elsewhere{InProcess: in, files: files, compile: compile, dir: cacheDir, done: filepath.Join(cacheDir, "done-"+runtimeVersion()), one: make(chan struct{}, 1)}
	if err := files.MkdirAll(e.done, 0o700); err != nil {
		return nil, fault.Externalf("directory of compiled plug-ins: %w", err)
	}
	return e, nil
}

// runtimeVersion is that of the Wasm runtime: another version's machine code is not used.
func runtimeVersion() string {
	const path = "github.com/tetratelabs/wazero"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}

// Compile implements Compiler.
func (e *Elsewhere) Compile(ctx context.Context, file []byte) (*Module, error) {
	info, manifest, err := inspect(file)
	if err != nil {
		return nil, err
	}
	if err := e.prepare(ctx, file, info.Digest); err != nil {
		return nil, fmt.Errorf("compile plug-in %s: %w", manifest.Name, err)
	}
	return e.InProcess.Compile(ctx, file)
}

// prepare sees to it that a module's machine code is in the directory.
func (e *Elsewhere) prepare(ctx context.Context, file []byte, digest string) error {
	mark := filepath.Join(e.done, digest)
	ready := func() bool { _, err := e.files.Stat(mark); return err == nil }
	if ready() {
		return nil
	}
	select {
	case e.one <- struct{}{}:
		defer func() { <-e.one }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ready() { // whoever was before has done it
		return nil
	}
	if err := e.compile(ctx, file, e.dir); err != nil {
		return err
	}
	f, err := e.files.Create(mark, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fault.Externalf("directory of compiled plug-ins: %w", err)
	}
	return nil
}

// inspect checks a file as far as that is possible without compiling it.
func inspect(file []byte) (*binary.Module, *abi.Manifest, error) {
	info, err := binary.Read(bytes.NewReader(file))
	if err != nil {
		return nil, nil, err
	}
	if err := binary.Check(info); err != nil {
		return nil, nil, err
	}
	manifest, err := info.Manifest()
	return info, manifest, err
}
