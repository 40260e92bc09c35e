package udf

import (
	"fmt"
	"slices"
	"testing"

	"tidemark/engine/stream"
)

// batch has the columns n (int64, null in row 2) and s (text), and a watermark before
// each row.
func batch() *stream.Batch {
	b := new(stream.Batch)
	b.Reset([]stream.Kind{stream.Int64, stream.String})
	for i, text := range []string{"zero", "one", "two", "three"} {
		if i == 2 {
			b.Cols[0].AppendNull()
		} else {
			b.Cols[0].AppendInt(int64(i))
		}
		b.Cols[1].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
		b.Raw = append(b.Raw, stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
		b.Blob = append(b.Blob, text...)
		b.Split, b.Pos = append(b.Split, stream.SplitID(i%2)), append(b.Pos, int64(i+1))
		b.Time, b.WM, b.High = append(b.Time, stream.Time(10*i)), append(b.WM, stream.Time(10*i-1)), append(b.High, stream.Time(10*i))
		b.N++
	}
	b.Source, b.Trailing, b.Next = 3, 30, 1
	return b
}

func show(b *stream.Batch) []string {
	var out []string
	for i := range b.N {
		line := fmt.Sprintf("t%d wm%d high%d split%d pos%d raw:%s |", b.Time[i], b.WM[i], b.High[i], b.Split[i], b.Pos[i], b.Raw[i].Bytes(b.Blob))
		for c := range b.Cols {
			switch col := &b.Cols[c]; {
			case col.Null(i):
				line += " null"
			case col.Kind == stream.String:
				line += " " + string(col.Strs[i].Bytes(b.Blob))
			default:
				line += fmt.Sprint(" ", col.Ints[i])
			}
		}
		out = append(out, line)
	}
	return out
}

func TestWhatComesOutOfABatch(t *testing.T) {
	n, s := stream.Field{Name: "n", Kind: stream.Int64}, stream.Field{Name: "s", Kind: stream.String}
	made := stream.Field{Name: "made", Kind: stream.String}
	for _, c := range []struct {
		name    string
		outputs []StatelessOutput
		sel     []uint32
		of      []uint32
		want    []string
	}{
		{"a filter keeps the watermark before each row, and drops none of the last", []StatelessOutput{{n, 0}, {s, 1}}, []uint32{0, 1, 2, 3}, []uint32{0, 2},
			[]string{"t0 wm-1 high0 split0 pos1 raw:zero | 0 zero", "t20 wm19 high20 split0 pos3 raw:two | null two"}},
		{"columns are left out, turned round, doubled and made", []StatelessOutput{{s, 1}, {made, -1}, {n, 0}, {s, 1}}, []uint32{0, 1, 2, 3}, []uint32{1},
			[]string{"t10 wm9 high10 split1 pos2 raw:one | one <1> 1 one"}},
		{"one record becomes several, another none", []StatelessOutput{{made, -1}}, []uint32{1, 3}, []uint32{1, 1},
			[]string{"t30 wm29 high30 split1 pos4 raw:three | <1>", "t30 wm29 high30 split1 pos4 raw:three | <1>"}},
		{"nothing comes out but the watermark", []StatelessOutput{{n, 0}}, []uint32{0, 1, 2, 3}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := StatelessInfo{Inputs: []Input{{Name: "n", Nullable: true}, {Name: "s"}}, Outputs: c.outputs}
			var m Mapped
			dst := new(stream.Batch)
			for range 2 { // again, with the memory of the first time
				src := batch()
				m.Reset(&info)
				for _, i := range c.of {
					m.Of = append(m.Of, i)
					m.N++
					for k := range m.Cols {
						text := fmt.Sprintf("<%d>", i)
						m.Cols[k].AppendStr(stream.Str{Off: uint32(len(m.Blob)), Len: uint32(len(text))})
						m.Blob = append(m.Blob, text...)
					}
				}
				if err := m.Into(dst, src, &Rows{Batch: src, Cols: []int{0, 1}, Sel: c.sel}, &info); err != nil {
					t.Fatal(err)
				}
				if got := show(dst); !slices.Equal(got, c.want) {
					t.Errorf("got  %q\nwant %q", got, c.want)
				}
				if dst.Trailing != 30 || dst.Next != 1 || dst.Source != 3 {
					t.Errorf("trailing watermark %d, next split %d, source %d", dst.Trailing, dst.Next, dst.Source)
				}
			}
		})
	}
}
