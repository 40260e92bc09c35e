package result

import (
	"fmt"
	"testing"

	"tidemark/engine/stream"
)

// BenchmarkEncoder writes rows of a text key with a count and two sums: many of one
// window, as where windows end for all keys at once, and each of a window of its own, as of
// sessions.
func BenchmarkEncoder(b *testing.B) {
	key := []stream.Field{{Name: "key", Kind: stream.String}}
	values := [][]stream.Field{{{Name: "count", Kind: stream.Int64}}, {{Name: "sum", Kind: stream.Float64}}, {{Name: "max", Kind: stream.Float64}}}
	const n = 1024
	for name, step := range map[string]stream.Time{"one window": 0, "own windows": 1} {
		r := new(Rows)
		r.Reset(key, values)
		for i := range n {
			text := fmt.Sprintf("k%07d", i)
			r.Key.Cols[0].AppendStr(stream.Str{Off: uint32(len(r.Key.Blob)), Len: uint32(len(text))})
			r.Key.Blob = append(r.Key.Blob, text...)
			start := 1760000400000 + stream.Time(i)*step
			r.Window = append(r.Window, stream.Window{Start: start, End: start + 3_600_000})
			r.Kind, r.Revision = append(r.Kind, OnTime), append(r.Revision, 0)
			r.SinceLast, r.Replaces = append(r.SinceLast, false), append(r.Replaces, nil)
			r.Values[0].Cols[0].AppendInt(int64(i))
			r.Values[1].Cols[0].AppendFloat(float64(i) * 503.25)
			r.Values[2].Cols[0].AppendFloat(float64(i) * 0.5)
		}
		r.N = n
		b.Run(name, func(b *testing.B) {
			e := NewEncoder("job", "step", key, []string{"c", "s", "m"}, values, RFC3339)
			var lines []byte
			for b.Loop() {
				lines = lines[:0]
				for i := range n {
					lines = e.Append(lines, r, i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
	}
}
