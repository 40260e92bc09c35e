package decode

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// result is all that a decoder gave for a split, as text.
type result struct {
	rows []string // line: values
	raws []string
	bad  []Bad
}

// feed decodes in as the source task does: piece by piece, at most maxRows rows a
// batch, with what was not consumed in front of the next piece.
func feed(t testing.TB, f job.Format, fields []job.Field, in string, piece, maxRows int) (result, error) {
	t.Helper()
	dec, err := New(f, fields)
	if err != nil {
		return result{}, err
	}
	var res result
	var rest []byte
	kinds := kindsOf(fields)
	for read := 0; ; {
		n := min(piece, len(in)-read)
		var b stream.Batch
		b.Reset(kinds)
		const front = 3 // from is not always 0
		b.Blob = append(b.Blob, "xyz"[:front]...)
		b.Blob = append(b.Blob, rest...)
		b.Blob = append(b.Blob, in[read:read+n]...)
		read += n
		end := len(b.Blob)
		final := read == len(in)
		consumed, err := dec.Decode(&b, front, final, maxRows)
		if err != nil {
			return res, err
		}
		if b.N > maxRows {
			t.Fatalf("%d rows, at most %d were wanted", b.N, maxRows)
		}
		bad := dec.TakeBad()
		res.add(&b)
		res.bad = append(res.bad, bad...)
		rest = append([]byte(nil), b.Blob[front+consumed:end]...)
		if b.N < maxRows && len(bad) < maxBad && len(rest) > f.MaxRecord+1 {
			t.Fatalf("%d bytes wait though no record is longer than %d", len(rest), f.MaxRecord)
		}
		if final && len(rest) == 0 {
			return res, nil
		}
		if final && consumed == 0 {
			t.Fatalf("the end: nothing was consumed of %q", rest)
		}
	}
}

func (r *result) add(b *stream.Batch) {
	for i := range b.N {
		var vals []string
		for c := range b.Cols {
			vals = append(vals, show(&b.Columns, c, i))
		}
		r.rows = append(r.rows, fmt.Sprintf("%d: %s", b.Pos[i], strings.Join(vals, " ")))
		r.raws = append(r.raws, string(b.Raw[i].Bytes(b.Blob)))
	}
}

func show(b *stream.Columns, c, i int) string {
	col := &b.Cols[c]
	if col.Len() != b.N {
		return fmt.Sprintf("column of %d rows, not %d", col.Len(), b.N)
	}
	if col.Null(i) {
		return "null"
	}
	switch col.Kind {
	case stream.Int64, stream.Timestamp:
		return strconv.FormatInt(col.Ints[i], 10)
	case stream.Float64:
		return strconv.FormatFloat(col.Floats[i], 'g', -1, 64)
	case stream.Bool:
		return strconv.FormatBool(col.Bools[i])
	case stream.Token:
		return "<" + string(col.Strs[i].Bytes(b.Blob)) + ">"
	}
	return strconv.Quote(string(col.Strs[i].Bytes(b.Blob)))
}

func (r *result) text() string {
	var w strings.Builder
	for i, row := range r.rows {
		fmt.Fprintf(&w, "row %s raw %q\n", row, r.raws[i])
	}
	for _, b := range r.bad {
		fmt.Fprintf(&w, "bad %d @%d %s %s raw %q\n", b.Line, b.Offset, b.Reason, b.Message, b.Raw)
	}
	return w.String()
}

// field is short for a column; the path is the name, cut at dots for JSON.
func field(name string, k stream.Kind) job.Field {
	return job.Field{Name: name, Path: strings.Split(name, "."), Kind: k}
}

var plain = job.Format{Kind: "json", MaxRecord: 1 << 16, MaxDepth: 8}
