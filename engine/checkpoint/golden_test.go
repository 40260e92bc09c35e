package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"

	"tidemark/engine/checkpoint"
	"tidemark/internal/env"
)

var rewrite = flag.Bool("rewrite", false, "write the files of testdata/v1 that are missing")

// The files of testdata/v1 are a log as FORMAT.md describes it, put together here from
// its tables and from nothing of the package. They are never changed: what has been
// written must load for ever. More may be added.

type bin []byte

func (b bin) u16(v uint16) bin { return binary.LittleEndian.AppendUint16(b, v) }
func (b bin) u32(v uint32) bin { return binary.LittleEndian.AppendUint32(b, v) }
func (b bin) u64(v uint64) bin { return binary.LittleEndian.AppendUint64(b, v) }
func (b bin) raw(s string) bin { return append(b, s...) }
func (b bin) text(s string) bin {
	return b.u32(uint32(len(s))).raw(s)
}
func (b bin) sum() bin { return b.u64(xxhash.Sum64(b)) }

const golden1, golden3 = "0123456789abcdef", "fedcba9876543210" // of the claims 1 and 3

func goldenEntry(typ uint32, number, generation uint64, random string, content bin) bin {
	body := bin{}.u64(number).u64(generation).raw(random)
	body = append(body, content...)
	return append(bin("TMCPLOG\n").u32(1).u32(typ).u64(uint64(len(body))), body...).sum()
}

func goldenHeader(file uint32, generation, id uint64) bin {
	return bin("TMCPDAT\n").u32(1).u32(file).u64(generation).u64(id).sum()
}

func goldenFrame(operator, kind string, number uint32, version uint16, body string) bin {
	f := bin{}.u64(uint64(len(body))).u32(number).u16(version).u16(uint16(len(kind))).u16(uint16(len(operator))).raw("\x00\x00\x00\x00\x00\x00").raw(kind).raw(operator).raw(body)
	return append(bin{}.u64(xxhash.Sum64(f)), f...)
}

// goldenFiles are the files by name:
//
//	1 claim; 2 checkpoint 1; 3 claim that begins at 1; 4 savepoint 2; 5 checkpoint 4, which
//	shares group 9 with checkpoint 1 (3 was an attempt)
func goldenFiles() map[string][]byte {
	job := goldenFrame("", "job", 0, 1, "j")
	task := goldenFrame("sum", "task", 1, 2, "")
	group := goldenFrame("sum", "group", 9, 3, "nine\x00\xff")
	group8 := goldenFrame("sum", "group", 8, 3, "eight")
	file := func(generation, id uint64, frames ...bin) bin {
		f := goldenHeader(0, generation, id)
		for _, frame := range frames {
			f = append(f, frame...)
		}
		return f
	}
	at := func(b bin, number, version, file uint32, offset int, frame bin) bin {
		return b.u32(number).u32(version).u32(file).u64(uint64(offset)).u64(uint64(len(frame))).u64(binary.LittleEndian.Uint64(frame))
	}
	first := file(1, 1, group, job, task)
	saved := file(3, 2, job)
	second := file(3, 4, group8)
	return map[string][]byte{
		"log-000000000001":                    goldenEntry(1, 1, 1, golden1, bin{0}.u64(0)),
		"data-000000000001-000000000001-0000": first,
		"log-000000000002": goldenEntry(2, 2, 1, golden1, func() bin {
			b := bin{}.u64(1).text("periodic").text("orders").text("d1gest").u64(1_700_000_000_123).u64(^uint64(0)).u32(128)
			b = b.u32(2).text("in").text("source").u32(1).text("files").text("sum").text("window").u32(2).text("tumbling 1m")
			b = b.u32(1).text("stats").text("sha256:aa").u32(7)
			b = b.u32(2).text("keys").text("12").text("watermark").text("−∞")
			b = b.u32(1).text("data-000000000001-000000000001-0000").u64(uint64(len(first)))
			b = b.u32(3).text("").text("job").u32(1)
			b = at(b, 0, 1, 0, 40+len(group), job)
			b = b.text("sum").text("group").u32(1)
			b = at(b, 9, 3, 0, 40, group)
			b = b.text("sum").text("task").u32(1)
			return at(b, 1, 2, 0, 40+len(group)+len(job), task)
		}()),
		"log-000000000003":                    goldenEntry(1, 3, 3, golden3, bin{1}.u64(1)),
		"save-000000000003-000000000002-0000": saved,
		"log-000000000004": goldenEntry(2, 4, 3, golden3, func() bin {
			b := bin{}.u64(2).text("savepoint").text("orders").text("").u64(0).u64(0).u32(1).u32(0).u32(0).u32(0)
			b = b.u32(1).text("save-000000000003-000000000002-0000").u64(uint64(len(saved)))
			b = b.u32(1).text("").text("job").u32(1)
			return at(b, 0, 1, 0, 40, job)
		}()),
		"data-000000000003-000000000004-0000": second,
		"log-000000000005": goldenEntry(2, 5, 3, golden3, func() bin {
			b := bin{}.u64(4).text("final").text("").text("").u64(1).u64(2).u32(3).u32(0).u32(0).u32(0)
			b = b.u32(2).text("data-000000000003-000000000004-0000").u64(uint64(len(second)))
			b = b.text("data-000000000001-000000000001-0000").u64(uint64(len(first)))
			b = b.u32(1).text("sum").text("group").u32(2)
			b = at(b, 8, 3, 0, 40, group8)
			return at(b, 9, 3, 1, 40, group)
		}()),
	}
}

var goldenMeta = map[uint64]checkpoint.Meta{
	1: {
		ID: 1, Generation: 1, Kind: checkpoint.Periodic, Job: "orders", Plan: "d1gest", Taken: 1_700_000_000_123, FirstStart: -1, MaxParallelism: 128,
		Operators: []checkpoint.OperatorInfo{{ID: "in", Kind: "source", Parallelism: 1, Description: "files"}, {ID: "sum", Kind: "window", Parallelism: 2, Description: "tumbling 1m"}},
		Plugins:   []checkpoint.PluginInfo{{Name: "stats", Digest: "sha256:aa", Schema: 7}},
		Summary:   []checkpoint.KeyValue{{Key: "keys", Value: "12"}, {Key: "watermark", Value: "−∞"}},
	},
	2: {ID: 2, Generation: 3, Kind: checkpoint.Savepoint, Job: "orders", MaxParallelism: 1},
	4: {ID: 4, Generation: 3, Kind: checkpoint.Final, Taken: 1, FirstStart: 2, MaxParallelism: 3},
}

var goldenSections = map[uint64][]checkpoint.Section{
	1: {{Kind: "job", Version: 1, Body: []byte("j")}, {Operator: "sum", Kind: "group", Number: 9, Version: 3, Body: []byte("nine\x00\xff")}, {Operator: "sum", Kind: "task", Number: 1, Version: 2, Body: []byte{}}},
	2: {{Kind: "job", Version: 1, Body: []byte("j")}},
	4: {{Operator: "sum", Kind: "group", Number: 8, Version: 3, Body: []byte("eight")}, {Operator: "sum", Kind: "group", Number: 9, Version: 3, Body: []byte("nine\x00\xff")}},
}

func TestFilesOfVersion1Load(t *testing.T) {
	dir := filepath.Join("testdata", "v1")
	for name, want := range goldenFiles() {
		path := filepath.Join(dir, name)
		got, err := os.ReadFile(path)
		if os.IsNotExist(err) && *rewrite {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what FORMAT.md says", path)
		}
	}
	l := checkpoint.Open(checkpoint.OpenLocal(env.Real().FS, dir), nil)
	for id, meta := range goldenMeta {
		c, err := l.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(c.Meta, meta) {
			t.Errorf("checkpoint %d: %+v, want %+v", id, c.Meta, meta)
		}
		var sections []checkpoint.Section
		for s, err := range c.Read(t.Context(), c.Refs()) {
			if err != nil {
				t.Fatal(err)
			}
			sections = append(sections, s)
		}
		if !reflect.DeepEqual(sections, goldenSections[id]) {
			t.Errorf("checkpoint %d: %+v, want %+v", id, sections, goldenSections[id])
		}
	}
	list, err := l.List(t.Context())
	if err != nil || len(list) != 3 || list[0].Meta.ID != 1 || list[1].Meta.ID != 2 || list[2].Meta.ID != 4 {
		t.Errorf("list %+v, %v", list, err)
	}
	if c, warnings, err := l.Last(t.Context()); err != nil || len(warnings) > 0 || c.Meta.ID != 4 {
		t.Errorf("last %+v, %q, %v", c, warnings, err)
	}
}

// The same is written by the package when it is asked for the same.
func TestWhatIsWrittenIsVersion1(t *testing.T) {
	s := checkpoint.OpenLocal(env.Real().FS, t.TempDir())
	l := checkpoint.Open(s, io.MultiReader(bytes.NewReader([]byte(golden1)), bytes.NewReader([]byte(golden3))))
	write := func(id uint64, reuse []checkpoint.Ref, order ...int) *checkpoint.Checkpoint {
		t.Helper()
		w := l.Begin(goldenMeta[id])
		for _, i := range order {
			if err := w.Add(t.Context(), goldenSections[id][i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range reuse {
			if err := w.Reuse(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Publish(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.Checkpoint()
	}
	if err := l.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := write(1, nil, 1, 0, 2)
	if err := l.ClaimFrom(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	write(2, nil, 0)
	if err := l.Begin(checkpoint.Meta{}).Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(4, first.Find("sum", "group"), 0)

	files := goldenFiles()
	names, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "lock" })
	if len(names) != len(files) {
		t.Errorf("files %q", names)
	}
	for _, name := range names {
		got, err := os.ReadFile(s.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, files[name]) {
			t.Errorf("%s:\n%q, want\n%q", name, got, files[name])
		}
	}
}
