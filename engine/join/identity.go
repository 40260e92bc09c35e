package join

import (
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Names that the built-in pair function puts before the fields of the two records.
const (
	leftPrefix  = "left."
	rightPrefix = "right."
)

// identity is the pair function of a join that names none: both records as they are,
// under left and right.
type identity struct{ info udf.PairInfo }

// NewIdentity returns the function that gives one row for each pair: the fields of the
// left record as left.<name>, then those of the right one as right.<name>.
func NewIdentity(left, right []stream.Field) udf.Pair {
	f := identity{info: udf.PairInfo{OneEach: true}}
	for _, c := range left {
		f.info.Left = append(f.info.Left, udf.Input{Name: c.Name, Kind: c.Kind, Nullable: true})
		f.info.Outputs = append(f.info.Outputs, stream.Field{Name: leftPrefix + c.Name, Kind: c.Kind})
	}
	for _, c := range right {
		f.info.Right = append(f.info.Right, udf.Input{Name: c.Name, Kind: c.Kind, Nullable: true})
		f.info.Outputs = append(f.info.Outputs, stream.Field{Name: rightPrefix + c.Name, Kind: c.Kind})
	}
	return &f
}

func (f *identity) Info() udf.PairInfo { return f.info }

// Call copies column by column.
func (f *identity) Call(in *udf.Pairs, out *udf.Emitted) error {
	for n := range f.info.Left {
		out.Blob = gather(&out.Cols[n], &in.Left.Cols[n], in.L, out.Blob, in.Left.Blob)
	}
	for n := range f.info.Right {
		out.Blob = gather(&out.Cols[len(f.info.Left)+n], &in.Right.Cols[n], in.R, out.Blob, in.Right.Blob)
	}
	for i := range in.L {
		out.Of = append(out.Of, uint32(i))
	}
	return nil
}

// gather appends rows of src to dst, and their text in from to blob, which it returns.
func gather(dst, src *stream.Column, rows []uint32, blob, from []byte) []byte {
	for _, r := range rows {
		if src.Null(int(r)) {
			dst.AppendNull()
			continue
		}
		switch src.Kind {
		case stream.Int64, stream.Timestamp:
			dst.AppendInt(src.Ints[r])
		case stream.Float64:
			dst.AppendFloat(src.Floats[r])
		case stream.Bool:
			dst.AppendBool(src.Bools[r])
		default:
			s := src.Strs[r]
			dst.AppendStr(stream.Str{Off: uint32(len(blob)), Len: s.Len})
			blob = append(blob, s.Bytes(from)...)
		}
	}
	return blob
}

func (f *identity) Close() error { return nil }

var _ udf.Pair = (*identity)(nil)
