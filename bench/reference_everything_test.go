package main

import "testing"

func TestEverything(t *testing.T) {
	eleven := []string{}
	for _, key := range []string{"k", "j", "i", "h", "g", "f", "e", "d", "c", "b", "a"} {
		eleven = append(eleven, "10000 "+key+" 1")
	}
	references{
		{"the most frequent first, of equals the smaller key",
			[]string{"10000 b 1", "10001 a 1", "10002 c 1", "10999 c 1", "11000 a 1"},
			[]string{
				`{"start":10000,"end":11000,"count":4,"distinct":3,"top":[{"value":"c","count":2},{"value":"a","count":1},{"value":"b","count":1}]}`,
				`{"start":11000,"end":12000,"count":1,"distinct":1,"top":[{"value":"a","count":1}]}`,
			}},
		{"ten of eleven", eleven,
			[]string{`{"start":10000,"end":11000,"count":11,"distinct":11,"top":[{"value":"a","count":1},{"value":"b","count":1},{"value":"c","count":1},` +
				`{"value":"d","count":1},{"value":"e","count":1},{"value":"f","count":1},{"value":"g","count":1},{"value":"h","count":1},{"value":"i","count":1},{"value":"j","count":1}]}`}},
	}.run(t, tumbling(1000, writeEverything))
}
