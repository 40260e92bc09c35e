package decode

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// FuzzJSON holds the scanner to two readers of JSON: jsontext, which is as strict,
// decides what is well-formed; encoding/json gives the values.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":"x","c":1.5,"d":true,"e":{"f":2}}`, `{"a":9223372036854775808}`, `{"b":"\ud83d\ude00\u00e9\\"}`, `{"b":"\ud800"}`,
		`{"c":1e999}`, `{"c":-0.0}`, `{"e":{"f":1},"e":null}`, `[]`, `{"x":[[[[]]]]}`, ` {"a" : 1 } `, `{"c":123456789012345678901234567890e-20}`,
		`{"a":1}{`, "{\"b\":\"\xff\"}", `nul`, `{"a":-}`, `{"\u0061":1,"c":0.1e+2}`, "{\"a\":1}\r", "\r", `{"b":"aaaaaaa\"bbbbbbb"}`,
	} {
		f.Add([]byte(seed))
	}
	format := job.Format{Kind: "json", MaxRecord: 1 << 16, MaxDepth: 64}
	fields := []job.Field{field("a", stream.Int64), field("b", stream.String), field("c", stream.Float64), field("d", stream.Bool), field("e.f", stream.Token)}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 || len(line) > 1<<12 || bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) {
			return
		}
		if bytes.Count(line, []byte("{"))+bytes.Count(line, []byte("[")) > 64 {
			return // jsontext has another limit of depth
		}
		// Twice: what was remembered of the first must not change the second.
		res, err := feed(t, format, fields, string(line)+"\n"+string(line), 1<<16, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.Trim(line, " \t\r")) == 0 {
			if len(res.rows)+len(res.bad) != 0 {
				t.Fatalf("a blank line: %s", res.text())
			}
			return
		}
		well := jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true))
		if len(res.rows)+len(res.bad) != 2 || len(res.rows) == 1 {
			t.Fatalf("two equal lines: %s", res.text())
		}
		refused := len(res.bad) > 0 && res.bad[0].Reason != WrongType && res.bad[0].Reason != OutOfRange
		if refused == well {
			t.Fatalf("jsontext finds %q valid: %v; %s", line, well, res.text())
		}
		if !well {
			return
		}
		want, ok := expectedRow(line)
		if !ok {
			if len(res.bad) == 0 {
				t.Fatalf("%q does not fit: %s", line, res.text())
			}
			return
		}
		if len(res.rows) == 0 || res.rows[0] != "1: "+want || res.rows[1] != "2: "+want {
			t.Fatalf("%q: %s want %s", line, res.text(), want)
		}
	})
}

// expectedRow decodes a line for FuzzJSON by means of encoding/json, the last of
// equal names winning at each level.
func expectedRow(line []byte) (string, bool) {
	var top map[string]json.RawMessage
	if json.Unmarshal(line, &top) != nil || top == nil {
		return "", false
	}
	var out []string
	isNull := func(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }
	for _, name := range []string{"a", "b", "c", "d"} {
		raw := top[name]
		if isNull(raw) {
			out = append(out, "null")
			continue
		}
		switch name {
		case "a":
			v, err := strconv.ParseInt(string(raw), 10, 64)
			if err != nil {
				return "", false
			}
			out = append(out, strconv.FormatInt(v, 10))
		case "b":
			var s string
			if json.Unmarshal(raw, &s) != nil {
				return "", false
			}
			out = append(out, strconv.Quote(s))
		case "c":
			v, err := strconv.ParseFloat(string(raw), 64)
			if err != nil || math.IsInf(v, 0) {
				return "", false
			}
			out = append(out, strconv.FormatFloat(v, 'g', -1, 64))
		case "d":
			if s := string(raw); s != "true" && s != "false" {
				return "", false
			}
			out = append(out, string(raw))
		}
	}
	inner := map[string]json.RawMessage{}
	if raw := top["e"]; !isNull(raw) {
		if json.Unmarshal(raw, &inner) != nil {
			return "", false
		}
	}
	return strings.Join(append(out, "<"+string(inner["f"])+">"), " "), true
}

// FuzzPieces: however the input is cut, the result is the same, and every line that
// is not blank is a row or a bad record.
func FuzzPieces(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n\n{\"a\":\"\\n\"}\r\n{\"a\":123456789012345678901234567890}\nx"), uint8(3), uint8(1), false)
	f.Add([]byte("a,b\n1,\"x\ny\"\r\n\"2\"\"\",\"z\n"), uint8(5), uint8(2), true)
	f.Add([]byte("\xef\xbb\xbfa,\"b\"\n1,\"x\"y\n\"\n3,4"), uint8(1), uint8(7), true)
	f.Fuzz(func(t *testing.T, in []byte, piece, rows uint8, isCSV bool) {
		if piece == 0 || rows == 0 || len(in) > 1<<10 {
			return
		}
		format := job.Format{Kind: "json", MaxRecord: 20, MaxDepth: 4}
		fields := []job.Field{field("a", stream.String)}
		if isCSV {
			format = job.Format{Kind: "csv", MaxRecord: 20}
			fields = []job.Field{field("c1", stream.String)}
		}
		whole, err1 := feed(t, format, fields, string(in), len(in)+1, 1<<20)
		parts, err2 := feed(t, format, fields, string(in), int(piece), int(rows))
		if (err1 == nil) != (err2 == nil) || whole.text() != parts.text() {
			t.Fatalf("at once: %v\n%sin pieces of %d, %d rows: %v\n%s", err1, whole.text(), piece, rows, err2, parts.text())
		}
		lines := 0
		for _, l := range bytes.Split(bytes.TrimPrefix(in, []byte("\xef\xbb\xbf")), newline) {
			if len(bytes.Trim(l, " \t\r")) > 0 {
				lines++
			}
		}
		if !isCSV && len(whole.rows)+len(whole.bad) < lines {
			t.Fatalf("%d lines: %s", lines, whole.text())
		}
	})
}

// FuzzCSV holds the scanner to encoding/csv, up to the first error.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{
		"a,b\nc,d\n", "a,\"b\"\r\n\"c\"\"\",\"d\nd\"\n", "\"a\",\n,\"\"\n", "a\"b,c\n", "\"a\"b,c\n", "\"a", "a,b\r", "\r\r\n\n,\n", "a;b;c", "\"a\r\nb\",c\n\nx,y",
	} {
		f.Add([]byte(seed), byte(','))
	}
	f.Add([]byte("a;b;c\n"), byte(';'))
	f.Add([]byte("a\x00b\n"), byte(1))
	f.Fuzz(func(t *testing.T, in []byte, delimiter byte) {
		if !utf8.Valid(in) || len(in) > 1<<12 || bytes.HasPrefix(in, []byte("\xef\xbb\xbf")) {
			return
		}
		if delimiter == 0 || delimiter >= utf8.RuneSelf || strings.IndexByte("\"\r\n", delimiter) >= 0 {
			return
		}
		format := job.Format{Kind: "csv", MaxRecord: 1 << 16, Delimiter: delimiter}
		r := csv.NewReader(bytes.NewReader(in))
		r.Comma = rune(delimiter)
		r.FieldsPerRecord = -1
		var want []string
		var width int
		var failed error
		for {
			rec, err := r.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				failed = err
				break
			}
			if width == 0 {
				width = len(rec)
			}
			if len(rec) != width {
				break // a bad record; what follows is compared by other inputs
			}
			line, _ := r.FieldPos(0)
			for i := range rec {
				rec[i] = strconv.Quote(rec[i])
			}
			want = append(want, strconv.Itoa(line)+": "+strings.Join(rec, " "))
		}
		var fields []job.Field
		for i := range width {
			fields = append(fields, field("c"+strconv.Itoa(i+1), stream.String))
		}
		res, err := feed(t, format, fields, string(in), 1<<20, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if failed != nil && len(res.bad) == 0 {
			t.Fatalf("%q: encoding/csv: %v; %s", in, failed, res.text())
		}
		if len(res.rows) < len(want) {
			t.Fatalf("%q: want %q, %s", in, want, res.text())
		}
		for i := range want {
			// encoding/csv turns line ends inside quotes into \n.
			if got := strings.ReplaceAll(res.rows[i], `\r\n`, `\n`); got != want[i] {
				t.Fatalf("%q: row %d is %s, want %s", in, i, got, want[i])
			}
		}
	})
}
