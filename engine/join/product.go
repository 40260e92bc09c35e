package join

import (
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Product is the function of a window join: what a pair function gives for every pair of
// a firing, left record by left record (S117). It keeps no more than one call carries:
// where rows cannot be counted from the pairs, the function is called once to count them
// and once more to give them.
type Product struct {
	fn     udf.Pair
	caller Caller

	sides [2]tagged
	pairs udf.Pairs   // of the call in work
	next  [2]int      // the next pair, as places in the lists of the sides
	time  stream.Time // of all rows of the firing
	of    []uint32    // scratch
}

// tagged is the records of one side at a firing.
type tagged struct {
	cols    []int // of the records, one for each input of the pair function
	notNull []int // columns of view in which a null excludes from pairs
	view    stream.Columns
	times   []stream.Time // by row of view
	rows    []uint32      // in order of arrival
	text    []int         // bytes of text in each of them
}

// NewProduct makes the function. leftCols and rightCols are the columns of either side's
// records that are the inputs of fn, which it closes.
func NewProduct(fn udf.Pair, leftCols, rightCols []int) *Product {
	p := &Product{fn: fn, caller: NewCaller(fn)}
	p.sides[0].cols, p.sides[1].cols = leftCols, rightCols
	for s, inputs := range [2][]udf.Input{p.caller.info.Left, p.caller.info.Right} {
		for n, in := range inputs {
			if !in.Nullable {
				p.sides[s].notNull = append(p.sides[s].notNull, n)
			}
		}
	}
	return p
}

// Outputs are those of the pair function.
func (p *Product) Outputs() []stream.Field { return p.caller.info.Outputs }

// Close closes the pair function.
func (p *Product) Close() error { return p.fn.Close() }

// Fire begins with a firing. A pair that the function refuses condemns all of them.
func (p *Product) Fire(r udf.Records) (uint64, error) {
	for s := range p.sides {
		p.sides[s].reset()
	}
	for i := range r.Len() {
		side, cols, row := r.At(i)
		p.sides[side].add(cols, row, r.Time(i))
	}
	p.next, p.time = [2]int{}, r.Window.MaxTimestamp()
	left, right := len(p.sides[0].rows), len(p.sides[1].rows)
	if left == 0 || right == 0 || p.caller.info.OneEach {
		return uint64(left) * uint64(right), nil
	}
	n := uint64(0)
	for p.next[0] < left {
		var out udf.Emitted
		out.Reset(p.caller.info.Outputs)
		if err := p.call(&out); err != nil {
			return 0, err
		}
		n += uint64(out.N)
	}
	p.next = [2]int{}
	return n, nil
}

// Next gives the rows of the next pairs.
func (p *Product) Next(out *stream.Columns) error {
	rows := udf.Emitted{Columns: *out, Of: p.of[:0]}
	for rows.N == 0 {
		if err := p.call(&rows); err != nil {
			return err
		}
	}
	*out, p.of = rows.Columns, rows.Of
	return nil
}

// call makes one call for as many of the next pairs as it may carry.
func (p *Product) call(out *udf.Emitted) error {
	in, left, right := &p.pairs, &p.sides[0], &p.sides[1]
	in.L, in.R, in.Time = in.L[:0], in.R[:0], in.Time[:0]
	in.Left, in.Right = left.pairSide(), right.pairSide()
	for text := 0; p.next[0] < len(left.rows) && in.N() < callPairs && text < callText; {
		l, r := p.next[0], p.next[1]
		in.L, in.R, in.Time = append(in.L, left.rows[l]), append(in.R, right.rows[r]), append(in.Time, p.time)
		text += left.text[l] + right.text[r]
		if p.next[1]++; p.next[1] == len(right.rows) {
			p.next = [2]int{l + 1, 0}
		}
	}
	return p.caller.Call(in, out, func(_ int, f *udf.Failure) error { return f })
}

func (t *tagged) reset() {
	t.view = stream.Columns{Cols: t.view.Cols[:0]}
	t.times, t.rows, t.text = t.times[:0], t.rows[:0], t.text[:0]
}

// add notes a record, all of which lie in one table.
func (t *tagged) add(cols *stream.Columns, row int, at stream.Time) {
	if t.view.N == 0 {
		t.view.N, t.view.Blob = cols.N, cols.Blob
		for _, c := range t.cols {
			t.view.Cols = append(t.view.Cols, cols.Cols[c])
		}
		t.times = append(t.times, make([]stream.Time, cols.N)...)
	}
	t.times[row] = at
	for _, c := range t.notNull {
		if t.view.Cols[c].Null(row) {
			return
		}
	}
	n := 0
	for i := range t.view.Cols {
		if strs := t.view.Cols[i].Strs; len(strs) > 0 {
			n += int(strs[row].Len)
		}
	}
	t.rows, t.text = append(t.rows, uint32(row)), append(t.text, n)
}

func (t *tagged) pairSide() udf.PairSide { return udf.PairSide{Columns: &t.view, Time: t.times} }

var _ udf.Table = (*Product)(nil)
