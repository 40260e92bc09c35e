package guest

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"

	"github.com/tetratelabs/wazero/experimental"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/abi/meter"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Elsewhere opens modules that another process has rewritten and compiled: what that
// costs, and whether it ends, is then that process's trouble. This one reads the file to
// check it and to know its digest, and gives the runtime no more than a shell of it
// (meter.Shell), whose size SPEC section 1 bounds whatever the code is.
//
//	DIR/shells-VERSIONS/DIGEST   the shells; one is there only if its machine code is
//	DIR/wazero-…/KEY             machine code, as the runtime names it
//	DIR/making-RANDOM            what is being compiled; the end of a process may leave one
//
// Safe for concurrent use. Modules are compiled one at a time, so that the memory that
// this takes is that of one.
type Elsewhere struct {
	runtime *InProcess
	machine env.Env
	dir     string
	shells  string
	prepare func(ctx context.Context, file []byte, dir string) error
	one     chan struct{}
}

var _ Compiler = (*Elsewhere)(nil)

// NewElsewhere makes a compiler over the directory cacheDir, of which NewInProcess says
// more. prepare has another process do what Prepare does, in an empty directory; an error
// of class fault.ErrUser is about the module.
func NewElsewhere(ctx context.Context, cacheDir string, machine env.Env, prepare func(ctx context.Context, file []byte, dir string) error) (*Elsewhere, error) {
	in, err := NewInProcess(ctx, cacheDir)
	if err != nil {
		return nil, err
	}
	e := &Elsewhere{runtime: in, machine: machine, dir: cacheDir, shells: filepath.Join(cacheDir, shellsDir()), prepare: prepare, one: make(chan struct{}, 1)}
	if err := machine.FS.MkdirAll(e.shells, 0o700); err != nil {
		return nil, errors.Join(fault.Externalf("directory of compiled plug-ins: %w", err), in.Close(ctx))
	}
	return e, nil
}

// shellsDir is the name of the directory of shells: machine code of another version of the
// runtime or of the rewriter is not used.
func shellsDir() string { return fmt.Sprintf("shells-%s-%d", runtimeVersion(), meter.Version) }

// runtimeVersion is that of the Wasm runtime.
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

// Close implements Compiler.
func (e *Elsewhere) Close(ctx context.Context) error { return e.runtime.Close(ctx) }

// Compile implements Compiler.
func (e *Elsewhere) Compile(ctx context.Context, file []byte) (*Module, error) {
	info, manifest, err := inspect(file)
	if err != nil {
		return nil, err
	}
	m, err := e.open(ctx, info, manifest)
	if err == nil {
		return m, nil
	}
	select {
	case e.one <- struct{}{}:
		defer func() { <-e.one }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if m, err = e.open(ctx, info, manifest); err == nil { // whoever was before has done it
		return m, nil
	}
	if err = e.make(ctx, file, info.Digest); err == nil {
		m, err = e.open(ctx, info, manifest)
	}
	if err != nil {
		return nil, fmt.Errorf("compile plug-in %s: %w", manifest.Name, err)
	}
	return m, nil
}

// errNoCode: the module is to be compiled first.
var errNoCode = errors.New("its machine code is not in the directory of compiled plug-ins")

// open opens a module by its shell, if it was compiled. What else goes wrong is the
// directory's fault: a shell is made of a module that the runtime has taken.
func (e *Elsewhere) open(ctx context.Context, info *binary.Module, manifest *abi.Manifest) (*Module, error) {
	shell, err := e.shell(info.Digest)
	if err != nil {
		return nil, fault.As(fault.ErrExternal, err)
	}
	// Without machine code the runtime would compile the shell. It looks whether it is to
	// stop before it begins on the first function, if it has workers.
	ctx, cancel := context.WithCancelCause(experimental.WithCompilationWorkers(context.WithoutCancel(ctx), 2))
	cancel(errNoCode)
	m, err := e.runtime.open(ctx, info, manifest, shell)
	return m, fault.As(fault.ErrExternal, err)
}

func (e *Elsewhere) shell(digest string) ([]byte, error) {
	f, err := e.machine.FS.Open(filepath.Join(e.shells, digest))
	if err != nil {
		return nil, err
	}
	shell, err := io.ReadAll(io.LimitReader(f, 2*abi.MaxModuleBytes))
	return shell, errors.Join(err, f.Close())
}

// make has a module compiled and puts what comes of it into the directory.
func (e *Elsewhere) make(ctx context.Context, file []byte, digest string) error {
	var suffix [8]byte
	if _, err := io.ReadFull(e.machine.Rand, suffix[:]); err != nil {
		return fault.As(fault.ErrExternal, err)
	}
	dir := filepath.Join(e.dir, "making-"+hex.EncodeToString(suffix[:]))
	err := e.machine.FS.MkdirAll(dir, 0o700)
	if err != nil {
		return fault.As(fault.ErrExternal, err)
	}
	if err = e.prepare(ctx, file, dir); err == nil {
		err = e.keep(dir, digest)
	}
	return errors.Join(err, fault.As(fault.ErrExternal, removeAll(e.machine.FS, dir)))
}

// keep moves a prepared module to its place: the machine code first.
func (e *Elsewhere) keep(dir, digest string) error {
	files := e.machine.FS
	code, err := onlyCode(files, dir)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(dir, code)
	if err != nil {
		return fault.As(fault.ErrExternal, err)
	}
	for _, move := range []struct{ from, to string }{
		{code, filepath.Join(e.dir, below)},
		{filepath.Join(dir, shellFile), filepath.Join(e.shells, digest)},
	} {
		err := files.Rename(move.from, move.to)
		if err == nil {
			err = files.SyncDir(filepath.Dir(move.to))
		}
		if err != nil {
			return fault.As(fault.ErrExternal, err)
		}
	}
	return nil
}

// removeAll removes a directory with all that is in it.
func removeAll(files env.FS, dir string) error {
	entries, err := files.ReadDir(dir)
	errs := []error{err}
	for _, d := range entries {
		name := filepath.Join(dir, d.Name())
		if d.IsDir() {
			errs = append(errs, removeAll(files, name))
		} else {
			errs = append(errs, files.Remove(name))
		}
	}
	return errors.Join(append(errs, files.Remove(dir))...)
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
