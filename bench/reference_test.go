package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestReference(t *testing.T) {
	for _, row := range []struct{ name, lines, want string }{
		{"nothing gives nothing", "", ""},
		{"a window and a key each has a row",
			`{"event_time":10000,"key":"a","amount":1.25}
{"event_time":19999,"key":"a","amount":2.50}
{"event_time":20000,"key":"a","amount":4}
{"event_time":10001,"key":"b","amount":0.75}
`,
			`{"start":10000,"end":20000,"key":"a","count":2,"sum":3.75,"max":2.5}
{"start":10000,"end":20000,"key":"b","count":1,"sum":0.75,"max":0.75}
{"start":20000,"end":30000,"key":"a","count":1,"sum":4,"max":4}
`},
		{"a record at the bound still finds its window",
			`{"event_time":24999,"key":"a","amount":1}
{"event_time":19999,"key":"a","amount":2}
{"event_time":25000,"key":"a","amount":4}
`,
			`{"start":10000,"end":20000,"key":"a","count":1,"sum":2,"max":2}
{"start":20000,"end":30000,"key":"a","count":2,"sum":5,"max":4}
`},
		{"fields may stand in any order, among others, with spaces",
			`{"type":"a\"b","key" : "k" , "amount": 12.25,"event_time":10000}`,
			`{"start":10000,"end":20000,"key":"k","count":1,"sum":12.25,"max":12.25}
`},
	} {
		var out bytes.Buffer
		if err := Reference(strings.NewReader(row.lines), &out); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		// Keys of a window come in the order of a Go map.
		if sortLines(out.String()) != sortLines(row.want) {
			t.Errorf("%s: got\n%swant\n%s", row.name, out.String(), row.want)
		}
	}
}

func sortLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}
