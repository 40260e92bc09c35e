package laws

import (
	"math"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// maxShrink bounds the tries to make an input smaller.
const maxShrink = 1_000

// shrink returns the smallest records that it finds for which broken still says yes: first
// fewer of them, then fewer in their lists, which have least at least, then plainer values.
func shrink(records []Record, inputs []udf.Input, least int, broken func([]Record) (bool, error)) ([]Record, error) {
	tries := 0
	try := func(r []Record) (bool, error) {
		if tries++; tries > maxShrink {
			return false, nil
		}
		return broken(r)
	}
	for size := max(1, len(records)/2); size > 0; {
		smaller := false
		for from := 0; from < len(records); {
			less := slices.Concat(records[:from], records[min(from+size, len(records)):])
			yes, err := try(less)
			if err != nil {
				return nil, err
			}
			if yes {
				records, smaller = less, true
			} else {
				from += size
			}
		}
		if !smaller || size > len(records) {
			size /= 2
		}
	}
	for i := range records {
		for l := range records[i].Lists {
			for k := len(records[i].Lists[l]) - 1; k >= 0 && len(records[i].Lists[l]) > least; k-- {
				less := slices.Clone(records)
				less[i].Lists = slices.Clone(less[i].Lists)
				less[i].Lists[l] = slices.Delete(slices.Clone(less[i].Lists[l]), k, k+1)
				yes, err := try(less)
				if err != nil {
					return nil, err
				}
				if yes {
					records = less
				}
			}
		}
		for c, in := range inputs {
			for _, v := range plainer(in.Kind, records[i].Values[c]) {
				less := slices.Clone(records)
				less[i].Values = slices.Clone(less[i].Values)
				less[i].Values[c] = v
				yes, err := try(less)
				if err != nil {
					return nil, err
				}
				if yes {
					records = less
					break
				}
			}
		}
	}
	return records, nil
}

// plainer are values to put in place of another one, the plainest first.
func plainer(k stream.Kind, v Value) (out []Value) {
	for _, p := range []Value{{}, {Int: 1, Float: 1, Text: "a", Bool: true}, {Int: 2, Float: 2, Text: "b"}, {Int: -1, Float: -1}, {Int: v.Int / 2, Float: math.Trunc(v.Float), Text: v.Text}} {
		if p.Show(k) == v.Show(k) {
			break
		}
		out = append(out, p)
	}
	return out
}
