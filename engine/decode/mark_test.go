package decode

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// feedMarked is feed by a decoder that is replaced every so many calls by a new one, which
// goes on from the mark of the one before. The split is read again from there, as after a
// restore.
func feedMarked(t testing.TB, f job.Format, fields []job.Field, in string, piece, maxRows, every int) (result, error) {
	t.Helper()
	dec, err := New(f, fields)
	if err != nil {
		return result{}, err
	}
	var res result
	var rest []byte
	at := 0 // bytes of in that were read
	for call := 1; ; call++ {
		n := min(piece, len(in)-at)
		var b stream.Batch
		b.Reset(kindsOf(fields))
		b.Blob = append(append(b.Blob, rest...), in[at:at+n]...)
		at += n
		end, final := len(b.Blob), at == len(in)
		consumed, err := dec.Decode(&b, 0, final, maxRows)
		if err != nil {
			return res, err
		}
		res.add(&b)
		res.bad = append(res.bad, dec.TakeBad()...)
		rest = append([]byte(nil), b.Blob[consumed:end]...)
		if final && len(rest) == 0 {
			return res, nil
		}
		if call%every > 0 {
			continue
		}
		m := dec.Mark()
		if want := int64(at - len(rest)); m.Offset != want {
			t.Fatalf("the mark is at byte %d, %d were consumed", m.Offset, want)
		}
		if dec, err = New(f, fields); err != nil {
			return res, err
		}
		if err := dec.Restore(m); err != nil {
			return res, fmt.Errorf("restore at byte %d of %q: %w", m.Offset, in, err)
		}
		if m2 := dec.Mark(); m2.Offset != m.Offset || m2.Line != m.Line || m2.Within != m.Within || string(m2.First) != string(m.First) {
			t.Fatalf("restored from %+v, it stands at %+v", m, m2)
		}
		at, rest = int(m.Offset), nil
		piece = max(piece, 1) + call%7 // or one record might never fit between two marks
	}
}

// Wherever a decoder is replaced by another one, rows, lines and bad records are those of one
// that is not: also inside a record that is too long, and of CSV with quotes and a header.
func TestADecoderGoesOnFromAMark(t *testing.T) {
	jsonFields := []job.Field{field("k", stream.String), field("n", stream.Int64)}
	csvFields := []job.Field{field("k", stream.String), field("n", stream.Int64)}
	noHeader := []job.Field{field("c1", stream.String), field("c2", stream.Int64)}
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		name   string
		format job.Format
		fields []job.Field
		lines  []string
		head   string
	}{
		{"JSON", job.Format{Kind: "json", MaxRecord: 60, MaxDepth: 8}, jsonFields,
			[]string{`{"k":"a","n":1}`, `{"k":"\u00e4\n","n":2}` + "\r", "", "rubbish", `{"k":"` + long + `","n":3}`, `{"k":"b"}`, `{"n":9007199254740993,"k":"c"}`}, ""},
		{"JSON with a byte order mark", job.Format{Kind: "json", MaxRecord: 60, MaxDepth: 8}, jsonFields, []string{`{"k":"a","n":1}`, `{"k":"` + long + `"}`}, byteOrderMark},
		{"CSV with a header", job.Format{Kind: "csv", Header: true, MaxRecord: 60}, csvFields,
			[]string{"1,a,x", `2,"b, ""c""",x`, "3,\"two\nlines\",x", "", "4,d", `5,e"f,x`, "6," + long + ",x", `7,"never closed,x`, "x,g,x\r"}, "n,k,other\n"},
		{"CSV with a header in quotes and a byte order mark", job.Format{Kind: "csv", Header: true, MaxRecord: 60}, csvFields, []string{"1,a,x", "2,b,x", "x,y,z"}, byteOrderMark + "\"n\",k,\"ot\nher\"\r\n"},
		{"CSV without a header", job.Format{Kind: "csv", MaxRecord: 60}, noHeader,
			[]string{"a,1,x", `"b, ""c""",2,x`, "\"two\nlines\",3,x", "", "d,4", "e,5,x,y", long + ",6,x", `"never closed,7,x`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad, good := 0, 0
			for seed := range uint64(300) {
				r := rand.New(rand.NewPCG(seed, 4))
				in := c.head
				for range r.IntN(12) {
					in += c.lines[r.IntN(len(c.lines))] + "\n"
				}
				if r.IntN(2) == 0 {
					in = strings.TrimSuffix(in, "\n")
				}
				want, werr := feed(t, c.format, c.fields, in, 1<<20, 1<<20)
				piece, rows, every := 1+r.IntN(90), 1+r.IntN(4), 1+r.IntN(3)
				got, err := feedMarked(t, c.format, c.fields, in, piece, rows, every)
				if fmt.Sprint(err) != fmt.Sprint(werr) {
					t.Fatalf("seed %d: got %v, want %v", seed, err, werr)
				}
				if err == nil && got.text() != want.text() {
					t.Fatalf("seed %d, pieces from %d bytes, %d rows, a new decoder every %d calls, of\n%q\ngot\n%swant\n%s", seed, piece, rows, every, in, got.text(), want.text())
				}
				bad += len(want.bad)
				good += len(want.rows)
			}
			if bad < 100 || good < 100 {
				t.Errorf("only %d records, %d bad ones", good, bad)
			}
		})
	}
}
