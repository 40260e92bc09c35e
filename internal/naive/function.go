package naive

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"tidemark/spec"
)

// number returns a value as an exact number.
func number(v spec.Value) *big.Rat {
	n, ok := new(big.Rat).SetString(string(v))
	if !ok {
		panic(fmt.Sprintf("BUG: the scenario computes with %s", v))
	}
	return n
}

// numeral is the value of an exact number.
func numeral(n *big.Rat) spec.Value {
	if n.IsInt() {
		return spec.Value(n.Num().String())
	}
	f, _ := n.Float64()
	return spec.Value(strconv.FormatFloat(f, 'g', -1, 64))
}

// values are those of the records of one input, or of all for input -1.
func values(es []element, input int) []spec.Value {
	var vs []spec.Value
	for _, e := range es {
		if input < 0 || e.input == input {
			vs = append(vs, e.record.Value)
		}
	}
	return vs
}

func sum(vs []spec.Value) spec.Value {
	total := new(big.Rat)
	for _, v := range vs {
		total.Add(total, number(v))
	}
	return numeral(total)
}

func byNumber(a, b spec.Value) int { return number(a).Cmp(number(b)) }

// results runs the function of the job over the contents of a window (S90) and
// returns the values of its rows.
func (op *operator) results(p *pane, contents []element) []spec.Value {
	vs := values(contents, -1)
	switch op.job.Kind {
	case spec.KindCoGroup: // S116
		if len(contents) == 0 {
			op.out.doubt("S88, S116: a co-group of nothing")
		}
		return []spec.Value{spec.List(spec.List(values(contents, 0)...), spec.List(values(contents, 1)...))}
	case spec.KindWindowJoin: // S117
		var pairs []spec.Value
		for _, l := range values(contents, 0) {
			for _, r := range values(contents, 1) {
				pairs = append(pairs, spec.List(l, r))
			}
		}
		return pairs
	}
	switch op.job.Function {
	case "count":
		return []spec.Value{spec.Int(int64(len(vs)))}
	case "list":
		return []spec.Value{spec.List(vs...)}
	case "sorted_list":
		slices.SortFunc(vs, byNumber)
		return []spec.Value{spec.List(vs...)}
	}
	if len(vs) == 0 {
		op.out.doubt("S88: " + op.job.Function + " of nothing")
		return nil
	}
	switch op.job.Function {
	case "sum":
		return []spec.Value{sum(vs)}
	case "min":
		return []spec.Value{slices.MinFunc(vs, byNumber)}
	case "max":
		return []spec.Value{slices.MaxFunc(vs, byNumber)}
	case "avg":
		return []spec.Value{spec.List(sum(vs), spec.Int(int64(len(vs))))}
	case "context": // S91, S92
		p.fires++
		op.keyFires[p.key]++
		op.oneFiring(p)
		return []spec.Value{spec.Value(fmt.Sprintf(`{"key_fires":%d,"sum":%s,"watermark":%d,"window_fires":%d}`,
			op.keyFires[p.key], sum(vs), op.wm, p.fires))}
	}
	panic("BUG: function " + op.job.Function)
}

// oneFiring doubts firings of two windows of a key at one moment: their order is open
// (S68), and the counter of the key shows it.
func (op *operator) oneFiring(p *pane) {
	if last, seen := op.lastFiring[p.key]; seen && last.moment == op.moment && last.span != p.span {
		op.out.doubt("S68: the order of two windows shows")
	}
	op.lastFiring[p.key] = firing{moment: op.moment, span: p.span}
}

// evict drops records of a window (S85 to S87).
func (op *operator) evict(contents []element) []element {
	e := op.evictor
	switch e.Type {
	case "count": // S85
		return contents[max(0, int64(len(contents))-e.N):]
	case "time": // S86
		return op.evictOld(contents, e.KeepMS)
	case "delta": // S87
		if len(contents) == 0 {
			return contents
		}
		last := contents[len(contents)-1].record.Value
		threshold := big.NewRat(e.Threshold, 1)
		return slices.DeleteFunc(slices.Clone(contents), func(x element) bool {
			return delta(x.record.Value, last, e.Abs).Cmp(threshold) >= 0
		})
	}
	panic("BUG: evictor type " + e.Type)
}

func (op *operator) evictOld(contents []element, keep int64) []element {
	if len(contents) == 0 || contents[0].record.TS == nil {
		return contents
	}
	newest := int64(minTime)
	for _, x := range contents {
		if x.record.TS == nil {
			op.out.doubt("S86: records with and without timestamps")
		}
		newest = max(newest, timestamp(x.record))
	}
	return slices.DeleteFunc(slices.Clone(contents), func(x element) bool {
		return timestamp(x.record) <= satAdd(newest, -keep)
	})
}
