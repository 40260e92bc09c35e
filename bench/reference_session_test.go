package main

import "testing"

func TestSessions(t *testing.T) {
	references{
		{"records nearer than the gap are one session",
			[]string{"100000 a 1", "129999 a 2", "100000 b 4"},
			[]string{
				`{"start":100000,"end":159999,"key":"a","count":2,"sum":3.00,"max":2.00}`,
				`{"start":100000,"end":130000,"key":"b","count":1,"sum":4.00,"max":4.00}`,
			}},
		{"a gap apart they touch, and are one",
			[]string{"100000 a 1", "130000 a 2"},
			[]string{`{"start":100000,"end":160000,"key":"a","count":2,"sum":3.00,"max":2.00}`}},
		{"a millisecond further they are two",
			[]string{"100000 a 1", "130001 a 2"},
			[]string{
				`{"start":100000,"end":130000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":130001,"end":160001,"key":"a","count":1,"sum":2.00,"max":2.00}`,
			}},
		{"one in the middle makes one of two",
			[]string{"100000 a 1", "132000 a 2", "129000 a 4"},
			[]string{`{"start":100000,"end":162000,"key":"a","count":3,"sum":7.00,"max":4.00}`}},
		{"one before it makes a session longer",
			[]string{"103000 a 1", "100000 a 2"},
			[]string{`{"start":100000,"end":133000,"key":"a","count":2,"sum":3.00,"max":2.00}`}},
		{"the watermark is a millisecond short of the end: the session takes the record",
			[]string{"100000 a 1", "134999 b 1", "130000 a 2"},
			[]string{
				`{"start":100000,"end":160000,"key":"a","count":2,"sum":3.00,"max":2.00}`,
				`{"start":134999,"end":164999,"key":"b","count":1,"sum":1.00,"max":1.00}`,
			}},
		{"the watermark has reached the end: the record is a session of its own",
			[]string{"100000 a 1", "135000 b 1", "130000 a 2"},
			[]string{
				`{"start":100000,"end":130000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":130000,"end":160000,"key":"a","count":1,"sum":2.00,"max":2.00}`,
				`{"start":135000,"end":165000,"key":"b","count":1,"sum":1.00,"max":1.00}`,
			}},
		{"a session that has grown is looked at again",
			[]string{"100000 a 1", "120000 a 2", "140000 b 1", "160000 b 1", "190000 a 4", "230000 b 1"},
			[]string{
				`{"start":100000,"end":150000,"key":"a","count":2,"sum":3.00,"max":2.00}`,
				`{"start":140000,"end":190000,"key":"b","count":2,"sum":2.00,"max":1.00}`,
				`{"start":190000,"end":220000,"key":"a","count":1,"sum":4.00,"max":4.00}`,
				`{"start":230000,"end":260000,"key":"b","count":1,"sum":1.00,"max":1.00}`,
			}},
	}.run(t, sessions(30_000))
}
