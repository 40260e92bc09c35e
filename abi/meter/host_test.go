package meter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"tidemark/abi/meter"
)

// host runs modules that were rewritten, and others.
type host struct {
	runtime wazero.Runtime

	// Of the call that runs.
	quantum int64 // given at once
	limit   int64 // given in all
	granted int64
	yields  int
	lowest  int64 // what was left at a yield
}

var (
	errFuel  = errors.New("out of fuel")
	errStack = errors.New("out of stack")
)

func newHost(tb testing.TB) *host {
	tb.Helper()
	ctx := tb.Context()
	h := &host{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(200))}
	tb.Cleanup(func() { _ = h.runtime.Close(context.Background()) })
	_, err := h.runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().WithFunc(h.yield).Export(meter.Yield).Instantiate(ctx)
	if err == nil {
		_, err = wasi_snapshot_preview1.Instantiate(ctx, h.runtime)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func global(mod api.Module, name string) api.MutableGlobal {
	return mod.ExportedGlobal(name).(api.MutableGlobal)
}

func (h *host) yield(_ context.Context, mod api.Module) {
	left := int64(global(mod, meter.Fuel).Get())
	h.yields++
	h.lowest = min(h.lowest, left)
	switch spent := h.granted - left; {
	case int64(global(mod, meter.Room).Get()) < 0:
		panic(errStack)
	case spent > h.limit:
		panic(errFuel)
	default:
		more := min(h.quantum, h.limit-spent)
		h.granted = spent + more
		global(mod, meter.Fuel).Set(uint64(more))
	}
}

// start makes an instance without running any of it.
func (h *host) start(tb testing.TB, file []byte) api.Module {
	tb.Helper()
	mod, err := h.runtime.InstantiateWithConfig(tb.Context(), file, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = mod.Close(context.Background()) })
	return mod
}

// call calls a function of a rewritten module and returns what it used.
func (h *host) call(mod api.Module, limit int64, name string, args ...uint64) (results []uint64, fuel int64, err error) {
	h.limit, h.yields, h.lowest = limit, 0, 0
	h.granted = min(h.quantum, limit)
	global(mod, meter.Fuel).Set(uint64(h.granted))
	global(mod, meter.Room).Set(1 << 20)
	results, err = mod.ExportedFunction(name).Call(context.Background(), args...)
	return results, h.granted - int64(global(mod, meter.Fuel).Get()), err
}

// reason is the runtime's word for how a call ended.
func reason(err error) string {
	if err == nil {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\nwasm stack trace")
	if _, what, ok := strings.Cut(text, "wasm error: "); ok {
		return what
	}
	return text
}

func rewrite(tb testing.TB, file []byte) []byte {
	tb.Helper()
	out, err := meter.Rewrite(file)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
