package decode

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// One record, one field: what becomes of it.
func TestJSONValue(t *testing.T) {
	for _, row := range []struct {
		name  string
		kind  stream.Kind
		value string // of field v; empty: the field is missing
		want  string // a value, or a reason
	}{
		{"an integer", stream.Int64, `42`, `42`},
		{"a negative integer", stream.Int64, `-7`, `-7`},
		{"minus zero is zero", stream.Int64, `-0`, `0`},
		{"above 2^53 stays exact", stream.Int64, `9007199254740993`, `9007199254740993`},
		{"the largest integer", stream.Int64, `9223372036854775807`, `9223372036854775807`},
		{"the smallest integer", stream.Int64, `-9223372036854775808`, `-9223372036854775808`},
		{"2^63 does not fit", stream.Int64, `9223372036854775808`, `out_of_range`},
		{"below the smallest does not fit", stream.Int64, `-9223372036854775809`, `out_of_range`},
		{"twenty digits do not fit", stream.Int64, `18446744073709551617`, `out_of_range`},
		{"a fraction is no integer", stream.Int64, `12.0`, `wrong_type`},
		{"an exponent is no integer", stream.Int64, `1e3`, `wrong_type`},
		{"digits in quotes are no integer", stream.Int64, `"12"`, `wrong_type`},
		{"a boolean is no integer", stream.Int64, `true`, `wrong_type`},
		{"an object is no integer", stream.Int64, `{"a":1}`, `wrong_type`},
		{"an array is no integer", stream.Int64, `[1]`, `wrong_type`},
		{"null is null", stream.Int64, `null`, `null`},
		{"missing is null", stream.Int64, ``, `null`},

		{"a float", stream.Float64, `12.25`, `12.25`},
		{"an integer is a float", stream.Float64, `3`, `3`},
		{"an exponent", stream.Float64, `-1.5E-3`, `-0.0015`},
		{"minus zero keeps its sign", stream.Float64, `-0.0`, `-0`},
		{"the smallest float", stream.Float64, `5e-324`, `5e-324`},
		{"the largest float", stream.Float64, `1.7976931348623157e308`, `1.7976931348623157e+308`},
		{"a float of many digits is rounded once", stream.Float64, `0.30000000000000004440892098500626`, `0.30000000000000004`},
		{"halfway goes to even", stream.Float64, `9007199254740993`, `9.007199254740992e+15`},
		{"too small is zero", stream.Float64, `1e-999`, `0`},
		{"too large is out of range", stream.Float64, `1e999`, `out_of_range`},
		{"minus too large is out of range", stream.Float64, `-1e309`, `out_of_range`},
		{"an exponent beyond all integers", stream.Float64, `1e99999999999999999999`, `out_of_range`},
		{"NaN is no JSON", stream.Float64, `NaN`, `invalid_json`},
		{"Infinity is no JSON", stream.Float64, `Infinity`, `invalid_json`},
		{"minus Infinity is no JSON", stream.Float64, `-Infinity`, `invalid_json`},
		{"a leading zero is no JSON", stream.Float64, `01`, `invalid_json`},
		{"a plus is no JSON", stream.Float64, `+1`, `invalid_json`},
		{"a point needs digits behind it", stream.Float64, `1.`, `invalid_json`},
		{"a point needs digits before it", stream.Float64, `.5`, `invalid_json`},
		{"an exponent needs digits", stream.Float64, `1e`, `invalid_json`},
		{"hexadecimal is no JSON", stream.Float64, `0x10`, `invalid_json`},
		{"text is no float", stream.Float64, `"1.5"`, `wrong_type`},

		{"true", stream.Bool, `true`, `true`},
		{"false", stream.Bool, `false`, `false`},
		{"a one is no boolean", stream.Bool, `1`, `wrong_type`},
		{"a word that only begins well", stream.Bool, `truth`, `invalid_json`},
		{"capitals are no JSON", stream.Bool, `True`, `invalid_json`},

		{"text", stream.String, `"abc"`, `"abc"`},
		{"empty text is not null", stream.String, `""`, `""`},
		{"the word null in quotes is text", stream.String, `"null"`, `"null"`},
		{"null text is null", stream.String, `null`, `null`},
		{"missing text is null", stream.String, ``, `null`},
		{"a number is no text", stream.String, `5`, `wrong_type`},
		{"simple escapes", stream.String, `"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`},
		{"an escaped letter", stream.String, `"\u0041\u00e9\u20AC"`, `"Aé€"`},
		{"a surrogate pair", stream.String, `"\ud83d\ude00"`, `"😀"`},
		{"text beside an escape", stream.String, `"日本\n語"`, `"日本\n語"`},
		{"an escaped zero", stream.String, `"\u0000"`, `"\x00"`},
		{"a high surrogate alone", stream.String, `"\ud83d"`, `invalid_utf8`},
		{"a low surrogate alone", stream.String, `"\ude00"`, `invalid_utf8`},
		{"a high surrogate and a letter", stream.String, `"\ud83dx"`, `invalid_utf8`},
		{"two high surrogates", stream.String, `"\ud83d\ud83d"`, `invalid_utf8`},
		{"an unknown escape", stream.String, `"\x41"`, `invalid_json`},
		{"an escape of three digits", stream.String, `"\u004"`, `invalid_json`},
		{"a tab must be escaped", stream.String, "\"a\tb\"", `invalid_json`},
		{"no closing quote", stream.String, `"abc`, `invalid_json`},
		{"UTF-8", stream.String, `"żółw"`, `"żółw"`},
		{"a byte that is not UTF-8", stream.String, "\"a\xffb\"", `invalid_utf8`},
		{"an overlong encoding", stream.String, "\"\xc0\xaf\"", `invalid_utf8`},
		{"an encoded surrogate", stream.String, "\"\xed\xa0\x80\"", `invalid_utf8`},
		{"UTF-8 that is cut off", stream.String, "\"\xe2\x82\"", `invalid_utf8`},

		{"a timestamp in milliseconds", stream.Timestamp, `1517365101235`, `1517365101235`},
		{"a timestamp as text", stream.Timestamp, `"1970-01-01T00:00:01.5Z"`, `1500`},
		{"a timestamp with a fraction", stream.Timestamp, `1.5`, `wrong_type`},
		{"text that is no timestamp", stream.Timestamp, `"yesterday"`, `wrong_type`},

		{"a number as it stands", stream.Token, `12.50`, `<12.50>`},
		{"a string as it stands", stream.Token, `"a\n"`, `<"a\n">`},
		{"null as it stands", stream.Token, `null`, `<null>`},
		{"a boolean as it stands", stream.Token, `false`, `<false>`},
		{"an object as it stands", stream.Token, `{"a": 1}`, `<{"a": 1}>`},
		{"a missing token is empty", stream.Token, ``, `<>`},
	} {
		t.Run(row.name, func(t *testing.T) {
			// The field stands first, in the middle, and last: the blob ends behind it.
			for _, around := range []string{`{%s}`, `{"u":"x",%s,"w":[1,2]}`, ` { "u" : 1e2 , %s } `} {
				in := fmt.Sprintf(around, `"v":`+row.value)
				if row.value == "" {
					in = `{"other":1}`
				}
				res, err := feed(t, plain, []job.Field{field("v", row.kind)}, in, 1<<16, 10)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				switch {
				case len(res.rows) == 1 && len(res.bad) == 0:
					got = strings.TrimPrefix(res.rows[0], "1: ")
				case len(res.rows) == 0 && len(res.bad) == 1:
					got = string(res.bad[0].Reason)
				}
				if got != row.want {
					t.Errorf("%s: %s, want %s; all: %s", in, got, row.want, res.text())
				}
			}
		})
	}
}

func TestJSONRecords(t *testing.T) {
	ab := []job.Field{field("a", stream.Int64), field("b", stream.String)}
	for _, row := range []struct {
		name   string
		format job.Format
		fields []job.Field
		in     string
		want   string
	}{
		{"two records", plain, ab, "{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"a\":2}\n",
			`row 1: 1 "x" raw "{\"a\":1,\"b\":\"x\"}"
row 2: 2 "y" raw "{\"b\":\"y\",\"a\":2}"
`},
		{"an empty input", plain, ab, "", ""},
		{"the last line has no line end", plain, ab, "{\"a\":1}\n{\"a\":2}",
			`row 1: 1 null raw "{\"a\":1}"
row 2: 2 null raw "{\"a\":2}"
`},
		{"the last line is cut off", plain, ab, "{\"a\":1}\n{\"a\":",
			`row 1: 1 null raw "{\"a\":1}"
bad 2 @8 invalid_json byte 6: expected a value, found the end of the line raw "{\"a\":"
`},
		{"blank lines are counted, and no records", plain, ab, "\n  \t\r\n{\"a\":1}\n\n{\"a\":2}\n   ",
			`row 3: 1 null raw "{\"a\":1}"
row 5: 2 null raw "{\"a\":2}"
`},
		{"a byte order mark and CRLF", plain, ab, "\xef\xbb\xbf{\"a\":1}\r\n{\"a\":x}\r\n",
			`row 1: 1 null raw "{\"a\":1}"
bad 2 @12 invalid_json byte 6: expected a value, found 'x' raw "{\"a\":x}"
`},
		{"a byte order mark elsewhere is none", plain, ab, "{\"a\":1}\n\xef\xbb\xbf{\"a\":2}\n",
			`row 1: 1 null raw "{\"a\":1}"
bad 2 @8 invalid_json byte 1: expected a value, found '\ufeff' raw "\ufeff{\"a\":2}"
`},
		{"a bad record leaves its neighbours alone", plain, ab, "{\"a\":1}\n{\"a\":1}}\n{\"a\":3}\n",
			`row 1: 1 null raw "{\"a\":1}"
row 3: 3 null raw "{\"a\":3}"
bad 2 @8 invalid_json byte 8: expected the end of the line, found '}' raw "{\"a\":1}}"
`},
		{"a value of a wrong type names field and both types", plain, ab, "{\"a\":\"one\"}\n",
			`bad 1 @0 wrong_type field a: expected int64, found a string: "one" raw "{\"a\":\"one\"}"
`},
		{"a number out of range names the field", plain, ab, "{\"a\":9223372036854775808}\n",
			`bad 1 @0 out_of_range field a: 9223372036854775808 is out of range for int64 raw "{\"a\":9223372036854775808}"
`},
		{"the last of equal names wins", plain, ab, "{\"a\":1,\"a\":2}\n{\"a\":\"x\",\"a\":3}\n{\"a\":4,\"a\":null}\n{\"a\":4,\"a\":\"x\"}\n",
			`row 1: 2 null raw "{\"a\":1,\"a\":2}"
row 2: 3 null raw "{\"a\":\"x\",\"a\":3}"
row 3: null null raw "{\"a\":4,\"a\":null}"
bad 4 @47 wrong_type field a: expected int64, found a string: "x" raw "{\"a\":4,\"a\":\"x\"}"
`},
		{"a name with escapes is the same name", plain, ab, `{"\u0061":5,"\u0062":"\n"}` + "\n",
			`row 1: 5 "\n" raw "{\"\\u0061\":5,\"\\u0062\":\"\\n\"}"
`},
		{"names that share a beginning", plain, []job.Field{field("ab", stream.Int64), field("abc", stream.Int64)}, "{\"a\":0,\"abc\":2,\"ab\":1,\"abd\":3,\"\":4}\n",
			`row 1: 1 2 raw "{\"a\":0,\"abc\":2,\"ab\":1,\"abd\":3,\"\":4}"
`},
		{"one name twice in the projection", plain, []job.Field{field("a", stream.Token), field("a", stream.Int64)}, "{\"a\":7}\n",
			`row 1: <7> 7 raw "{\"a\":7}"
`},
		{"nested names", plain, []job.Field{field("u.id", stream.Int64), field("u.n.x", stream.String)},
			"{\"u\":{\"id\":1,\"n\":{\"x\":\"y\"}}}\n{\"u\":{}}\n{\"u\":null}\n{}\n{\"id\":5}\n{\"u\":7}\n{\"u\":{\"id\":1},\"u\":{\"n\":{\"x\":\"z\"}}}\n{\"u\":7,\"u\":{\"id\":8}}\n",
			`row 1: 1 "y" raw "{\"u\":{\"id\":1,\"n\":{\"x\":\"y\"}}}"
row 2: null null raw "{\"u\":{}}"
row 3: null null raw "{\"u\":null}"
row 4: null null raw "{}"
row 5: null null raw "{\"id\":5}"
row 7: null "z" raw "{\"u\":{\"id\":1},\"u\":{\"n\":{\"x\":\"z\"}}}"
row 8: 8 null raw "{\"u\":7,\"u\":{\"id\":8}}"
bad 6 @61 wrong_type field u.id: expected int64, found no object around it: 7 raw "{\"u\":7}"
`},
		{"records that are no objects", plain, ab, "[1]\n\"x\"\n5\ntrue\n[1\nnull\n-1\nfalse\n",
			`bad 1 @0 wrong_type byte 1: expected an object, found an array raw "[1]"
bad 2 @4 wrong_type byte 1: expected an object, found a string raw "\"x\""
bad 3 @8 wrong_type byte 1: expected an object, found a number raw "5"
bad 4 @10 wrong_type byte 1: expected an object, found a bool raw "true"
bad 5 @15 invalid_json byte 3: expected a comma or a closing bracket, found the end of the line raw "[1"
bad 6 @18 wrong_type byte 1: expected an object, found null raw "null"
bad 7 @23 wrong_type byte 1: expected an object, found a number raw "-1"
bad 8 @26 wrong_type byte 1: expected an object, found a bool raw "false"
`},
		{"as deep as allowed", job.Format{Kind: "json", MaxRecord: 100, MaxDepth: 3}, ab, "{\"x\":{\"y\":[]},\"a\":1}\n",
			`row 1: 1 null raw "{\"x\":{\"y\":[]},\"a\":1}"
`},
		{"deeper than allowed", job.Format{Kind: "json", MaxRecord: 100, MaxDepth: 3}, ab, "{\"x\":{\"y\":[[]]},\"a\":1}\n",
			`bad 1 @0 too_deep byte 12: nested deeper than 3 levels raw "{\"x\":{\"y\":[[]]},\"a\":1}"
`},
		{"skipped values are checked too", plain, ab, "{\"x\":[1,],\"a\":1}\n{\"x\":{\"y\" 1}}\n{\"x\":tru}\n{\"x\":\"\\ud800\"}\n{\"x\":1 2}\n{,}\n{\"a\":1,}\n",
			`bad 1 @0 invalid_json byte 9: expected a value, found ']' raw "{\"x\":[1,],\"a\":1}"
bad 2 @17 invalid_json byte 11: expected a colon, found '1' raw "{\"x\":{\"y\" 1}}"
bad 3 @31 invalid_json byte 9: expected true, found '}' raw "{\"x\":tru}"
bad 4 @41 invalid_utf8 byte 7: an escape for half of a surrogate pair raw "{\"x\":\"\\ud800\"}"
bad 5 @56 invalid_json byte 8: expected a comma or a closing brace, found '2' raw "{\"x\":1 2}"
bad 6 @66 invalid_json byte 2: expected a name in quotes, found ',' raw "{,}"
bad 7 @70 invalid_json byte 8: expected a name in quotes, found '}' raw "{\"a\":1,}"
`},
		{"not UTF-8 outside of text", plain, ab, "{\"a\":1\xfe}\n", `bad 1 @0 invalid_utf8 byte 7: text that is not UTF-8 raw "{\"a\":1\xfe}"
`},
		{"as long as allowed", job.Format{Kind: "json", MaxRecord: 7, MaxDepth: 3}, ab, "{\"a\":1}\n{\"a\":2}\r\n{\"a\":3}",
			`row 1: 1 null raw "{\"a\":1}"
row 2: 2 null raw "{\"a\":2}"
row 3: 3 null raw "{\"a\":3}"
`},
		{"longer than allowed", job.Format{Kind: "json", MaxRecord: 7, MaxDepth: 3}, ab, "{\"a\":10}\n{\"a\":2}\n{\"a\":30}\r\n{\"a\":1}\n{\"a\":1234567890}",
			`row 2: 2 null raw "{\"a\":2}"
row 4: 1 null raw "{\"a\":1}"
bad 1 @0 too_long longer than 7 bytes raw "{\"a\":10"
bad 3 @17 too_long longer than 7 bytes raw "{\"a\":30"
bad 5 @35 too_long longer than 7 bytes raw "{\"a\":12"
`},
		{"too long takes precedence", job.Format{Kind: "json", MaxRecord: 7, MaxDepth: 3}, ab, "........\n          \n",
			`bad 1 @0 too_long longer than 7 bytes raw "......."
bad 2 @9 too_long longer than 7 bytes raw "       "
`},
		{"nothing projected", plain, nil, "{\"a\":1}\n{}\n{\n",
			`row 1:  raw "{\"a\":1}"
row 2:  raw "{}"
bad 3 @11 invalid_json byte 2: expected a name in quotes, found the end of the line raw "{"
`},
	} {
		t.Run(row.name, func(t *testing.T) { everyWay(t, row.format, row.fields, row.in, row.want) })
	}
}

// everyWay decodes in at once and in pieces of every size, in batches of 1, 7 and
// 1024 rows; the result is always the same.
func everyWay(t *testing.T, f job.Format, fields []job.Field, in, want string) {
	t.Helper()
	for _, maxRows := range []int{1024, 7, 1} {
		for piece := len(in) + 1; piece > 0; piece-- {
			res, err := feed(t, f, fields, in, piece, maxRows)
			if err != nil {
				t.Fatal(err)
			}
			if got := res.text(); got != want {
				t.Fatalf("in pieces of %d, %d rows a batch:\n%swant:\n%s", piece, maxRows, got, want)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, row := range []struct {
		name   string
		format job.Format
		field  job.Field
		want   string
	}{
		{"an unknown format", job.Format{Kind: "xml", MaxRecord: 1}, field("a", stream.Int64), `unknown format "xml"`},
		{"no longest record", job.Format{Kind: "json", MaxDepth: 1}, field("a", stream.Int64), "longest record"},
		{"no depth", job.Format{Kind: "json", MaxRecord: 1}, field("a", stream.Int64), "nesting"},
		{"an empty name", plain, job.Field{Name: "a", Path: []string{"a", ""}, Kind: stream.Int64}, "empty name"},
		{"no path", plain, job.Field{Name: "a", Kind: stream.Int64}, "has no path"},
		{"an unknown type", plain, job.Field{Name: "a", Path: []string{"a"}, Kind: 77}, "unknown type"},
		{"a quote as delimiter", job.Format{Kind: "csv", MaxRecord: 1, Delimiter: '"'}, field("c1", stream.Int64), "delimiter"},
		{"a nested CSV column", job.Format{Kind: "csv", MaxRecord: 1, Header: true}, field("a.b", stream.Int64), "no parts"},
		{"a name without header", job.Format{Kind: "csv", MaxRecord: 1}, field("price", stream.Int64), "c1, c2"},
		{"column zero", job.Format{Kind: "csv", MaxRecord: 1}, field("c0", stream.Int64), "c1, c2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := New(row.format, []job.Field{row.field})
			if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want a user's error with %q", err, row.want)
			}
		})
	}
}

// A buffer full of bad records does not pile up more than maxBad of them.
func TestBadRecordsAreHandedOverInTime(t *testing.T) {
	in := strings.Repeat("x\n", 3*maxBad)
	dec, err := New(plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for in != "" {
		b := stream.Batch{Columns: stream.Columns{Blob: []byte(in)}}
		n, err := dec.Decode(&b, 0, true, 10)
		bad := dec.TakeBad()
		if err != nil || n == 0 || len(bad) > maxBad {
			t.Fatalf("%d bytes, %d bad records, %v", n, len(bad), err)
		}
		seen += len(bad)
		in = in[n:]
	}
	if seen != 3*maxBad {
		t.Errorf("%d bad records, want %d", seen, 3*maxBad)
	}
}

// What is remembered of one record must not show in the next.
func TestJSONRecordsOfChangingShape(t *testing.T) {
	fields := []job.Field{field("a", stream.Int64), field("b", stream.Int64)}
	want := `row 1: 1 2 raw "{\"a\":1,\"b\":2}"
row 2: 4 3 raw "{\"b\":3,\"a\":4}"
row 3: 5 6 raw "{ \"a\" :5, \"b\": 6}"
row 4: null 7 raw "{\"b\":7}"
row 5: 8 null raw "{\"x\":1,\"ab\":2,\"a\":8}"
row 6: 9 10 raw "{\"a\":9,\"b\":10}"
`
	everyWay(t, plain, fields, "{\"a\":1,\"b\":2}\n{\"b\":3,\"a\":4}\n{ \"a\" :5, \"b\": 6}\n{\"b\":7}\n{\"x\":1,\"ab\":2,\"a\":8}\n{\"a\":9,\"b\":10}\n", want)
}

func TestDecodeAllocatesNothingPerRecord(t *testing.T) {
	in := []byte(strings.Repeat(`{"t":1760000400000,"k":"abc","x":1.5,"n":{"a":[1,2,"\u00e9"]},"s":"\n"}`+"\n", 500))
	fields := []job.Field{field("t", stream.Token), field("k", stream.String), field("x", stream.Float64), field("s", stream.String)}
	dec, err := New(plain, fields)
	if err != nil {
		t.Fatal(err)
	}
	var b stream.Batch
	kinds := kindsOf(fields)
	if n := testing.AllocsPerRun(20, func() {
		b.Reset(kinds)
		b.Blob = append(b.Blob, in...)
		if _, err := dec.Decode(&b, 0, false, 1000); err != nil || b.N != 500 {
			t.Fatal(err, b.N)
		}
	}); n > 1 {
		t.Errorf("%v allocations for 500 records", n)
	}
}
