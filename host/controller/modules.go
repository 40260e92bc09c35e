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

// OpenModules makes a cache over a directory, which is made if it is not there; empty:
// in memory only. The directory belongs to Tidemark and holds machine code: nobody
// else may be able to write there.
func OpenModules(ctx context.Context, machine env.Env, dir string) (*ModuleCache, error) {
	c, err := guest.NewInProcess(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &ModuleCache{wasm.NewPlugins(c, wasm.Files(machine.FS)), c}, nil
}

// Close frees all modules. No job may use them any more.
func (m *ModuleCache) Close(ctx context.Context) error {
	return errors.Join(m.Plugins.Close(ctx), m.compiler.Close(ctx))
}
