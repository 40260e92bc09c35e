package meter_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"tidemark/abi/binary"
	"tidemark/abi/meter"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// Whatever bytes come, the rewriter says no or gives a module that is valid if the
// bytes were, ends, and does the same.
func FuzzRewrite(f *testing.F) {
	for _, name := range []string{"sum", "join", "minmax"} {
		f.Add(wasmtest.Guest(f, name))
	}
	f.Add(everything())
	f.Add(dealer())
	for _, choices := range []string{"", strings.Repeat("abcdefghijklmnop", 20), strings.Repeat("\x08\x01\x07\x09\x0a\x05", 60)} {
		plain, counted := programs([]byte(choices))
		f.Add(plain)
		f.Add(counted)
	}
	h := newHost(f)
	h.quantum = 1_000
	f.Fuzz(func(t *testing.T, file []byte) {
		metered, err := meter.Rewrite(file)
		if err != nil {
			if !errors.Is(err, fault.ErrUser) {
				t.Errorf("%v is nobody's fault", err)
			}
			return
		}
		if len(file) > 4_096 || !small(file) {
			return
		}
		ctx := context.Background()
		plain, err := h.runtime.CompileModule(ctx, file)
		if err != nil {
			return
		}
		defer plain.Close(ctx)
		if shapes, err := meter.Measure(file); err != nil || shapes.Unread > 0 || len(shapes.Newer) > 0 && !slices.Equal(shapes.Newer, []string{"reference types"}) {
			t.Errorf("is taken, and measured as %+v, %v", shapes, err)
		}
		code, err := h.runtime.CompileModule(ctx, metered)
		if err != nil {
			t.Fatalf("was valid, and is not: %v", err)
		}
		defer code.Close(ctx)
		compare(t, h, plain, code)
	})
}

// small reports whether a file can be given to a compiler that has no limits itself.
func small(file []byte) bool {
	m, err := binary.Read(bytes.NewReader(file))
	if err != nil {
		return false
	}
	for _, l := range append(m.Tables, m.Memories...) {
		if l.Min > 10_000 {
			return false
		}
	}
	return true
}

// compare runs what a module exports, and then the same without metering.
func compare(t *testing.T, h *host, plain, metered wazero.CompiledModule) {
	const limit = 50_000
	ctx := context.Background()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	h.quantum, h.granted, h.limit = 1_000, 0, limit // for a start function
	a, err := h.runtime.InstantiateModule(ctx, metered, config)
	if stopped(err) {
		return
	}
	b, berr := h.runtime.InstantiateModule(ctx, plain, config)
	if reason(err) != reason(berr) {
		t.Fatalf("starts with %v, and was %v", err, berr)
	}
	if err != nil {
		return
	}
	defer a.Close(ctx)
	defer b.Close(ctx)
	for name, f := range plain.ExportedFunctions() {
		args := make([]uint64, len(f.ParamTypes()))
		got, _, err := h.call(a, limit, name, args...)
		if stopped(err) {
			return // memories differ from here on
		}
		want, werr := b.ExportedFunction(name).Call(ctx, args...)
		if reason(err) != reason(werr) {
			t.Fatalf("%s ends with %v, and did with %v", name, err, werr)
		}
		for i, typ := range f.ResultTypes() {
			if err == nil && (typ == api.ValueTypeI32 || typ == api.ValueTypeI64) && got[i] != want[i] {
				t.Fatalf("%s gives %v, and gave %v", name, got, want)
			}
		}
	}
}

func stopped(err error) bool { return errors.Is(err, errFuel) || errors.Is(err, errStack) }

// FuzzPrograms is FuzzRewrite with programs that are valid to begin with.
func FuzzPrograms(f *testing.F) {
	f.Add([]byte(strings.Repeat("abcdefghijklmnop", 20)))
	f.Add([]byte(strings.Repeat("\x08\x01\x07\x09\x0a\x05", 60)))
	h := newHost(f)
	h.quantum = 1_000
	f.Fuzz(func(t *testing.T, choices []byte) { checkProgram(t, h, choices) })
}
