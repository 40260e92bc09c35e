package main

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// greedy counts what is read of it at most at once.
type greedy struct {
	strings.Reader
	most int
}

func (g *greedy) Read(p []byte) (int, error) {
	g.most = max(g.most, len(p))
	return g.Reader.Read(p)
}

func TestEachBatch(t *testing.T) {
	fields := []job.Field{{Name: "n", Path: []string{"n"}, Kind: stream.Int64}}
	const lines = 100_000 // a few bytes each: batches are full of rows long before their bytes
	var text strings.Builder
	for n := range lines {
		fmt.Fprintf(&text, "{\"n\":%d}\n", n)
	}
	for _, c := range []struct {
		name, text string
		want       int64
		err        string
	}{
		{"nothing", "", 0, ""},
		{"short lines", text.String(), lines, ""},
		{"no line end at the end", strings.TrimSuffix(text.String(), "\n"), lines, ""},
		{"a bad line", "{\"n\":0}\n{\"n\":\n", 0, "line 2: "},
		{"a line without end", `{"n":0,"s":"` + strings.Repeat("x", decodeBytes) + `"}`, 0, "longer than 131072 bytes"},
	} {
		in, next, held := &greedy{Reader: *strings.NewReader(c.text)}, int64(0), 0
		err := eachBatch(in, fields, func(b *stream.Batch) error {
			for _, n := range b.Cols[0].Ints {
				if n != next {
					return fmt.Errorf("%d follows %d", n, next-1)
				}
				next++
			}
			held = max(held, len(b.Blob))
			return nil
		})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || next != c.want {
			t.Errorf("%s: %d lines of %d, %v", c.name, next, c.want, err)
		}
		if held > decodeBytes || in.most > decodeBytes {
			t.Errorf("%s: %d bytes are held and %d are read at once, at most %d are to be", c.name, held, in.most, decodeBytes)
		}
	}
}
