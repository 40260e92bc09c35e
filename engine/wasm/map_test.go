package wasm

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Records cross the line between host and guest, in one frame and in several; what comes of
// them names those that it comes of.
func TestAFunctionOfSingleRecords(t *testing.T) {
	ps := host(t, map[string][]byte{"plug": build(t, "../../plugins/sections")})
	p := &job.Plugin{Name: "plug"}
	info, err := ps.Describe(p)
	if err != nil || info.Kind != job.MapKind || len(info.Outputs) != 2 {
		t.Fatalf("%+v, %v", info, err)
	}
	fn, err := ps.Map(t.Context(), p, &job.Map{Plugin: "plug", Args: []job.Arg{{Name: "depth", Kind: stream.Int64, Int: 2}}}, []stream.Kind{stream.String})
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	long := "/y/" + strings.Repeat("x", 1_500_000) // two of them do not fit into half an arena
	for _, tail := range []string{"/z", long} {
		b := &stream.Batch{}
		b.Reset([]stream.Kind{stream.Int64, stream.String})
		for i, path := range []string{"/a/b/c", "/skipped/by/the/caller", "", tail, "elsewhere", tail} {
			b.Cols[0].AppendInt(int64(i))
			if path == "" {
				b.Cols[1].AppendNull()
			} else {
				b.Cols[1].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(path))})
				b.Blob = append(b.Blob, path...)
			}
			b.Time = append(b.Time, stream.Time(i))
			b.N++
		}
		var out udf.Emitted
		out.Reset(fn.Info().Outputs)
		if err := fn.Call(&udf.Rows{Batch: b, Cols: []int{1}, Sel: []uint32{0, 2, 3, 4, 5}}, &out); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range out.Cols[0].Strs {
			got = append(got, string(s.Bytes(out.Blob)))
		}
		want, of := []string{"/", "/a", "/", "/"}, []uint32{0, 0, 2, 4}
		if tail == long {
			want, of = []string{"/", "/a", "/", "/y", "/", "/y"}, []uint32{0, 0, 2, 2, 4, 4}
		}
		if !slices.Equal(got, want) || !slices.Equal(out.Of, of) {
			t.Errorf("got %d rows of %v, want %v", len(got), out.Of, of)
		}
	}
	b := &stream.Batch{}
	b.Reset([]stream.Kind{stream.String})
	b.Blob = []byte(strings.Repeat("/", 5_000_000))
	b.Cols[0].AppendStr(stream.Str{Len: 1})
	b.Cols[0].AppendStr(stream.Str{Len: uint32(len(b.Blob))})
	b.Time, b.N = []stream.Time{1, 2}, 2
	var out udf.Emitted
	out.Reset(fn.Info().Outputs)
	err = fn.Call(&udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{0, 1}}, &out)
	if f := (*udf.Failure)(nil); !errors.As(err, &f) || f.Op != 1 {
		t.Errorf("a record larger than the arena: got %v", err)
	}
}
