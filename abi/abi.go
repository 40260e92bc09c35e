// Package abi holds the names and numbers of SPEC.md, the stable line between host
// and guests: exports, kinds, statuses, the layout of a frame, the manifest and the
// WASI functions that guests may import.
//
// It decides nothing and does no I/O. SDKs in other languages mirror SPEC.md, not
// this package; where the two differ, SPEC.md is right.
package abi

import "slices"

// Version is the ABI version that this host speaks. Stored in modules; a change is
// a new version of SPEC.md.
const Version = 1

// SectionName is the name of the custom section with version and manifest.
const SectionName = "tidemark"

// Limits of a module (SPEC section 1). They keep what a stranger's upload can cost
// small before any of it runs; the largest real guests, built by Go, stay at about
// a third of them.
const (
	MaxModuleBytes   = 8 << 20
	MaxFunctions     = 50_000
	MaxTableElements = 65_536
	MaxMemoryPages   = 1_024 // of 64 KiB: 64 MiB
	MaxManifestBytes = 64 << 10

	// What a host keeps of a module that is open, whatever its code is. The largest real
	// guests stay at a thirtieth of these; at a quarter of the segments where Go's linker
	// has made them.
	MaxTypes      = 1_000
	MaxTypeValues = 10_000 // parameters and results of all types together
	MaxImports    = 1_000
	MaxGlobals    = 10_000
	MaxExports    = 10_000
	MaxSegments   = 100_000 // of data and of elements

	PageBytes = 64 << 10
)

// Limits of frames and what they carry (SPEC sections 2, 3 and 5).
const (
	MaxColumns     = 64 // inputs, outputs and params, each
	MaxWidth       = 4_096
	MaxAccumulator = 1 << 20 // of varying size
	MaxParamText   = 4_096
	MinArena       = 64 << 10
	MinOutput      = 4_096 // output area: a message always fits
	MaxMessage     = 4_096
	MaxCapture     = 2_048   // kept of each end of what a guest prints during a call
	MaxSides       = 16      // side outputs of a process function: each is a file
	MaxState       = 1 << 20 // of a key or a window
	MaxRowText     = 1 << 20 // of a row of a process function
	MaxWindows     = 1_000   // that an assigner gives one record
)

// Exports of a module.
const (
	ExportMemory     = "memory"
	ExportInitialize = "_initialize"
	ExportArena      = "tm_arena"
	ExportConfigure  = "tm_configure"
	ExportCreate     = "tm_aggregate_create"
	ExportAdd        = "tm_aggregate_add"
	ExportMerge      = "tm_aggregate_merge"
	ExportResult     = "tm_aggregate_result"
	ExportApply      = "tm_aggregate_apply"
	ExportProcess    = "tm_process"
	ExportPair       = "tm_pair"
	ExportWatermark  = "tm_watermark"
	ExportTick       = "tm_watermark_tick"
	ExportMap        = "tm_map"
	ExportTrigger    = "tm_trigger"
	ExportAssign     = "tm_assign"
	ExportUpgrade    = "tm_upgrade"
	ExportManifest   = "tm_manifest"
)

// Kind is the type of a column in a frame.
type Kind uint32

// The kinds. Stored in frames; never change.
const (
	Int64     Kind = 1
	Float64   Kind = 2
	Bool      Kind = 3
	String    Kind = 4
	Timestamp Kind = 5
)

// String returns the kind's name in a manifest, or "" for a number that is none.
func (k Kind) String() string {
	switch k {
	case Int64:
		return "int64"
	case Float64:
		return "float64"
	case Bool:
		return "bool"
	case String:
		return "string"
	case Timestamp:
		return "timestamp"
	}
	return ""
}

// ParseKind is the inverse of Kind.String.
func ParseKind(name string) (Kind, bool) {
	for k := Int64; k <= Timestamp; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// Status is what a call answers.
type Status uint32

// The statuses. Any other value is a protocol error.
const (
	OK         Status = 0
	Refused    Status = 1
	OutputFull Status = 2
	BadFrame   Status = 3
)

// NoOp is the value of op before a guest has begun on anything.
const NoOp = 0xFFFF_FFFF

// ValType is a type of WebAssembly, as its byte in the binary format.
type ValType byte

// The value types of core WebAssembly; vectors and references are named only for
// messages.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

// String returns the type's name in the WebAssembly text format.
func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	const hex = "0123456789abcdef"
	return "type 0x" + string([]byte{hex[t>>4], hex[t&15]})
}

// FuncType is the type of a function.
type FuncType struct{ Params, Results []ValType }

// String writes the type as SPEC.md does: "(i32, i64) -> i32".
func (t FuncType) String() string {
	list := func(ts []ValType) string {
		s := ""
		for i, v := range ts {
			if i > 0 {
				s += ", "
			}
			s += v.String()
		}
		return s
	}
	r := list(t.Results)
	if len(t.Results) != 1 {
		r = "(" + r + ")"
	}
	return "(" + list(t.Params) + ") -> " + r
}

// Equal reports whether t and u are the same type.
func (t FuncType) Equal(u FuncType) bool {
	return slices.Equal(t.Params, u.Params) && slices.Equal(t.Results, u.Results)
}

// Export is a function that a module exports.
type Export struct {
	Name     string
	Type     FuncType
	Required bool
}

// Exports returns the functions of a module with this manifest, in order of SPEC section
// 4; nil stands for what all plug-ins have.
func Exports(m *Manifest) []Export {
	frame := FuncType{[]ValType{I32}, []ValType{I32}}
	place := FuncType{nil, []ValType{I64}}
	list := []Export{
		{ExportInitialize, FuncType{}, false},
		{ExportArena, place, true},
		{ExportConfigure, frame, true},
	}
	if m != nil && m.Aggregate != nil {
		list = append(list,
			Export{ExportCreate, frame, true}, Export{ExportAdd, frame, true},
			Export{ExportMerge, frame, true}, Export{ExportResult, frame, true}, Export{ExportApply, frame, m.Aggregate.Apply})
	}
	if m != nil && m.Process != nil {
		list = append(list, Export{ExportProcess, frame, true})
	}
	if m != nil && m.Pair != nil {
		list = append(list, Export{ExportPair, frame, true})
	}
	if m != nil && m.Map != nil {
		list = append(list, Export{ExportMap, frame, true})
	}
	if m != nil && m.Generator != nil {
		list = append(list, Export{ExportWatermark, frame, true}, Export{ExportTick, frame, false})
	}
	if m != nil && m.Trigger != nil {
		list = append(list, Export{ExportTrigger, frame, true})
	}
	if m != nil && m.Assigner != nil {
		list = append(list, Export{ExportAssign, frame, true})
	}
	if m != nil && len(m.Upgrades()) > 0 {
		list = append(list, Export{ExportUpgrade, frame, true})
	}
	return append(list, Export{ExportManifest, place, false})
}
