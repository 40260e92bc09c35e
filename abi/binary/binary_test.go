package binary_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

func read(t *testing.T, file []byte) *binary.Module {
	t.Helper()
	m, err := binary.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestReadSeesWhatIsThere(t *testing.T) {
	file := wasmtest.Guest(t, "sum")
	m := read(t, file)
	sum := sha256.Sum256(file)
	if m.Size != int64(len(file)) || m.Digest != hex.EncodeToString(sum[:]) {
		t.Errorf("size %d, digest %s", m.Size, m.Digest)
	}
	if len(m.Imports) != 2 || m.Imports[0].Name != "fd_write" || m.Imports[1].Type.String() != "(i32) -> ()" {
		t.Errorf("imports %+v", m.Imports)
	}
	if m.Types != 11 || m.TypeValues != 26 || m.Segments != 3 { // a type for each function of the text
		t.Errorf("%d types with %d values, %d segments", m.Types, m.TypeValues, m.Segments)
	}
	if m.Functions != 9 || m.Globals != 1 || len(m.Memories) != 1 || m.Memories[0] != (binary.Limits{Min: 3}) {
		t.Errorf("%d functions, %d globals, memories %+v", m.Functions, m.Globals, m.Memories)
	}
	var names []string
	for _, s := range m.Sections {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "type import function memory global export code data name tidemark" {
		t.Errorf("sections %s", got)
	}
	manifest, err := m.Manifest()
	if err != nil || manifest.Name != "sum" {
		t.Errorf("manifest %+v, %v", manifest, err)
	}
	// One byte at a time gives the same.
	slow, err := binary.Read(iotest.OneByteReader(bytes.NewReader(file)))
	if err != nil || slow.Digest != m.Digest || len(slow.Exports) != len(m.Exports) {
		t.Errorf("one byte at a time: %+v, %v", slow, err)
	}
}

func TestReadRefuses(t *testing.T) {
	const head = "\x00asm\x01\x00\x00\x00"
	good := string(wasmtest.Guest(t, "sum"))
	for _, c := range []struct{ name, file, want string }{
		{"an empty file", "", "not a WebAssembly file: it is empty"},
		{"an ELF file", "\x7fELF\x02\x01\x01\x00", "not a WebAssembly file: it starts with 7f 45 4c 46: an ELF file, a program for Linux"},
		{"text", "hello, world\n", "not a WebAssembly file: it starts with 68 65 6c 6c: text"},
		{"WebAssembly as text", "\n(module)\n", "not a WebAssembly file: it starts with 0a 28 6d 6f: WebAssembly as text"},
		{"a file of one byte", "{", "not a WebAssembly file: it starts with 7b: JSON or the like"},
		{"half a header", head[:6], "truncated: the file ends after 6 bytes, inside its header"},
		{"a component", "\x00asm\x0d\x00\x01\x00", "a WebAssembly component: only core modules are taken"},
		{"another version", "\x00asm\x02\x00\x00\x00", "WebAssembly of version 02 00 00 00: only core modules of version 1"},
		{"half a section", head + "\x01\x05\x01\x60", "truncated: the file ends after 12 bytes, inside section type at byte 10, 5 bytes long"},
		{"half a code section", good[:len(good)-900], "inside section code"},
		{"no code", good[:8+2+int(good[9])] + "\x03\x02\x01\x00", "truncated: 1 functions are declared, and the section code is missing"},
		{"a count beyond the section", head + "\x01\x01\x05", "damaged: section type at byte 10, 1 bytes long: entry 0: ends too early"},
		{"bytes left over", head + "\x01\x02\x00\x00", "1 bytes follow the last entry"},
		{"a section twice", head + "\x01\x01\x00\x01\x01\x00", "damaged: section type at byte 11 is out of order or there twice"},
		{"a number that is too long", head + "\x01\x80\x80\x80\x80\x80\x00", "does not fit into 32 bits"},
		{"an unknown type", head + "\x01\x01\x00\x03\x02\x01\x07", "type 7, and there are 0"},
		{"an export of nothing", head + "\x07\x05\x01\x01f\x00\x00", `export "f" is function 0, and there are 0`},
		{"a name that is not UTF-8", head + "\x07\x05\x01\x01\xff\x03\x00", "a name is not UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := binary.Read(strings.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if !errors.Is(err, fault.ErrUser) {
				t.Error("class is not ErrUser")
			}
		})
	}
}

func TestReadPassesOnErrorsOfTheReader(t *testing.T) {
	file := wasmtest.Guest(t, "sum")
	broken := errors.New("disk on fire")
	for _, at := range []int{0, 5, 20, len(file) - 3} {
		_, err := binary.Read(io.MultiReader(bytes.NewReader(file[:at]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || errors.Is(err, fault.ErrUser) {
			t.Errorf("after %d bytes: %v", at, err)
		}
	}
}

func TestNewerProposalsAreReadAroundAndRefused(t *testing.T) {
	// A recursive group of types, then a tag section.
	m := read(t, []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x4e\x01\x5f\x0d\x03\x01\x00\x00"))
	if len(m.NotUnderstood) != 2 || m.NotUnderstood[0] != "section type: type form 0x4e" {
		t.Errorf("got %q", m.NotUnderstood)
	}
	if err := binary.Check(m); !strings.Contains(err.Error(), "uses a newer proposal than the host takes: section type: type form 0x4e") {
		t.Errorf("got %v", err)
	}
}

func TestCheck(t *testing.T) {
	manifest := `"version": "1"`
	for _, c := range []struct {
		name  string
		edits []string
		want  []string // one a line; none: it is fine
	}{
		{"a good one", nil, nil},
		{"no marker", []string{"manifest {", "; manifest {", `  "inputs"`, `;  "inputs"`, `  "outputs"`, `;  "outputs"`, `  "params"`, `;  "params"`, `  "accumulator"`, `;  "accumulator"`},
			[]string{"no section named tidemark: not a plug-in; build it with tidemark plugin build"}},
		{"another ABI version", []string{"memory 3", "version 2\nmemory 3"}, []string{"built for ABI version 2, this host speaks version 1"}},
		{"a bad manifest", []string{manifest, `"vresion": "1"`}, []string{"manifest vresion: unknown member", "manifest version: is missing"}},
		{"a missing export", []string{"func tm_aggregate_merge", "func merge"}, []string{"does not export the function tm_aggregate_merge (i32) -> i32, which its manifest asks for"}},
		{"another type", []string{"func tm_arena -> i64\n  i64.const 0x0001_0000_0001_0000", "func tm_arena -> i32\n  0"}, []string{"exports tm_arena as () -> i32, it must be () -> i64"}},
		{"an optional export of another type", []string{"memory 3", "func _initialize x:i32\nmemory 3"}, []string{"exports _initialize as (i32) -> (), it must be () -> ()"}},
		{"a foreign import", []string{"memory 3", "import env.now -> i64\nmemory 3"}, []string{`imports function "env"."now", which the host does not offer`}},
		{"a WASI function that is not offered", []string{"memory 3", "import wasi_snapshot_preview1.proc_raise i32 -> i32\nmemory 3"}, []string{`imports function "wasi_snapshot_preview1"."proc_raise", which the host does not offer`}},
		{"a WASI function of another type", []string{"proc_exit i32", "proc_exit i64", "2 call proc_exit", "i64.const 2 call proc_exit"}, []string{`imports function "wasi_snapshot_preview1"."proc_exit" as (i64) -> (), it is (i32) -> ()`}},
		{"a start section", []string{"memory 3", "func go\nstart go\nmemory 3"}, []string{"has a start section: what must run first belongs into _initialize"}},
		{"too much memory", []string{"memory 3", "memory 1025"}, []string{"starts with 1025 pages of memory, at most 1024 (64 MiB) are allowed"}},
		{"no memory", []string{"memory 3", ""}, []string{"has 0 memories, there must be one", `does not export its memory as "memory"`}},
		{"a table too large", []string{"memory 3", "table 65537\nmemory 3"}, []string{"has tables of more than 65536 elements"}},
		{"the memory is a function", []string{"memory 3", "func memory"}, []string{"has 0 memories, there must be one", `exports a function as "memory", it must be the memory`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := binary.Check(read(t, wasmtest.Guest(t, "sum", c.edits...)))
			if len(c.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := strings.Join(c.want, "\n"); err == nil || err.Error() != want {
				t.Fatalf("got\n%v\nwant\n%s", err, want)
			}
			if !errors.Is(err, fault.ErrUser) {
				t.Error("class is not ErrUser")
			}
		})
	}
}

// Limits of modules that are too large to make here, and flags that the assembler does
// not know.
func TestCheckLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(m *binary.Module)
		want string
	}{
		{"bytes", func(m *binary.Module) { m.Size = abi.MaxModuleBytes + 1 }, "has 8388609 bytes, at most 8388608 are allowed"},
		{"functions", func(m *binary.Module) { m.Functions = abi.MaxFunctions + 1 }, "has 50001 functions, at most 50000 are allowed"},
		{"types", func(m *binary.Module) { m.Types = abi.MaxTypes + 1 }, "has 1001 types of functions, at most 1000 are allowed"},
		{"parameters", func(m *binary.Module) { m.TypeValues = abi.MaxTypeValues + 1 }, "has 10001 parameters and results in its types, at most 10000 are allowed"},
		{"globals", func(m *binary.Module) { m.Globals = abi.MaxGlobals + 1 }, "has 10001 globals, at most 10000 are allowed"},
		{"segments", func(m *binary.Module) { m.Segments = abi.MaxSegments + 1 }, "has 100001 segments of data and elements, at most 100000 are allowed"},
		{"imports", func(m *binary.Module) {
			for range abi.MaxImports {
				m.Imports = append(m.Imports, m.Imports[0])
			}
		}, "has 1002 imports, at most 1000 are allowed"},
		{"exports", func(m *binary.Module) {
			for len(m.Exports) <= abi.MaxExports {
				m.Exports = append(m.Exports, m.Exports[0])
			}
		}, "has 10001 exports, at most 10000 are allowed"},
		{"shared memory", func(m *binary.Module) { m.Memories[0].Shared = true }, "has a shared memory: build it without threads"},
		{"64-bit memory", func(m *binary.Module) { m.Memories[0].Is64 = true }, "has a 64-bit memory: build it for wasm32"},
		{"two markers", func(m *binary.Module) { m.ExtraMarkers = 1 }, "2 sections named tidemark, there must be one: build it with tidemark plugin build"},
		{"half a marker", func(m *binary.Module) { m.Marker = m.Marker[:3] }, "section tidemark has 3 bytes, too few for a version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := read(t, wasmtest.Guest(t, "sum"))
			c.edit(m)
			if err := binary.Check(m); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestWithManifest(t *testing.T) {
	first := wasmtest.Guest(t, "sum")
	again := binary.WithManifest(first, []byte(`{"name":"other","version":"2"}`))
	m := read(t, again)
	if m.ExtraMarkers != 0 || string(m.Marker) != "\x01\x00\x00\x00"+`{"name":"other","version":"2"}` {
		t.Errorf("marker %q, %d more", m.Marker, m.ExtraMarkers)
	}
	if len(m.Sections) != len(read(t, first).Sections) {
		t.Error("other sections are gone")
	}
	plain := []byte("\x00asm\x01\x00\x00\x00")
	if got, want := string(binary.WithManifest(plain, []byte("{}"))), "\x00asm\x01\x00\x00\x00\x00\x0f\x08tidemark\x01\x00\x00\x00{}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if string(plain) != "\x00asm\x01\x00\x00\x00" {
		t.Error("the module was changed in place")
	}
}

// A file may announce much; only what it brings may cost memory.
func TestAnnouncementsCostNothing(t *testing.T) {
	const head = "\x00asm\x01\x00\x00\x00"
	for _, file := range []string{
		head + "\x01\xff\xff\xff\x7f\xc0\x84\x3d", // a type section of 256 MiB with a million types
		head + "\x00\xff\xff\xff\x7f\xff\xff\x03",
		head + "\x02\xff\xff\xff\x7f\xc0\x84\x3d\xff\xff\x03",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := binary.Read(strings.NewReader(file)); err == nil {
			t.Error("no error")
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%d bytes of file cost %d of memory", len(file), got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"sum", "join", "minmax"} {
		f.Add(wasmtest.Guest(f, name))
	}
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x4e\x01\x5f\x0d\x03\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := binary.Read(bytes.NewReader(file))
		if err != nil {
			if !errors.Is(err, fault.ErrUser) {
				t.Errorf("class of %v", err)
			}
			return
		}
		if err := binary.Check(m); err == nil && !m.HasMarker {
			t.Error("a module without marker passed")
		}
		// Marking a readable module gives a readable module with that mark.
		marked, err := binary.Read(bytes.NewReader(binary.WithManifest(file, []byte("{}"))))
		if err != nil || marked.ExtraMarkers != 0 || string(marked.Marker) != "\x01\x00\x00\x00{}" {
			t.Errorf("marked: %+v, %v", marked, err)
		}
	})
}
