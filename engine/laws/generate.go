package laws

import (
	"math"
	"strings"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// dice is splitmix64: a seed gives the same numbers everywhere and for ever.
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9E3779B97F4A7C15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// below returns a number from 0 to n-1.
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// perm returns the numbers below n in some order.
func (d *dice) perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		j := d.below(i + 1)
		p[i], p[j] = p[j], i
	}
	return p
}

// flavour is what generated values are like. Sums of small ones stay small, so that a
// function that refuses an overflow has something to answer.
type flavour int

const (
	small flavour = iota // few different values, with quarters, whose sums are exact
	wide                 // up to millions, with many digits
	edges                // the ends of the types among small ones
	numFlavours
)

var (
	edgeInts   = []int64{0, -1, 1, math.MinInt64, math.MaxInt64, math.MinInt64 + 1, 1 << 53, 1<<53 + 1, math.MaxInt32, math.MinInt32}
	edgeFloats = []float64{0, math.Copysign(0, -1), 1, -1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, 1e300, 1e-300, 0.1}
	edgeTexts  = []string{"", " ", "a", "A", "aa", "\x00", "é", "日本語", "\U0001F30A", `"quoted", \ and, commas`, "line\nbreak", "null"}
)

// longText is the most text that a generated cell has.
const longText = 3_000

// value makes one value.
func (d *dice) value(in udf.Input, f flavour) Value {
	if in.Nullable && d.below(5) == 0 {
		return Value{Null: true}
	}
	edge := f == edges && d.below(2) == 0
	switch in.Kind {
	case stream.Float64:
		switch {
		case edge:
			return Value{Float: edgeFloats[d.below(len(edgeFloats))]}
		case f == wide:
			return Value{Float: (float64(d.next()>>11)/(1<<53)*2 - 1) * math.Exp2(float64(d.below(21)))}
		}
		return Value{Float: float64(d.below(33)-16) / 4}
	case stream.Bool:
		return Value{Bool: d.below(2) == 1}
	case stream.String:
		switch {
		case edge && d.below(8) == 0:
			return Value{Text: strings.Repeat("long ", 1+d.below(longText/5))}
		case edge:
			return Value{Text: edgeTexts[d.below(len(edgeTexts))]}
		case f == wide:
			b := make([]byte, d.below(20))
			for i := range b {
				b[i] = byte('a' + d.below(26))
			}
			return Value{Text: string(b)}
		}
		return Value{Text: string(rune('a' + d.below(6)))}
	case stream.Timestamp:
		if f == wide {
			return Value{Int: 1_700_000_000_000 + int64(d.below(1<<30))}
		}
	}
	switch {
	case edge:
		return Value{Int: edgeInts[d.below(len(edgeInts))]}
	case f == wide:
		return Value{Int: int64(d.below(1<<31)) - 1<<30}
	}
	return Value{Int: int64(d.below(17) - 8)}
}

func (d *dice) values(inputs []udf.Input, f flavour) []Value {
	v := make([]Value, len(inputs))
	for i, in := range inputs {
		v[i] = d.value(in, f)
	}
	return v
}

// maxCase is how many records a generated case has at most: small ones find more, and are
// shrunk sooner.
const maxCase = 48

// generate makes records for one case after the other until there are n. Times go on and
// back a little. lists are the inputs of the lists of a firing or pair, each of which gets
// from least up to most records.
func (d *dice) generate(inputs []udf.Input, lists [][]udf.Input, least, most, n int) []sample {
	var out []sample
	at := stream.Time(1_700_000_000_000)
	for i := 0; n > 0; i++ {
		f := flavour(i % int(numFlavours))
		c := sample{flavour: f, records: []Record{}}
		for range min(n, 1+d.below(maxCase)) {
			at += stream.Time(100 * (d.below(6) - 1)) // often the same
			r := Record{Time: at, Values: d.values(inputs, f), Key: d.below(3)}
			for _, l := range lists {
				list := []Record{}
				for range least + d.below(most-least+1) {
					list = append(list, Record{Time: at - stream.Time(d.below(1000)), Values: d.values(l, f)})
				}
				r.Lists = append(r.Lists, list)
			}
			c.records = append(c.records, r)
		}
		n -= len(c.records)
		out = append(out, c)
	}
	return out
}

// sample is the records of one case.
type sample struct {
	flavour flavour
	records []Record
	own     bool // of the author, or none: always used
}

// Rows makes n records for measuring, with many different values and no nulls, and deals
// them out to groups at random.
func Rows(inputs []udf.Input, seed uint64, n, groups int) *udf.Rows {
	d := dice(seed)
	inputs = filled(inputs)
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{Time: stream.Time(1_700_000_000_000 + 10*i), Values: d.values(inputs, wide)}
	}
	rows := rowsOf(inputs, records, groups)
	for i := range rows.Group {
		rows.Group[i] = uint32(d.below(groups))
	}
	return rows
}
