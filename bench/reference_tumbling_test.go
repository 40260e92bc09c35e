package main

import "testing"

func TestTumbling(t *testing.T) {
	references{
		{name: "nothing gives nothing"},
		{"a window and a key each has a row",
			[]string{"10000 a 1.25", "19999 a 2.5", "20000 a 4", "10001 b 0.75"},
			[]string{
				`{"start":10000,"end":20000,"key":"a","count":2,"sum":3.75,"max":2.50}`,
				`{"start":10000,"end":20000,"key":"b","count":1,"sum":0.75,"max":0.75}`,
				`{"start":20000,"end":30000,"key":"a","count":1,"sum":4.00,"max":4.00}`,
			}},
		{"a record at the bound still finds its window",
			[]string{"24999 a 1", "19999 a 2", "25000 a 4"},
			[]string{
				`{"start":10000,"end":20000,"key":"a","count":1,"sum":2.00,"max":2.00}`,
				`{"start":20000,"end":30000,"key":"a","count":2,"sum":5.00,"max":4.00}`,
			}},
	}.run(t, tumbling(10_000, writeKeys))
}
