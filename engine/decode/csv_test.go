package decode

import (
	"errors"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

var (
	headed   = job.Format{Kind: "csv", Header: true, Delimiter: ',', MaxRecord: 1 << 16}
	headless = job.Format{Kind: "csv", Delimiter: ',', MaxRecord: 1 << 16}
)

func TestCSVRecords(t *testing.T) {
	ab := []job.Field{field("a", stream.Int64), field("b", stream.String)}
	byPlace := []job.Field{field("c2", stream.String), field("c1", stream.Token)}
	limited := job.Format{Kind: "csv", Delimiter: ',', MaxRecord: 8}
	for _, row := range []struct {
		name   string
		format job.Format
		fields []job.Field
		in     string
		want   string
	}{
		{"columns by name, in any order", headed, ab, "x,b,a\n?,one,1\n?,two,2\n",
			`row 2: 1 "one" raw "?,one,1"
row 3: 2 "two" raw "?,two,2"
`},
		{"columns by place", headless, byPlace, "1,one,x\n2,two,y\n",
			`row 1: "one" <1> raw "1,one,x"
row 2: "two" <2> raw "2,two,y"
`},
		{"an empty input has no header to miss", headed, ab, "", ""},
		{"a header alone", headed, ab, "a,b\n", ""},
		{"a header without line end", headed, ab, "a,b", ""},
		{"the last line has no line end", headed, ab, "a,b\n1,x", `row 2: 1 "x" raw "1,x"
`},
		{"a byte order mark and CRLF", headed, ab, "\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n",
			`row 2: 1 "x" raw "1,x"
row 3: 2 "y" raw "2,y"
`},
		{"a header in quotes behind blank lines", headed, ab, "\n\r\n\"a\",\"b\"\n1,x\n", `row 4: 1 "x" raw "1,x"
`},
		{"empty fields are null, but for strings", headed, []job.Field{field("a", stream.Int64), field("b", stream.String), field("c", stream.Float64), field("d", stream.Token)},
			"a,b,c,d\n,,,\n\"\",\"\",\"\",\"\"\n",
			`row 2: null "" null <> raw ",,,"
row 3: null "" null <> raw "\"\",\"\",\"\",\"\""
`},
		{"quoted fields", headed, ab, "a,b\n\"1\",\"x,y\"\n2,\"say \"\"hi\"\"\"\n3,\"\"\"\"\n",
			`row 2: 1 "x,y" raw "\"1\",\"x,y\""
row 3: 2 "say \"hi\"" raw "2,\"say \"\"hi\"\"\""
row 4: 3 "\"" raw "3,\"\"\"\""
`},
		{"line ends inside quotes", headed, ab, "a,b\n1,\"x\ny\r\nz\"\n2,w\n",
			`row 2: 1 "x\ny\r\nz" raw "1,\"x\ny\r\nz\""
row 5: 2 "w" raw "2,w"
`},
		{"blanks belong to a field", headed, ab, "a,b\n1, x \n 2,y\n",
			`row 2: 1 " x " raw "1, x "
bad 3 @10 wrong_type field a: expected int64, found text: " 2" raw " 2,y"
`},
		{"the wrong number of fields", headed, ab, "a,b\n1\n1,x,y\n2,z\n",
			`row 4: 2 "z" raw "2,z"
bad 2 @4 csv_fields 1 fields, expected 2 raw "1"
bad 3 @6 csv_fields 3 fields, expected 2 raw "1,x,y"
`},
		{"without header the first record says how many", headless, byPlace, "1,x\n2,y,z\n3,w\n",
			`row 1: "x" <1> raw "1,x"
row 3: "w" <3> raw "3,w"
bad 2 @4 csv_fields 3 fields, expected 2 raw "2,y,z"
`},
		{"another delimiter", job.Format{Kind: "csv", Header: true, Delimiter: ';', MaxRecord: 100}, ab, "a;b\n1;\"x;y,z\"\n2;u,v\n",
			`row 2: 1 "x;y,z" raw "1;\"x;y,z\""
row 3: 2 "u,v" raw "2;u,v"
`},
		{"a tab as delimiter", job.Format{Kind: "csv", Header: true, Delimiter: '\t', MaxRecord: 100}, ab, "a\tb\n1\tx\n", `row 2: 1 "x" raw "1\tx"
`},
		{"a quote inside an unquoted field", headed, ab, "a,b\n1,x\"y\n2,z\n",
			`row 3: 2 "z" raw "2,z"
bad 2 @4 csv_fields a quote inside a field that is not quoted raw "1,x\"y"
`},
		{"text behind a closing quote", headed, ab, "a,b\n1,\"x\"y\n2,z\n",
			`row 3: 2 "z" raw "2,z"
bad 2 @4 csv_fields text behind a closing quote raw "1,\"x\"y"
`},
		{"a quote that is not closed takes one line", headed, ab, "a,b\n1,\"x\n2,y\n3,z",
			`row 3: 2 "y" raw "2,y"
row 4: 3 "z" raw "3,z"
bad 2 @4 csv_fields a quote is not closed raw "1,\"x"
`},
		{"not UTF-8", headed, ab, "a,b\n1,\xff\n2,z\n",
			`row 3: 2 "z" raw "2,z"
bad 2 @4 invalid_utf8 text that is not UTF-8 raw "1,\xff"
`},
		{"not UTF-8 in a field that nobody reads", headed, ab, "a,x,b\n1,\"\xe2\x82\",y\n", `bad 2 @6 invalid_utf8 text that is not UTF-8 raw "1,\"\xe2\x82\",y"
`},
		{"one name in two fields", headed, []job.Field{field("a", stream.Token), field("a", stream.Int64)}, "a\n7\n", `row 2: <7> 7 raw "7"
`},
		{"as long as allowed", limited, byPlace, "12,45678\n12,45678\r\n",
			`row 1: "45678" <12> raw "12,45678"
row 2: "45678" <12> raw "12,45678"
`},
		{"longer than allowed", limited, byPlace, "1,2\n12,456789\n1,3\n12,4567890123456789\n1,4\n12,456789",
			`row 1: "2" <1> raw "1,2"
row 3: "3" <1> raw "1,3"
row 5: "4" <1> raw "1,4"
bad 2 @4 too_long longer than 8 bytes raw "12,45678"
bad 4 @18 too_long longer than 8 bytes raw "12,45678"
bad 6 @42 too_long longer than 8 bytes raw "12,45678"
`},
		{"a long record in quotes gives up its first line", limited, byPlace, "1,2\n1,\"3\n4,5\n6,7\n8\"\n",
			`row 1: "2" <1> raw "1,2"
row 3: "5" <4> raw "4,5"
row 4: "7" <6> raw "6,7"
bad 2 @4 too_long no end of the record within 8 bytes: is a quote not closed? raw "1,\"3"
bad 5 @17 csv_fields a quote inside a field that is not quoted raw "8\""
`},
	} {
		t.Run(row.name, func(t *testing.T) { everyWay(t, row.format, row.fields, row.in, row.want) })
	}
}

func TestCSVValue(t *testing.T) {
	for _, row := range []struct {
		name string
		kind stream.Kind
		text string
		want string // a value, or a reason
	}{
		{"an integer", stream.Int64, "42", "42"},
		{"with a sign", stream.Int64, "+42", "42"},
		{"with leading zeros", stream.Int64, "-00000000000000000000042", "-42"},
		{"above 2^53 stays exact", stream.Int64, "9007199254740993", "9007199254740993"},
		{"2^63 does not fit", stream.Int64, "9223372036854775808", "out_of_range"},
		{"a fraction", stream.Int64, "1.0", "wrong_type"},
		{"text", stream.Int64, "one", "wrong_type"},
		{"the word null", stream.Int64, "null", "wrong_type"},
		{"a sign alone", stream.Int64, "-", "wrong_type"},
		{"digits with something behind", stream.Int64, "1x", "wrong_type"},
		{"a float", stream.Float64, "12.25", "12.25"},
		{"nothing before the point", stream.Float64, "-.5", "-0.5"},
		{"nothing behind the point", stream.Float64, "5.", "5"},
		{"an exponent", stream.Float64, "1e-3", "0.001"},
		{"too large", stream.Float64, "1e999", "out_of_range"},
		{"many digits", stream.Float64, "+123456789012345678901234567890", "1.2345678901234568e+29"},
		{"NaN", stream.Float64, "NaN", "wrong_type"},
		{"Inf", stream.Float64, "-Inf", "wrong_type"},
		{"hexadecimal", stream.Float64, "0x1p4", "wrong_type"},
		{"an underscore", stream.Float64, "1_000", "wrong_type"},
		{"a point alone", stream.Float64, ".", "wrong_type"},
		{"an exponent without digits", stream.Float64, "1e", "wrong_type"},
		{"true", stream.Bool, "true", "true"},
		{"FALSE", stream.Bool, "FALSE", "false"},
		{"one is no boolean", stream.Bool, "1", "wrong_type"},
		{"a timestamp in milliseconds", stream.Timestamp, "-5", "-5"},
		{"a timestamp as text", stream.Timestamp, "1970-01-01T00:00:01Z", "1000"},
		{"no timestamp", stream.Timestamp, "today", "wrong_type"},
		{"a token", stream.Token, "2018-01-31 02:18", "<2018-01-31 02:18>"},
		{"a string", stream.String, "żółw", `"żółw"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, in := range []string{"x," + row.text + "\n", "x,\"" + row.text + "\""} {
				res, err := feed(t, headless, []job.Field{field("c2", row.kind)}, in, 1<<10, 10)
				if err != nil {
					t.Fatal(err)
				}
				got := res.text()
				if len(res.rows) == 1 {
					got = strings.TrimPrefix(res.rows[0], "1: ")
				} else if len(res.bad) == 1 {
					got = string(res.bad[0].Reason)
				}
				if got != row.want {
					t.Errorf("%q: %s, want %s", in, got, row.want)
				}
			}
		})
	}
}

func TestCSVHeadersThatDoNotFit(t *testing.T) {
	for _, row := range []struct {
		name   string
		format job.Format
		field  string
		in     string
		want   string
	}{
		{"a column is missing", headed, "price", "time,prize\n1,2\n", `the header has no column "price", it has time, prize`},
		{"two columns of one name", headed, "a", "a,b,a\n1,2,3\n", `the header has two columns "a"`},
		{"a header with broken quotes", headed, "a", "a,\"b\"c\n1,2\n", "the header cannot be read: text behind a closing quote"},
		{"a header whose quote is not closed", headed, "a", "a,\"b\n1,2\n", "the header cannot be read: a quote is not closed"},
		{"a header that is not UTF-8", headed, "a", "a,\xff\n1,2\n", "the header cannot be read: text that is not UTF-8"},
		{"a header that is too long", job.Format{Kind: "csv", Header: true, MaxRecord: 5}, "a", "a,bcde\n1,2\n", "the header cannot be read: longer than 5 bytes"},
		{"the first record is too short", headless, "c3", "1,2\n1,2,3\n", "the first record has no column c3, it has 2 fields"},
	} {
		t.Run(row.name, func(t *testing.T) {
			res, err := feed(t, row.format, []job.Field{field(row.field, stream.String)}, row.in, 3, 10)
			if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) || len(res.rows) > 0 {
				t.Errorf("%v, want a user's error with %q; %s", err, row.want, res.text())
			}
		})
	}
}
