package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tidemark/abi/meter"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// A prepared module is two files: machine code, where the runtime looks for it, and the
// shell (meter.Shell) that it is opened with. The runtime finds machine code by the digest
// of what it is asked to compile, so the code of the whole module is kept under the name
// that the shell's would have.
const (
	shellFile = "shell"
	codeFiles = "wazero-*/*" // the runtime's choice: its version and machine, and a key
)

// Prepare checks, rewrites and compiles a module, and leaves in the empty directory dir
// what opening it needs. It is what another process does for Elsewhere: all that a crafted
// module can make long or large happens here. Errors are those of Compile, without the name
// of the plug-in.
func Prepare(ctx context.Context, files env.FS, file []byte, dir string) error {
	if _, _, err := inspect(file); err != nil {
		return err
	}
	whole, err := meter.Rewrite(file)
	if err != nil {
		return err
	}
	shell, err := meter.Shell(whole)
	if err != nil {
		return err
	}
	code, err := machineCode(ctx, files, whole, filepath.Join(dir, "whole"))
	if err != nil {
		return err
	}
	place, err := machineCode(ctx, files, shell, dir)
	if err != nil {
		return err
	}
	if err := files.Rename(code, place); err != nil {
		return fault.As(fault.ErrExternal, err)
	}
	return writeFile(files, filepath.Join(dir, shellFile), shell)
}

// machineCode compiles a rewritten module and returns where its machine code is: the only
// one below dir.
func machineCode(ctx context.Context, files env.FS, module []byte, dir string) (string, error) {
	c, err := NewInProcess(ctx, dir)
	if err != nil {
		return "", err
	}
	_, err = c.runtime.CompileModule(ctx, module)
	if err := errors.Join(compileError(ctx, err), c.Close(ctx)); err != nil {
		return "", err
	}
	return onlyCode(files, dir)
}

// onlyCode returns the path of the only machine code below dir.
func onlyCode(files env.FS, dir string) (string, error) {
	names, err := files.Glob(filepath.Join(dir, codeFiles))
	if err == nil && len(names) != 1 {
		err = fmt.Errorf("%s: %d files of machine code, there must be one", dir, len(names))
	}
	if err != nil {
		return "", fault.As(fault.ErrExternal, err)
	}
	return names[0], nil
}

// writeFile makes a file that is there as a whole once its directory says so.
func writeFile(files env.FS, name string, content []byte) error {
	f, err := files.Create(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fault.As(fault.ErrExternal, err)
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	return fault.As(fault.ErrExternal, errors.Join(err, f.Close()))
}
