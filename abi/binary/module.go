// Package binary reads WebAssembly files: what they are made of, what they ask for
// and whether a host can take them as plug-ins.
//
// Read looks at any core module and judges nothing; Check judges a module against
// abi/SPEC.md and names everything that is wrong with it. Neither runs or compiles
// anything, and what they keep is bounded, so both may see a stranger's upload
// first. The package does no I/O of its own. Uploads, `plugin inspect` and
// abi/guest call it.
package binary

import "tidemark/abi"

// Module is what Read found in a file.
type Module struct {
	Size   int64
	Digest string // SHA-256 of the whole file in hex: the module's identity

	Sections []Section
	Imports  []Import
	Exports  []Export
	Memories []Limits // imported ones included, as in Tables
	Tables   []Limits

	Types         int   // of functions
	TypeValues    int   // parameters and results of all types
	Segments      int   // of data and of elements
	Functions     int   // own ones, imports not counted
	Globals       int   // own ones
	CodeBytes     int64 // of all functions
	LargestCode   int64 // of the largest function
	DataBytes     int64 // of the data section
	Start         bool  // there is a start section
	ExtraMarkers  int   // sections named tidemark behind the first
	Marker        []byte
	HasMarker     bool
	NotUnderstood []string // parts that newer proposals define
}

// Section is a part of the file.
type Section struct {
	ID     byte
	Name   string // of a custom section, else what the ID stands for
	Custom bool
	Offset int64 // of the content in the file
	Size   int64 // of the content
}

// External is the kind of thing that is imported or exported.
type External byte

// The kinds of things.
const (
	Func   External = 0
	Table  External = 1
	Memory External = 2
	Global External = 3
	Tag    External = 4
)

// String returns the word of the text format.
func (e External) String() string {
	switch e {
	case Func:
		return "function"
	case Table:
		return "table"
	case Memory:
		return "memory"
	case Global:
		return "global"
	case Tag:
		return "tag"
	}
	return "thing"
}

// Import is something that the module needs.
type Import struct {
	Module, Name string
	Kind         External
	Type         abi.FuncType // of a function

	index uint32 // of Type in the type section
}

// Export is something that the module offers.
type Export struct {
	Name  string
	Kind  External
	Index uint32
	Type  abi.FuncType // of a function
}

// Limits are the sizes of a memory, in pages, or of a table, in elements.
type Limits struct {
	Min    uint64
	Max    uint64
	HasMax bool
	Shared bool
	Is64   bool
}
