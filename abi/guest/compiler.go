// Package guest compiles and runs plug-ins: it turns checked modules into instances
// whose exports can be called, and answers the few WASI functions that they import.
//
// It is the only package that knows the Wasm runtime. It knows frames only as far
// as their place in memory and the fields that the guest writes; what is in them is
// the caller's. It believes nothing that a guest says: addresses, sizes and counts
// are checked before they are used. engine/wasm and the conformance suite call it.
//
// Every module is metered before it is compiled (abi/meter): each call has so much
// fuel and so much stack, and asks the host often enough for the end of a job's context
// to end it.
package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/abi/meter"
	"tidemark/internal/fault"
)

// Compiler makes modules out of files. Safe for concurrent use.
type Compiler interface {
	// Compile checks a file and compiles it. Errors about the file have class
	// fault.ErrUser. ctx ends a compilation early, between two functions.
	Compile(ctx context.Context, file []byte) (*Module, error)
	// Close frees what the compiler holds; its modules must be closed before.
	Close(ctx context.Context) error
}

// InProcess compiles in this process. A small crafted module can take many seconds
// and much memory to compile, so it is for modules of people who may use the
// machine anyway.
type InProcess struct {
	cache   wazero.CompilationCache
	runtime wazero.Runtime
	rewrite func(file []byte) ([]byte, error)
}

var _ Compiler = (*InProcess)(nil)

// coreFeatures are those of SPEC section 1. Reference types are out, and with them
// table.grow, which knows no limit.
const coreFeatures = api.CoreFeatureMutableGlobal | api.CoreFeatureSignExtensionOps | api.CoreFeatureBulkMemoryOperations |
	api.CoreFeatureMultiValue | api.CoreFeatureNonTrappingFloatToIntConversion | api.CoreFeatureSIMD

// NewInProcess makes a compiler that keeps machine code in the directory cacheDir,
// by digest, and so compiles a module once per machine; several processes may share
// it. Whoever can write there can run code in this process: it belongs to the user
// alone. An empty cacheDir keeps machine code in memory.
func NewInProcess(ctx context.Context, cacheDir string) (*InProcess, error) {
	c := &InProcess{cache: wazero.NewCompilationCache(), rewrite: meter.Rewrite}
	if cacheDir != "" {
		var err error
		if c.cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return nil, fault.Externalf("directory of compiled plug-ins: %w", err)
		}
	}
	return c.start(ctx, wazero.NewRuntimeConfig().WithCompilationCache(c.cache))
}

// NewInterpreter makes a compiler that does not compile: its modules do the same for the same
// fuel, start at once, and run much more slowly. It is for a single call of a module that is
// still to change.
func NewInterpreter(ctx context.Context) (*InProcess, error) {
	c := &InProcess{cache: wazero.NewCompilationCache(), rewrite: meter.Rewrite}
	return c.start(ctx, wazero.NewRuntimeConfigInterpreter())
}

func (c *InProcess) start(ctx context.Context, config wazero.RuntimeConfig) (*InProcess, error) {
	c.runtime = wazero.NewRuntimeWithConfig(ctx, config.
		WithCoreFeatures(coreFeatures).
		WithMemoryLimitPages(abi.MaxMemoryPages).
		WithDebugInfoEnabled(false).
		WithCloseOnContextDone(false)) // 1.6 µs a call, and it does not stop every guest: fuel does
	if err := errors.Join(hostModule(ctx, c.runtime), yieldModule(ctx, c.runtime)); err != nil {
		return nil, fmt.Errorf("BUG: host functions of guests: %w", err)
	}
	return c, nil
}

// NewUnmetered makes a compiler whose modules pay for nothing, so that what metering costs
// can be measured. Nothing ends their calls: it is for modules that are known to end.
func NewUnmetered(ctx context.Context) (*InProcess, error) {
	c, err := NewInProcess(ctx, "")
	if err == nil {
		c.rewrite = meter.Free
	}
	return c, err
}

// Compile implements Compiler.
func (c *InProcess) Compile(ctx context.Context, file []byte) (*Module, error) {
	info, manifest, err := inspect(file)
	if err != nil {
		return nil, err
	}
	metered, err := c.rewrite(file)
	if err != nil {
		return nil, fmt.Errorf("compile plug-in %s: %w", manifest.Name, err)
	}
	m, err := c.open(ctx, info, manifest, metered)
	if err != nil {
		return nil, fmt.Errorf("compile plug-in %s: %w", manifest.Name, compileError(ctx, err))
	}
	return m, nil
}

// open has the runtime read a rewritten module, and compile it unless there is machine
// code of it. Errors have no class.
func (c *InProcess) open(ctx context.Context, info *binary.Module, manifest *abi.Manifest, metered []byte) (*Module, error) {
	compiled, err := c.runtime.CompileModule(ctx, metered)
	if err != nil {
		return nil, err
	}
	return &Module{manifest: manifest, digest: info.Digest, compiled: compiled, runtime: c.runtime}, nil
}

// compileError gives an error of the runtime its class.
func compileError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok { // the cache, not the module
		return fault.As(fault.ErrExternal, err)
	}
	return fault.As(fault.ErrUser, err)
}

// Close implements Compiler.
func (c *InProcess) Close(ctx context.Context) error {
	err := c.runtime.Close(ctx)
	if cerr := c.cache.Close(ctx); err == nil {
		err = cerr
	}
	return err
}

// Module is a compiled plug-in. It may be instantiated any number of times, also at
// once. Close it after its instances.
type Module struct {
	manifest *abi.Manifest
	digest   string
	compiled wazero.CompiledModule
	runtime  wazero.Runtime
}

// Manifest returns what the module says of itself; the caller does not change it.
func (m *Module) Manifest() *abi.Manifest { return m.manifest }

// Digest returns the SHA-256 of the file in hex.
func (m *Module) Digest() string { return m.digest }

// Close frees the machine code.
func (m *Module) Close(ctx context.Context) error { return m.compiled.Close(ctx) }
