package hostile

import (
	"fmt"
	"strings"
	"testing"
)

// The pieces of code that bombs for the compiler are made of.
var (
	nop      = []byte{0x01}
	constant = []byte{0x41, 0x00, 0x1a}                                                                     // i32.const 0, drop
	loop     = []byte{0x03, 0x40, 0x0b}                                                                     // an empty loop
	table    = append([]byte{0x02, 0x40, 0x41, 0x00, 0x0e, 0xbf, 0x01}, append(make([]byte, 192), 0x0b)...) // a br_table of 192 ways
)

func upload() []Case {
	refused := func(name, want string, m module, quick bool) Case {
		return Case{Name: name, Module: m, Refused: want, Quick: quick}
	}
	raw := func(text string) module { return func(testing.TB, string) []byte { return []byte(text) } }
	var locals, use strings.Builder
	const wide = 2800 // locals and loops: together as many as a function may have
	for i := range wide {
		fmt.Fprintf(&locals, " l%d:i64", i)
		fmt.Fprintf(&use, "loop $l%d i64.const 1 i64.add =l%d $x br_if 0 end ", i, (i+1)%wide)
	}
	for i := range wide { // all of them are alive in all loops
		fmt.Fprintf(&use, "$l%d drop ", i)
	}
	cases := []Case{
		refused("a script", "not a WebAssembly file", raw("#!/bin/sh\nrm -rf /\n"), true),
		refused("a module without anything", "build it with tidemark plugin build", raw("\x00asm\x01\x00\x00\x00"), true),
		refused("an import that is not offered", `imports function "env"."system", which the host does not offer`, sum("memory 3", "import env.system i32 -> i32\nmemory 3"), true),
		refused("a WASI function that is not offered", `"wasi_snapshot_preview1"."sock_open", which the host does not offer`, sum("memory 3", "import wasi_snapshot_preview1.sock_open i32 -> i32\nmemory 3"), true),
		refused("a start section", "has a start section", sum("memory 3", "func go\n  loop br 0 end\nstart go\nmemory 3"), true),
		refused("a shared memory", "has a shared memory: build it without threads", sum("memory 3", "memory 3 3 shared"), true),
		refused("4 GiB of memory from the start", "starts with 65536 pages of memory, at most 1024 (64 MiB) are allowed", sum("memory 3", "memory 65536"), true),
		refused("a table of four thousand million elements", "has tables of more than 65536 elements", sum("memory 3", "table 0xffffffff\nmemory 3"), true),
		refused("a table that grows", "table.grow", sumAnd("func bomb -> i32\n  ref.null 1000000 table.grow\n"), true),
		refused("nine hundred thousand functions", "has 900009 functions, at most 50000 are allowed", wider(same(900_000, []byte{0x0b})...), false),
		refused("more bytes than a module may have", "has more than 8388608 bytes", wider(same(9, repeat(1_000_000, nil, nop, nil))...), false),
		refused("a function of more than 1 MiB", "bytes of code, a function may have 1048576", wider(repeat(400_000, nil, constant, nil)), true),
		refused("more locals than a function may have", "parameters and locals, a function may have 4000", sumAnd("func wide |"+strings.Repeat(" i64", 4_001)+"\n"), true),
		refused("code that names a global which is not its own", "global 1, and there are 1", func(tb testing.TB, version string) []byte {
			file := sum()(tb, version)
			at := strings.Index(string(file), "\x24\x00") // the first global.set
			file[at+1] = 1
			return file
		}, true),
		refused("calls that answer much, dropped", "takes more than 400 MiB of memory to compile", sumAnd("func much ->"+strings.Repeat(" i64", 1000)+"\n  unreachable\nfunc calls x:i32\n  "+strings.Repeat("block call much br 0 end ", 20_000)+"\n"), true),
		refused("many locals in many loops", "takes more than ", sumAnd("func wide x:i32 |"+locals.String()+"\n  "+use.String()+"\n"), false),
		refused("blocks in blocks", "blocks, loops and ifs in each other more than 2199 deep", sumAnd("func deep x:i32\n  "+strings.Repeat("$x if ", 40_000)+strings.Repeat("end ", 40_000)+"\n"), false),
	}
	for _, part := range []float64{.1, .3, .5, .7, .9} {
		cases = append(cases, refused(fmt.Sprintf("the first %.0f %% of a module", 100*part), "truncated", cut(part), true))
	}
	for i, c := range cases {
		cases[i].Bomb = strings.HasPrefix(c.Refused, "takes more than") // see cmd/host/compile.go
	}
	return cases
}
