package join

import (
	"fmt"

	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// list gives the records of one side of a coGroup as a JSON list of objects, in order of
// arrival (S116); an empty one where the side has none. Times are RFC 3339, also where a
// sink writes others as integers: a list is written as it stands.
type list struct {
	side   int
	names  [][]byte // `{"a":`, `,"b":`
	output []stream.Field
}

// maxList bounds the list of one side in one row, which has to fit into a line.
const maxList = 256 << 20

// NewList makes the function of one side, 0 is left and 1 right. Records has the columns
// of the fields, in order.
func NewList(side int, fields []stream.Field) udf.Whole {
	l := &list{side: side, output: []stream.Field{{Name: "list", Kind: stream.JSON}}}
	for _, f := range fields {
		sep := byte(',')
		if len(l.names) == 0 {
			sep = '{'
		}
		l.names = append(l.names, append(result.AppendString([]byte{sep}, []byte(f.Name)), ':'))
	}
	return l
}

func (l *list) Outputs() []stream.Field { return l.output }

func (l *list) Result(r udf.Records, out *stream.Columns) error {
	off := len(out.Blob)
	out.Blob = append(out.Blob, '[')
	for i := range r.Len() {
		side, cols, row := r.At(i)
		if side != l.side {
			continue
		}
		if len(out.Blob) > off+1 {
			out.Blob = append(out.Blob, ',')
		}
		out.Blob = l.object(out.Blob, cols, row, r.Cols)
		if len(out.Blob)-off > maxList {
			return &udf.Failure{Op: -1, Message: fmt.Sprintf("the list of one side is longer than %d MiB; narrow the window or take fewer fields", maxList>>20)}
		}
	}
	out.Blob = append(out.Blob, ']')
	out.Cols[0].AppendStr(stream.Str{Off: uint32(off), Len: uint32(len(out.Blob) - off)})
	return nil
}

func (l *list) object(dst []byte, cols *stream.Columns, row int, fields []int) []byte {
	if len(l.names) == 0 {
		return append(dst, "{}"...)
	}
	for n, name := range l.names {
		dst = append(dst, name...)
		dst = result.AppendValue(dst, &cols.Cols[fields[n]], row, cols.Blob, result.RFC3339)
	}
	return append(dst, '}')
}

var _ udf.Whole = (*list)(nil)
