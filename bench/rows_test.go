package main

import (
	"strings"
	"testing"
)

func TestCompareRows(t *testing.T) {
	const reference = `{"start":10000,"key":"a","count":2,"sum":3.75,"max":2.5}
{"start":20000,"key":"a","count":1,"sum":4,"max":4}
`
	const second = `{"id":"2","step":"s","key":{"key":"a"},"window":{"start":"1970-01-01T00:00:20.000Z","end":"1970-01-01T00:00:30.000Z"},"kind":"on_time","revision":0,"value":{"count":1,"sum":4,"max":4}}
`
	for _, row := range []struct{ name, engine, want string }{
		{"members of value, in another order", second +
			`{"key":{"key":"a"},"window":{"start":"1970-01-01T00:00:10.000Z"},"kind":"on_time","value":{"count":2,"sum":3.75,"max":2.5}}`, ""},
		{"one plug-in gives all", second +
			`{"key":{"key":"a"},"window":{"start":"1970-01-01T00:00:10.000Z"},"kind":"on_time","value":{"amount":{"count":2,"sum":3.75,"min":1.25,"max":2.5,"mean":1.875}}}`, ""},
		{"a row is missing", second, "1 of 2 rows differ from the reference's, such as window 10000, key a: missing"},
		{"a row is too many", second +
			`{"key":{"key":"a"},"window":{"start":"1970-01-01T00:00:10.000Z"},"kind":"on_time","value":{"count":2,"sum":3.75,"max":2.5}}
{"key":{"key":"b"},"window":{"start":"1970-01-01T00:00:10.000Z"},"kind":"on_time","value":{"count":2,"sum":3.75,"max":2.5}}`,
			"window 10000, key b: {Count:2 Sum:3.75 Max:2.5}, the reference has none"},
		{"the last bit of a sum", second +
			`{"key":{"key":"a"},"window":{"start":"1970-01-01T00:00:10.000Z"},"kind":"on_time","value":{"count":2,"sum":3.7500000000000004,"max":2.5}}`,
			"window 10000, key a: {Count:2 Sum:3.7500000000000004 Max:2.5}"},
		{"a row comes twice", second + second, "row 2: a second row for window 20000, key a"},
		{"an update", strings.Replace(second, "on_time", "update", 1), `row 1: row of kind "update"`},
		{"not JSON", "oops", "row 1: invalid character"},
	} {
		want, err := readReference(strings.NewReader(reference))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readEngine(strings.NewReader(row.engine))
		if err == nil {
			err = compareRows(want, got)
		}
		switch {
		case err == nil && row.want == "":
		case err == nil || row.want == "" || !strings.Contains(err.Error(), row.want):
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}
