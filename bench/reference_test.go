package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// references is a table of tests of one loop: lines as "TIME KEY AMOUNT", and the rows that the
// definition of the windows gives for them, in any order.
type references []struct {
	name  string
	lines []string
	want  []string
}

func (all references) run(t *testing.T, loop reference) {
	t.Helper()
	for _, row := range all {
		var in, out bytes.Buffer
		for _, line := range row.lines {
			var time int64
			var key, amount, user string
			if n, err := fmt.Sscan(line+" nobody", &time, &key, &amount, &user); n != 4 {
				t.Fatalf("%s: line %q: %v", row.name, line, err)
			}
			fmt.Fprintf(&in, `{"event_time":%d,"key":%q,"user_id":%q,"amount":%s}`+"\n", time, key, user, amount)
		}
		if err := loop(&in, &out); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(row.want) == 0 {
			row.want = []string{""}
		}
		slices.Sort(got)
		slices.Sort(row.want)
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", row.name, strings.Join(got, "\n"), strings.Join(row.want, "\n"))
		}
	}
}

func TestScan(t *testing.T) {
	for _, line := range []string{
		`{"event_time":10000,"key":"k","user_id":"u","amount":12.25}`,
		`{"type":"a\"b\\","key" : "k" , "amount": 12.25,"user_id":"u","event_time":10000}`,
	} {
		e := scanEvent([]byte(line))
		if e.time != 10000 || string(e.key) != "k" || string(e.user) != "u" || e.amount != 12.25 {
			t.Errorf("%s: %d, %s, %s, %v", line, e.time, e.key, e.user, e.amount)
		}
	}
}
