package main

import "testing"

func TestSliding(t *testing.T) {
	references{
		{name: "nothing gives nothing"},
		{"a record lies in as many windows as slides make a size",
			[]string{"10000 a 1.25"},
			[]string{
				`{"start":8000,"end":11000,"key":"a","count":1,"sum":1.25,"max":1.25}`,
				`{"start":9000,"end":12000,"key":"a","count":1,"sum":1.25,"max":1.25}`,
				`{"start":10000,"end":13000,"key":"a","count":1,"sum":1.25,"max":1.25}`,
			}},
		{"over the end of a block, two keys, and a largest value that leaves",
			[]string{"10000 a 8", "11000 a 1", "12000 a 2", "12500 b 4", "13000 a 1"},
			[]string{
				`{"start":8000,"end":11000,"key":"a","count":1,"sum":8.00,"max":8.00}`,
				`{"start":9000,"end":12000,"key":"a","count":2,"sum":9.00,"max":8.00}`,
				`{"start":10000,"end":13000,"key":"a","count":3,"sum":11.00,"max":8.00}`,
				`{"start":11000,"end":14000,"key":"a","count":3,"sum":4.00,"max":2.00}`,
				`{"start":12000,"end":15000,"key":"a","count":2,"sum":3.00,"max":2.00}`,
				`{"start":13000,"end":16000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":10000,"end":13000,"key":"b","count":1,"sum":4.00,"max":4.00}`,
				`{"start":11000,"end":14000,"key":"b","count":1,"sum":4.00,"max":4.00}`,
				`{"start":12000,"end":15000,"key":"b","count":1,"sum":4.00,"max":4.00}`,
			}},
		{"silence, in which a key is forgotten and comes back",
			[]string{"10000 a 1", "20000 b 2", "21000 a 4", "30000 b 2"},
			[]string{
				`{"start":8000,"end":11000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":9000,"end":12000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":10000,"end":13000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":18000,"end":21000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
				`{"start":19000,"end":22000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
				`{"start":20000,"end":23000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
				`{"start":19000,"end":22000,"key":"a","count":1,"sum":4.00,"max":4.00}`,
				`{"start":20000,"end":23000,"key":"a","count":1,"sum":4.00,"max":4.00}`,
				`{"start":21000,"end":24000,"key":"a","count":1,"sum":4.00,"max":4.00}`,
				`{"start":28000,"end":31000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
				`{"start":29000,"end":32000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
				`{"start":30000,"end":33000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
			}},
		{"behind the watermark, only windows that have not fired take it",
			[]string{"10000 a 1", "16999 a 2", "10500 a 4"}, // the watermark is 11,999: of the windows to 11, 12, 13 s the first has fired
			[]string{
				`{"start":8000,"end":11000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":9000,"end":12000,"key":"a","count":2,"sum":5.00,"max":4.00}`,
				`{"start":10000,"end":13000,"key":"a","count":2,"sum":5.00,"max":4.00}`,
				`{"start":14000,"end":17000,"key":"a","count":1,"sum":2.00,"max":2.00}`,
				`{"start":15000,"end":18000,"key":"a","count":1,"sum":2.00,"max":2.00}`,
				`{"start":16000,"end":19000,"key":"a","count":1,"sum":2.00,"max":2.00}`,
			}},
	}.run(t, sliding{size: 3000, slide: 1000}.loop)
}

func TestSlidingBySomethingThatDividesNotTheSize(t *testing.T) {
	references{
		{"windows begin at multiples of the slide",
			[]string{"12000 a 1", "14000 a 2"}, // 9 to 14, 12 to 17; 12 to 17, and none from 15 on
			[]string{
				`{"start":9000,"end":14000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":12000,"end":17000,"key":"a","count":2,"sum":3.00,"max":2.00}`,
			}},
	}.run(t, sliding{size: 5000, slide: 3000}.loop)
}

func TestSlidingWithLateness(t *testing.T) {
	references{
		{"a late record gives each window that has fired another row, until lateness has passed",
			// At a highest time of 18 s, the watermark is just below 13 s, which windows that end by
			// then have fired at, and those that end by 10 s are no more.
			[]string{"9000 a 1", "18000 a 2", "9500 a 4", "9999 a 8"},
			[]string{
				`{"start":7000,"end":10000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":8000,"end":11000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":8000,"end":11000,"key":"a","count":2,"sum":5.00,"max":4.00,"revision":1}`,
				`{"start":8000,"end":11000,"key":"a","count":3,"sum":13.00,"max":8.00,"revision":2}`,
				`{"start":9000,"end":12000,"key":"a","count":1,"sum":1.00,"max":1.00}`,
				`{"start":9000,"end":12000,"key":"a","count":2,"sum":5.00,"max":4.00,"revision":1}`,
				`{"start":9000,"end":12000,"key":"a","count":3,"sum":13.00,"max":8.00,"revision":2}`,
				`{"start":16000,"end":19000,"key":"a","count":1,"sum":2.00,"max":2.00}`,
				`{"start":17000,"end":20000,"key":"a","count":1,"sum":2.00,"max":2.00}`,
				`{"start":18000,"end":21000,"key":"a","count":1,"sum":2.00,"max":2.00}`,
			}},
		{"a window that had nothing fires at its first late record; open ones take it, too",
			[]string{"18000 b 2", "12500 a 4"}, // windows to 13 s, fired; to 14 and 15 s, open
			[]string{
				`{"start":10000,"end":13000,"key":"a","count":1,"sum":4.00,"max":4.00}`,
				`{"start":11000,"end":14000,"key":"a","count":1,"sum":4.00,"max":4.00}`,
				`{"start":12000,"end":15000,"key":"a","count":1,"sum":4.00,"max":4.00}`,
				`{"start":16000,"end":19000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
				`{"start":17000,"end":20000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
				`{"start":18000,"end":21000,"key":"b","count":1,"sum":2.00,"max":2.00}`,
			}},
	}.run(t, sliding{size: 3000, slide: 1000, lateness: 3000}.loop)
}

func TestSlidingWithDistinctUsers(t *testing.T) {
	references{
		{"a user counts once, and no more when the last pane with him has left",
			[]string{"10000 a 1 x", "11000 a 1 y", "11500 a 1 x"},
			[]string{
				`{"start":8000,"end":11000,"key":"a","count":1,"sum":1.00,"max":1.00,"users":1}`,
				`{"start":9000,"end":12000,"key":"a","count":3,"sum":3.00,"max":1.00,"users":2}`,
				`{"start":10000,"end":13000,"key":"a","count":3,"sum":3.00,"max":1.00,"users":2}`,
				`{"start":11000,"end":14000,"key":"a","count":2,"sum":2.00,"max":1.00,"users":2}`,
			}},
		{"users of one key are not those of another",
			[]string{"10000 a 1 x", "10000 b 1 x", "12000 a 1 y"},
			[]string{
				`{"start":8000,"end":11000,"key":"a","count":1,"sum":1.00,"max":1.00,"users":1}`,
				`{"start":8000,"end":11000,"key":"b","count":1,"sum":1.00,"max":1.00,"users":1}`,
				`{"start":9000,"end":12000,"key":"a","count":1,"sum":1.00,"max":1.00,"users":1}`,
				`{"start":9000,"end":12000,"key":"b","count":1,"sum":1.00,"max":1.00,"users":1}`,
				`{"start":10000,"end":13000,"key":"a","count":2,"sum":2.00,"max":1.00,"users":2}`,
				`{"start":10000,"end":13000,"key":"b","count":1,"sum":1.00,"max":1.00,"users":1}`,
				`{"start":11000,"end":14000,"key":"a","count":1,"sum":1.00,"max":1.00,"users":1}`,
				`{"start":12000,"end":15000,"key":"a","count":1,"sum":1.00,"max":1.00,"users":1}`,
			}},
	}.run(t, sliding{size: 3000, slide: 1000, users: true}.loop)
}
