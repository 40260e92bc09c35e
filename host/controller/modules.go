package controller

import (
	"context"
	"errors"

	"tidemark/abi/guest"
	"tidemark/engine/wasm"
	"tidemark/internal/env"
)

// ModuleCache opens plug-ins by their file and keeps them compiled, in memory and, for
// the next process, in a directory. Safe for concurrent use.
type ModuleCache struct {
	*wasm.Plugins
	compiler guest.Compiler
}

var _ Modules = (*ModuleCache)(nil)

// Compile has a module compiled by another process, which calls CompileInto; see
// guest.Elsewhere.
type Compile func(ctx context.Context, module []byte, dir string) error

// CompileInto compiles a module in this process, into an empty directory, for another
// process that has it as its Compile.
func CompileInto(ctx context.Context, machine env.Env, module []byte, dir string) error {
	return guest.Prepare(ctx, machine.FS, module, dir)
}

// OpenModules makes a cache over a directory, which is made if it is not there; empty:
// in memory only. The directory belongs to Tidemark and holds machine code: nobody
// else may be able to write there.
//
// Where there is a directory, a module that is in it is opened by its shell, as those of
// tenants are: reading its code again is half of what a job with a plug-in in Go costs to
// start.
func OpenModules(ctx context.Context, machine env.Env, dir string) (*ModuleCache, error) {
	if dir != "" {
		return OpenTenantModules(ctx, machine, dir, func(ctx context.Context, module []byte, into string) error {
			return CompileInto(ctx, machine, module, into)
		})
	}
	c, err := guest.NewInProcess(ctx, "")
	if err != nil {
		return nil, err
	}
	return newModuleCache(c, machine), nil
}

// OpenTenantModules is OpenModules for modules of people who may not use this machine as
// they like: compile does the work elsewhere.
func OpenTenantModules(ctx context.Context, machine env.Env, dir string, compile Compile) (*ModuleCache, error) {
	c, err := guest.NewElsewhere(ctx, dir, machine, compile)
	if err != nil {
		return nil, err
	}
	return newModuleCache(c, machine), nil
}

func newModuleCache(c guest.Compiler, machine env.Env) *ModuleCache {
	return &ModuleCache{wasm.NewPlugins(c, wasm.Files(machine.FS)), c}
}

// Try compiles a module and keeps nothing but its machine code: what is wrong with it is
// known before a job needs it.
func (m *ModuleCache) Try(ctx context.Context, module []byte) error {
	compiled, err := m.compiler.Compile(ctx, module)
	if err != nil {
		return err
	}
	return compiled.Close(ctx)
}

// Close frees all modules. No job may use them any more.
func (m *ModuleCache) Close(ctx context.Context) error {
	return errors.Join(m.Plugins.Close(ctx), m.compiler.Close(ctx))
}
