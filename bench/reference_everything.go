package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// topKeys is how many of the most frequent keys are written.
const topKeys = 10

// writeEverything writes one row over all keys: how many records there are, how many different
// keys, exactly, and the most frequent ones, of equals the smaller key first:
//
//	{"start":1760000400000,"end":1760000401000,"count":9,"distinct":2,"top":[{"value":"k0000123","count":5},{"value":"k0000007","count":4}]}
func writeEverything(rows rowWriter, start, end int64, cells map[string]*cell) error {
	type entry struct {
		key string
		*cell
	}
	all := make([]entry, 0, len(cells))
	var total cell
	for key, c := range cells {
		all = append(all, entry{key, c})
		total.merge(c)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.key, b.key)) })
	b := fmt.Appendf(rows.out.AvailableBuffer(), `{"start":%d,"end":%d,"count":%d,"distinct":%d,"top":[`, start, end, total.count, len(all))
	for i, e := range all[:min(topKeys, len(all))] {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"value":"`...), e.key...)
		b = append(strconv.AppendInt(append(b, `","count":`...), e.count, 10), '}')
	}
	return rows.finish(append(b, ']'))
}
