package main

import (
	"strings"
	"testing"

	"tidemark/engine/stream"
)

func TestCompareRows(t *testing.T) {
	q := query{aggregates: []aggregate{{name: "count", kind: stream.Int64}, {name: "sum", kind: stream.Float64}, {name: "top", kind: stream.Token}}}
	const reference = `{"start":10000,"end":20000,"key":"a","count":2,"sum":3.75,"top":[{"value":"x","count":2}]}
{"start":20000,"end":30000,"key":"a","count":1,"sum":4,"top":[]}
{"start":20000,"end":30000,"key":"a","revision":1,"count":2,"sum":5,"top":[]}
`
	const first = `{"key":{"key":"a"},"window":{"start":"1970-01-01T00:00:10.000Z","end":"1970-01-01T00:00:20.000Z"},"kind":"on_time","revision":0,"value":{"count":2,"sum":3.75,"top":[{"value":"x","count":2}]}}
`
	const update = `{"key":{"key":"a"},"window":{"start":"1970-01-01T00:00:20.000Z","end":"1970-01-01T00:00:30.000Z"},"kind":"update","revision":1,"value":{"count":2,"sum":5,"top":[]}}
`
	const rest = `{"id":"2","step":"s","key":{"key":"a"},"window":{"start":"1970-01-01T00:00:20.000Z","end":"1970-01-01T00:00:30.000Z"},"kind":"on_time","revision":0,"value":{"sum":4,"top":[],"count":1}}
` + update
	plugged := strings.NewReplacer(`"value":{"count"`, `"value":{"stats":{"count"`, `"value":{"sum"`, `"value":{"stats":{"sum"`, "}}\n", "}}}\n")
	want, err := q.readReference(strings.NewReader(reference)) // once, for all
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, engine string
		plugin       bool
		want         string
	}{
		{"in another order", rest + first, false, ""},
		{"one plug-in gives all", plugged.Replace(rest + first), true, ""},
		{"a row is missing", rest, false, "2 rows, 3 in the reference, differ at 1 of them, such as window 10000 to 20000, key a, revision 0: missing"},
		{"a row is too many", rest + first + strings.Replace(first, `"a"`, `"b"`, 1), false,
			`window 10000 to 20000, key b, revision 0: count=2 sum=3.75 top=[{"value":"x","count":2}], the reference has none`},
		{"the last bit of a sum", rest + strings.Replace(first, "3.75", "3.7500000000000004", 1), false, "count=2 sum=3.7500000000000004 top"},
		{"another list", rest + strings.Replace(first, `"x"`, `"y"`, 1), false, `top=[{"value":"y","count":2}], the reference has`},
		{"another end of the window", rest + strings.Replace(first, "20.000Z", "21.000Z", 1), false, "differ at 2 of them"},
		{"a row comes twice", rest + first + first, false, "4 rows, 3 in the reference, differ at 1 of them, such as window 10000 to 20000, key a, revision 0: a second one, count=2"},
		{"a revision later", rest + first + strings.Replace(update, `"revision":1`, `"revision":2`, 1), false, "revision 2: count=2 sum=5 top=[], the reference has none"},
		{"an update at the first firing", strings.Replace(first, "on_time", "update", 1), false, `row 1 is of kind "update" at revision 0`},
		{"no sum", strings.Replace(first, `"sum":3.75,`, "", 1), false, "row 1 has no sum"},
		{"no list", strings.Replace(first, `"top":`, `"t":`, 1), false, "row 1 has no top"},
		{"not JSON", "oops", false, "line 1: "},
	} {
		n, err := q.compare(want, strings.NewReader(row.engine), row.plugin)
		switch {
		case err == nil && row.want == "" && n == 3:
		case err == nil || row.want == "" || !strings.Contains(err.Error(), row.want):
			t.Errorf("%s: %d, %v, want %q", row.name, n, err, row.want)
		}
	}
	if _, err := q.readReference(strings.NewReader(reference + reference)); err == nil || !strings.Contains(err.Error(), "row 4: a second row for window 10000 to 20000, key a, revision 0") {
		t.Errorf("a reference with rows twice: %v", err)
	}
}
