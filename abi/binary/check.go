package binary

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/abi"
	"tidemark/internal/fault"
)

// Manifest reads the module's manifest. Errors have class fault.ErrUser.
func (m *Module) Manifest() (*abi.Manifest, error) {
	switch {
	case !m.HasMarker:
		return nil, fault.Userf("no section named %s: not a plug-in; build it with tidemark plugin build", abi.SectionName)
	case m.ExtraMarkers > 0:
		return nil, fault.Userf("%d sections named %s, there must be one: build it with tidemark plugin build", m.ExtraMarkers+1, abi.SectionName)
	case len(m.Marker) < 4:
		return nil, fault.Userf("section %s has %d bytes, too few for a version", abi.SectionName, len(m.Marker))
	}
	if v := binary.LittleEndian.Uint32(m.Marker); v != abi.Version {
		return nil, fault.Userf("built for ABI version %d, this host speaks version %d", v, abi.Version)
	}
	return abi.ParseManifest(m.Marker[4:])
}

// Check tells whether a module can be a plug-in of this host (SPEC section 1). The
// error names every problem, a line each; its class is fault.ErrUser.
func Check(m *Module) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	manifest, err := m.Manifest()
	if err != nil {
		errs = append(errs, err)
	}
	if m.Size > abi.MaxModuleBytes {
		fail("has %d bytes, at most %d are allowed", m.Size, abi.MaxModuleBytes)
	}
	for _, c := range []struct {
		has, most int
		what      string
	}{
		{m.Functions, abi.MaxFunctions, "functions"},
		{m.Types, abi.MaxTypes, "types of functions"},
		{m.TypeValues, abi.MaxTypeValues, "parameters and results in its types"},
		{len(m.Imports), abi.MaxImports, "imports"},
		{m.Globals, abi.MaxGlobals, "globals"},
		{len(m.Exports), abi.MaxExports, "exports"},
		{m.Segments, abi.MaxSegments, "segments of data and elements"},
	} {
		if c.has > c.most {
			fail("has %d %s, at most %d are allowed", c.has, c.what, c.most)
		}
	}
	if m.Start {
		fail("has a start section: what must run first belongs into %s", abi.ExportInitialize)
	}
	for _, s := range m.NotUnderstood {
		fail("uses a newer proposal than the host takes: %s", s)
	}
	checkMemory(m, fail)
	checkImports(m, fail)
	// Without a manifest it is not known which kind the module wants to be, so only
	// what all plug-ins have is asked for.
	checkExports(m, manifest, fail)
	return fault.As(fault.ErrUser, errors.Join(errs...))
}

func checkMemory(m *Module, fail func(string, ...any)) {
	if n := len(m.Memories); n != 1 {
		fail("has %d memories, there must be one", n)
	}
	for _, l := range m.Memories {
		switch {
		case l.Shared:
			fail("has a shared memory: build it without threads")
		case l.Is64:
			fail("has a 64-bit memory: build it for wasm32")
		case l.Min > abi.MaxMemoryPages:
			fail("starts with %d pages of memory, at most %d (%d MiB) are allowed", l.Min, abi.MaxMemoryPages, abi.MaxMemoryPages*abi.PageBytes>>20)
		}
	}
	var elements uint64
	for _, l := range m.Tables {
		elements += min(l.Min, abi.MaxTableElements+1)
	}
	if elements > abi.MaxTableElements {
		fail("has tables of more than %d elements", abi.MaxTableElements)
	}
}

// maxNamed bounds how many foreign imports an error names.
const maxNamed = 10

func checkImports(m *Module, fail func(string, ...any)) {
	allowed := map[string]abi.FuncType{}
	for _, f := range abi.WASI() {
		allowed[f.Name] = f.Type()
	}
	foreign := 0
	for _, i := range m.Imports {
		want, ok := allowed[i.Name]
		switch {
		case i.Kind != Func || i.Module != abi.WASIModule || !ok:
			if foreign++; foreign <= maxNamed {
				fail("imports %s %q.%q, which the host does not offer", i.Kind, i.Module, i.Name)
			}
		case !i.Type.Equal(want):
			fail("imports function %q.%q as %s, it is %s", i.Module, i.Name, i.Type, want)
		}
	}
	if foreign > maxNamed {
		fail("imports %d other things that the host does not offer", foreign-maxNamed)
	}
}

// asks says who wants an export.
func asks(name string) string {
	for _, e := range abi.Exports(nil) {
		if e.Name == name {
			return "every plug-in has"
		}
	}
	return "its manifest asks for"
}

func checkExports(m *Module, manifest *abi.Manifest, fail func(string, ...any)) {
	exports := make(map[string]Export, len(m.Exports))
	for _, e := range m.Exports {
		exports[e.Name] = e
	}
	switch e, ok := exports[abi.ExportMemory]; {
	case !ok:
		fail("does not export its memory as %q", abi.ExportMemory)
	case e.Kind != Memory:
		fail("exports a %s as %q, it must be the memory", e.Kind, abi.ExportMemory)
	}
	for _, want := range abi.Exports(manifest) {
		switch e, ok := exports[want.Name]; {
		case !ok && want.Required:
			fail("does not export the function %s %s, which %s", want.Name, want.Type, asks(want.Name))
		case ok && e.Kind != Func:
			fail("exports a %s as %s, it must be a function", e.Kind, want.Name)
		case ok && !e.Type.Equal(want.Type):
			fail("exports %s as %s, it must be %s", want.Name, e.Type, want.Type)
		}
	}
}
