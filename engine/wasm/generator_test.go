package wasm

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/abi/binary"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

func startGenerator(tb testing.TB, file []byte, args ...job.Arg) (udf.Generator, error) {
	tb.Helper()
	ps := host(tb, map[string][]byte{"plug": file})
	p := &job.Plugin{Name: "plug"}
	info, err := ps.Describe(p)
	if err != nil {
		tb.Fatal(err)
	}
	if info.Kind != job.GeneratorKind {
		tb.Fatalf("it is described as %v", info)
	}
	fn, err := ps.Generator(tb.Context(), p, &job.Watermark{Plugin: "plug", Args: args}, []stream.Kind{info.Inputs[0].Kinds[0]})
	if err == nil {
		tb.Cleanup(func() {
			if err := fn.Close(); err != nil {
				tb.Error(err)
			}
		})
	}
	return fn, err
}

// timed are records with these times; kinds are their texts, "": null.
func timed(kinds []string, times ...stream.Time) *udf.Timed {
	c := &stream.Columns{N: len(times), Cols: []stream.Column{{Kind: stream.String}}}
	for i := range times {
		if kinds == nil || kinds[i] == "" {
			c.Cols[0].AppendNull()
			continue
		}
		c.Cols[0].AppendStr(stream.Str{Off: uint32(len(c.Blob)), Len: uint32(len(kinds[i]))})
		c.Blob = append(c.Blob, kinds[i]...)
	}
	return &udf.Timed{Columns: c, Cols: []int{0}, Time: times}
}

// The plug-in's own test has the same records: here they cross the line between host and
// guest, in one frame and in several, with the state going along.
func TestAGenerator(t *testing.T) {
	slack := job.Arg{Name: "slack", Kind: stream.Int64, Int: 100}
	fn, err := startGenerator(t, build(t, "../../plugins/adaptive"), slack)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1_500_000) // two of them do not fit into half an arena
	for _, kinds := range [][]string{nil, {long, long, "", long, long}} {
		wm := slices.Repeat([]stream.Time{stream.MinTime}, 5)
		state, err := fn.Records(timed(kinds, 1000, 1200, 1150, 1120, 1500), nil, wm)
		if want := []stream.Time{899, 1099, 1099, 1039, 1339}; err != nil || !slices.Equal(wm, want) || len(state) != 16 {
			t.Errorf("got %v, %d bytes of state, %v; want %v", wm, len(state), err, want)
		}
		wm = wm[:3]
		if state, err = fn.Records(timed([]string{"", "flush", ""}, 1200, 1400, 3000), state, wm); err != nil || !slices.Equal(wm, []stream.Time{899, 1400, 2399}) {
			t.Errorf("behind that: got %v, %v", wm, err)
		}
		if said, next, err := fn.Tick(5000, state); err != nil || said != stream.MinTime || !slices.Equal(next, state) {
			t.Errorf("a tick says %d, %v", said, err)
		}
	}
	if _, err := fn.Records(timed([]string{"", strings.Repeat("x", 5_000_000)}, 1, 2), nil, make([]stream.Time, 2)); err == nil {
		t.Error("a record larger than the arena was taken")
	} else if f := (*udf.Failure)(nil); !errors.As(err, &f) || f.Op != 1 {
		t.Errorf("got %v", err)
	}
	plain := binary.WithManifest(build(t, "../../plugins/adaptive"), []byte(`{"name": "adaptive", "version": "1", "watermark": {"inputs": [{"name": "kind", "type": "string", "nullable": true}],
		"params": [{"name": "slack", "type": "int64"}, {"name": "flush", "type": "string", "default": "flush"}]}}`))
	if fn, err = startGenerator(t, plain, slack); err != nil {
		t.Fatal(err)
	}
	if _, err := fn.Records(timed(nil, 1, 2), nil, make([]stream.Time, 2)); err == nil || !strings.Contains(err.Error(), "an entry is of kind 0x80000000, which the manifest does not have") {
		t.Errorf("an undeclared state: got %v", err)
	}
	slack.Int = -1
	if _, err := startGenerator(t, build(t, "../../plugins/adaptive"), slack); err == nil || !strings.Contains(err.Error(), "slack must not be negative") {
		t.Errorf("got %v", err)
	}
}
