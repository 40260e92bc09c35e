//go:build wasip1

package tidemark

import (
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

// This file is the raw ABI: the functions of abi/SPEC.md, section 4, and what a Go
// module needs around them. `go build -buildmode=c-shared` adds _initialize, which
// runs the initialisers of package variables, so a registration in one of them is
// complete before the first call; main is never called.

// registered is what the module is. It is set once, while the module starts:
// exported functions have no receiver that could hold it.
var registered module

func register(m module) {
	if registered != nil {
		panic("tidemark: a module registers one plug-in, this one has " +
			jsonString(registered.name()) + " and " + jsonString(m.name()))
	}
	registered = m
}

//go:wasmexport tm_arena
func tmArena() int64 {
	return int64(uintptr(unsafe.Pointer(&arena)))<<32 | arenaBytes
}

//go:wasmexport tm_configure
func tmConfigure(at int32) int32 { return serve(opConfigure, at) }

//go:wasmexport tm_aggregate_create
func tmCreate(at int32) int32 { return serve(opCreate, at) }

//go:wasmexport tm_aggregate_add
func tmAdd(at int32) int32 { return serve(opAdd, at) }

//go:wasmexport tm_aggregate_merge
func tmMerge(at int32) int32 { return serve(opMerge, at) }

//go:wasmexport tm_aggregate_result
func tmResult(at int32) int32 { return serve(opResult, at) }

//go:wasmexport tm_aggregate_apply
func tmApply(at int32) int32 { return serve(opApply, at) }

//go:wasmexport tm_process
func tmProcess(at int32) int32 { return serve(opProcess, at) }

//go:wasmexport tm_pair
func tmPair(at int32) int32 { return serve(opPair, at) }

//go:wasmexport tm_watermark
func tmWatermark(at int32) int32 { return serve(opWatermark, at) }

//go:wasmexport tm_watermark_tick
func tmTick(at int32) int32 { return serve(opTick, at) }

//go:wasmexport tm_map
func tmMap(at int32) int32 { return serve(opMap, at) }

//go:wasmexport tm_trigger
func tmTrigger(at int32) int32 { return serve(opTrigger, at) }

//go:wasmexport tm_assign
func tmAssign(at int32) int32 { return serve(opAssign, at) }

//go:wasmexport tm_upgrade
func tmUpgrade(at int32) int32 { return serve(opUpgrade, at) }

//go:wasmexport tm_manifest
func tmManifest() int64 {
	if registered == nil {
		panic("tidemark: no plug-in is registered; declare one in a package variable: var plugin = tidemark.FixedAggregate[…](…), or tidemark.Process(…)")
	}
	m := registered.manifest()
	kept = m
	return int64(uintptr(unsafe.Pointer(&m[0])))<<32 | int64(len(m))
}

// kept holds the manifest that the caller is about to read.
var kept []byte

func serve(o op, at int32) int32 {
	defer guard()
	off := uintptr(uint32(at)) - uintptr(unsafe.Pointer(&arena))
	if registered == nil || off >= arenaBytes { // below the arena, off wraps
		return int32(badFrame)
	}
	st := registered.call(o, off, arenaBytes-off)
	breathe(off)
	return int32(st)
}

// The collector works in goroutines of its own, which run only while the caller
// yields; a guest that never does grows until its memory is full. A yield costs about
// as much as the whole call of a single record, so small calls share one: what they
// may leave behind until then is small too.
const recordsPerYield = 1024

// unyielded counts records and groups since the last yield.
var unyielded uint32

func breathe(off uintptr) {
	h := (*header)(arenaAt(off))
	unyielded += h.rows + h.groups
	if registered.steady() && unyielded < recordsPerYield {
		return
	}
	unyielded = 0
	runtime.Gosched()
}

// maxPlaces bounds the places that guard prints: a host keeps little of the text.
const maxPlaces = 8

// guard prints a panic with the places that led to it, innermost first, and ends the
// instance. The runtime would print the stacks of all goroutines, most of them its
// own.
func guard() {
	r := recover()
	if r == nil {
		return
	}
	print("panic: ", panicText(r), "\n")
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	for places := 0; places < maxPlaces; {
		at, more := frames.Next()
		if strings.HasPrefix(at.Function, sdkPrefix) && places > 0 {
			break // from here on it is the SDK's own
		}
		if !strings.HasPrefix(at.Function, "runtime.") && !strings.HasPrefix(at.Function, sdkPrefix) {
			print("\tat ", at.Function, " (", at.File, ":", at.Line, ")\n")
			places++
		}
		if !more {
			break
		}
	}
	exit(2)
}

// sdkPrefix begins the names of this package's functions.
const sdkPrefix = "tidemark/sdk/go."

// panicText is what the runtime would print.
func panicText(r any) string {
	switch v := r.(type) {
	case error:
		return v.Error()
	case string:
		return v
	case interface{ String() string }:
		return v.String()
	case int:
		return strconv.Itoa(v)
	}
	return "a value that is neither an error nor a text"
}

//go:wasmimport wasi_snapshot_preview1 proc_exit
func exit(code int32)
