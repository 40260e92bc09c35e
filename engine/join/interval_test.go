package join_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/engine/join"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// pairFunc is a pair function of one string column of either side, as text.
type pairFunc struct {
	info   udf.PairInfo
	call   func(l, r string) ([]string, *udf.Failure) // Op is set by Call
	calls  int
	atOnce int // the most pairs of one call
	closed bool
}

func newPairFunc(call func(l, r string) ([]string, *udf.Failure)) *pairFunc {
	in := []udf.Input{{Name: "value", Kind: stream.String}}
	return &pairFunc{info: udf.PairInfo{Left: in, Right: in, Outputs: []stream.Field{{Name: "text", Kind: stream.String}}}, call: call}
}

func (f *pairFunc) Info() udf.PairInfo { return f.info }
func (f *pairFunc) Close() error       { f.closed = true; return nil }

func (f *pairFunc) Call(in *udf.Pairs, out *udf.Emitted) error {
	f.calls++
	f.atOnce = max(f.atOnce, in.N())
	text := func(s udf.PairSide, row uint32) string { return string(s.Cols[0].Strs[row].Bytes(s.Blob)) }
	for i := range in.N() {
		rows, failed := f.call(text(in.Left, in.L[i]), text(in.Right, in.R[i]))
		for _, r := range rows {
			out.Cols[0].AppendStr(stream.Str{Off: uint32(len(out.Blob)), Len: uint32(len(r))})
			out.Blob = append(out.Blob, r...)
			out.Of = append(out.Of, uint32(i))
		}
		if failed != nil {
			if failed.Op == 0 {
				failed.Op = i
			}
			return failed
		}
	}
	return nil
}

// recorder writes down what a join says.
type recorder struct {
	lines []string
	err   error // answer to refusals
}

func (r *recorder) Pairs(rows *join.Rows) error {
	for i := range rows.N {
		line := fmt.Sprintf("%d@%d %d+%d %d/%d", rows.Time[i], rows.WM[i], rows.Left[i].Pos, rows.Right[i].Pos, rows.Ordinal[i], rows.Of[i])
		for _, c := range rows.Key.Cols {
			line += " " + cell(&c, i, rows.Key.Blob)
		}
		for c := range rows.Values.Cols {
			line += " " + cell(&rows.Values.Cols[c], i, rows.Values.Blob)
		}
		r.lines = append(r.lines, line)
	}
	return nil
}

func cell(c *stream.Column, i int, blob []byte) string {
	if c.Null(i) {
		return "null"
	}
	return string(c.Strs[i].Bytes(blob))
}

func (r *recorder) Late(b *stream.Batch, i int, side uint8, wm stream.Time) error {
	r.lines = append(r.lines, fmt.Sprintf("late %d side %d at %d", b.Pos[i], side, wm))
	return nil
}

func (r *recorder) Refused(b *stream.Batch, i int, in *udf.Pairs, pair int, f *udf.Failure) error {
	r.lines = append(r.lines, fmt.Sprintf("refused record %d with times %d and %d: %s", b.Pos[i], in.Left.Time[in.L[pair]], in.Right.Time[in.R[pair]], f.Message))
	return r.err
}

// symmetric is a join of records at most 10 ms apart.
func symmetric(t *testing.T, fn udf.Pair, out join.Output) *join.Interval {
	t.Helper()
	op, err := join.NewInterval(join.IntervalConfig{Lower: -10, Upper: 10, LowerInclusive: true, UpperInclusive: true, Key: fields[:1],
		Pair: fn, LeftCols: []int{1}, RightCols: []int{1}}, out)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// batch makes a batch of one side from words "key value time"; the value null is null.
func batch(side int, wm stream.Time, pos int64, records ...string) *stream.Batch {
	b := newBatch(side)
	for i, r := range records {
		words := strings.Fields(r)
		ts, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			panic(err)
		}
		appendRecord(b, stream.Time(ts), wm, pos+int64(i), words[:2]...)
		for c, text := range words[:2] {
			if text == "null" {
				b.Cols[c].Truncate(i)
				b.Cols[c].AppendNull()
			}
		}
	}
	b.Trailing = wm
	b.SetKeys([]int{0})
	return b
}

func process(t *testing.T, op *join.Interval, batches ...*stream.Batch) {
	t.Helper()
	for _, b := range batches {
		if err := op.Process(b); err != nil {
			t.Fatal(err)
		}
	}
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestARowNamesBothRecords(t *testing.T) {
	var out recorder
	op := symmetric(t, join.NewIdentity(fields[1:], fields[1:]), &out)
	process(t, op,
		batch(0, 90, 1, "a x 100", "a null 103", "b y 100"),
		batch(1, 95, 11, "a p 99", "a q 112", "b r 111"))
	same(t, out.lines,
		"100@95 1+11 0/1 a x p", "103@95 2+11 0/1 a null p",
		"112@95 2+12 0/1 a null q") // x and q are 12 apart, y and r 11
}

func TestNamesOfTheBuiltInFunction(t *testing.T) {
	fn := join.NewIdentity([]stream.Field{{Name: "id", Kind: stream.Int64}}, []stream.Field{{Name: "id", Kind: stream.Int64}, {Name: "user.name", Kind: stream.String}})
	want := []stream.Field{{Name: "left.id", Kind: stream.Int64}, {Name: "right.id", Kind: stream.Int64}, {Name: "right.user.name", Kind: stream.String}}
	if got := fn.Info().Outputs; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAPairGivesAnyNumberOfRows(t *testing.T) {
	var out recorder
	fn := newPairFunc(func(l, r string) ([]string, *udf.Failure) {
		return slices.Repeat([]string{l + r}, len(l)), nil
	})
	op := symmetric(t, fn, &out)
	process(t, op, batch(0, 0, 1, "a xx 5", "a - 6", "a yyy 7"), batch(1, 0, 9, "a p 5"))
	same(t, out.lines, "5@0 1+9 0/2 a xxp", "5@0 1+9 1/2 a xxp", "6@0 2+9 0/1 a -p", "7@0 3+9 0/3 a yyyp", "7@0 3+9 1/3 a yyyp", "7@0 3+9 2/3 a yyyp")
	if fn.calls != 1 {
		t.Errorf("%d calls for one batch, want 1", fn.calls)
	}
	if err := op.Close(); err != nil || !fn.closed {
		t.Errorf("the function was not closed: %v", err)
	}
}

func TestAPairThatIsRefusedIsLeftOut(t *testing.T) {
	for _, row := range []struct {
		name string
		op   int  // of the failure; 0: the right one
		trap bool // and the instance is gone
	}{{"which one is known", 0, false}, {"it is not known", -1, false}, {"it breaks the instance", 0, true}, {"it breaks the instance, and it is not known", -1, true}} {
		t.Run(row.name, func(t *testing.T) {
			var out recorder
			fn := newPairFunc(func(l, r string) ([]string, *udf.Failure) {
				if l == "bad" {
					return []string{"half"}, &udf.Failure{Op: row.op, Trap: row.trap, Message: "no"}
				}
				return []string{l + r}, nil
			})
			op := symmetric(t, fn, &out)
			process(t, op, batch(0, 0, 1, "a x 5", "a bad 6", "a y 7"), batch(1, 0, 9, "a p 5", "b p 5"), batch(0, 0, 21, "b z 6"))
			same(t, out.lines, "refused record 9 with times 6 and 5: no", "5@0 1+9 0/1 a xp", "7@0 3+9 0/1 a yp", "6@0 21+10 0/1 b zp")
			if made, refused := op.Paired(); made != 4 || refused != 1 {
				t.Errorf("%d pairs made and %d refused, want 4 and 1", made, refused)
			}
		})
	}
}

func TestARecordIsTriedAgainOnAFreshInstance(t *testing.T) {
	var out recorder
	traps := 0
	fn := newPairFunc(func(l, r string) ([]string, *udf.Failure) {
		if traps++; traps == 1 {
			return nil, &udf.Failure{Trap: true, Message: "worn out"}
		}
		return []string{l + r}, nil
	})
	op := symmetric(t, fn, &out)
	process(t, op, batch(0, 0, 1, "a x 5"), batch(1, 0, 9, "a p 5"))
	same(t, out.lines, "5@0 1+9 0/1 a xp")
}

func TestWhatCameBeforeARefusalThatEndsTheJobIsOutput(t *testing.T) {
	out := recorder{err: errors.New("the policy is to fail")}
	fn := newPairFunc(func(l, r string) ([]string, *udf.Failure) {
		if l == "bad" {
			return nil, &udf.Failure{Message: "no"}
		}
		return []string{l + r}, nil
	})
	op := symmetric(t, fn, &out)
	process(t, op, batch(0, 0, 1, "a x 5", "a bad 6"))
	if err := op.Process(batch(1, 0, 9, "a p 5")); !errors.Is(err, out.err) {
		t.Errorf("got %v", err)
	}
	same(t, out.lines, "refused record 9 with times 6 and 5: no", "5@0 1+9 0/1 a xp")
}

func TestAPairWithANullThatTheFunctionDoesNotTakeIsNone(t *testing.T) {
	var out recorder
	fn := newPairFunc(func(l, r string) ([]string, *udf.Failure) { return []string{l + r}, nil })
	op := symmetric(t, fn, &out)
	process(t, op, batch(0, 0, 1, "a null 5", "a x 5"))
	op = restored(t, op, fn, &out)
	process(t, op, batch(1, 0, 9, "a null 5", "a p 5"), batch(1, 100, 20))
	same(t, out.lines, "5@0 2+10 0/1 a xp")
	if l := op.Ledger(0); l.Counted != 2 || l.Fired != 1 || l.Unfired != 1 {
		t.Errorf("a record that met no partner is not counted as such: %+v", l)
	}
}

// cutOf is a cut of an operator, read: none of these is on a disk that fails.
func cutOf(op interface{ Freeze() state.Cut }) state.Pieces {
	p, err := op.Freeze().Read()
	if err != nil {
		panic(err)
	}
	return p
}

func restored(t *testing.T, op *join.Interval, fn udf.Pair, out join.Output) *join.Interval {
	t.Helper()
	fresh := symmetric(t, fn, out)
	if err := fresh.Restore(cutOf(op).AsItWas()); err != nil {
		t.Fatal(err)
	}
	return fresh
}

func TestManyPartners(t *testing.T) {
	const partners = 5000
	var out recorder
	fn := newPairFunc(func(l, r string) ([]string, *udf.Failure) { return []string{l}, nil })
	op := symmetric(t, fn, &out)
	for i := range partners {
		process(t, op, batch(0, 0, int64(i), fmt.Sprintf("a %d 5", i)))
	}
	process(t, op, batch(1, 0, 9, "a p 5"))
	if len(out.lines) != partners {
		t.Fatalf("%d rows, want %d", len(out.lines), partners)
	}
	for i, line := range out.lines { // partners of one time come in order of their arrival
		if want := fmt.Sprintf("5@0 %d+9 0/1 a %d", i, i); line != want {
			t.Fatalf("row %d is %s, want %s", i, line, want)
		}
	}
	if fn.atOnce > 1024 {
		t.Errorf("a call carried %d pairs", fn.atOnce)
	}
}

func TestLongTextsLeaveInSmallPieces(t *testing.T) {
	const long, partners = 4 << 20, 12
	fn := newPairFunc(func(string, string) ([]string, *udf.Failure) { return nil, nil })
	op := symmetric(t, fn, &recorder{})
	for i := range partners {
		process(t, op, batch(0, 0, int64(i), "a "+strings.Repeat("x", long)+" 5"))
	}
	process(t, op, batch(1, 0, 9, "a p 5"))
	if want := partners * long / (16 << 20); fn.calls != want {
		t.Errorf("%d calls for %d pairs of %d bytes, want %d", fn.calls, partners, long, want)
	}
}

func TestLedger(t *testing.T) {
	var out recorder
	op, err := join.NewInterval(join.IntervalConfig{Lower: 0, Upper: 10, LowerInclusive: true, UpperInclusive: true, Key: fields[:1], DropNullKey: true,
		Pair: join.NewIdentity(fields[1:], fields[1:]), LeftCols: []int{1}, RightCols: []int{1}}, &out)
	if err != nil {
		t.Fatal(err)
	}
	process(t, op,
		batch(0, 100, 1, "a early 99", "a edge 100", "a x 105", "null y 105"),
		batch(1, 100, 9, "b p 100", "a q 106"),
		batch(1, 115, 20)) // edge ends at 110, x at 115; on the right nothing is kept beyond its time
	same(t, out.lines, "late 1 side 0 at 100", "106@100 2+10 0/1 a edge q", "106@100 3+10 0/1 a x q")
	if got, want := op.Ledger(0), (join.Ledger{Filtered: 1, Late: 1, Counted: 2, Fired: 2, Behind: 2}); got != want {
		t.Errorf("left: got %+v, want %+v", got, want)
	}
	if got, want := op.Ledger(1), (join.Ledger{Counted: 2, Fired: 1, Unfired: 1, Behind: 1}); got != want {
		t.Errorf("right: got %+v, want %+v", got, want)
	}
	if op.Watermark() != 115 || op.Buffered() != 0 {
		t.Errorf("watermark %d, %d records kept", op.Watermark(), op.Buffered())
	}
}

func TestBoundsAtTheEndsOfTime(t *testing.T) {
	for _, row := range []struct {
		name         string
		lower, upper stream.Time
		pairs        int
	}{
		{"everything", stream.MinTime, stream.MaxTime, 1},
		{"all that is not later", stream.MinTime, 0, 1},
		{"all that is later", 1, stream.MaxTime, 0},
		{"far ahead", stream.MaxTime, stream.MaxTime, 0},
		{"far behind", stream.MinTime, stream.MinTime, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, leftFirst := range []bool{true, false} {
				var out recorder
				op, err := join.NewInterval(join.IntervalConfig{Lower: row.lower, Upper: row.upper, LowerInclusive: true, UpperInclusive: true, Key: fields[:1],
					Pair: join.NewIdentity(fields[1:], fields[1:]), LeftCols: []int{1}, RightCols: []int{1}}, &out)
				if err != nil {
					t.Fatal(err)
				}
				first, second := batch(0, 50, 1, "a x 100"), batch(1, 50, 9, "a p 100")
				if !leftFirst {
					first, second = second, first
				}
				process(t, op, first, second)
				if len(out.lines) != row.pairs {
					t.Errorf("left first %v: %d pairs, want %d", leftFirst, len(out.lines), row.pairs)
				}
			}
		})
	}
}

func TestJoinsThatAreRefused(t *testing.T) {
	fn := join.NewIdentity(fields[1:], fields[1:])
	if _, err := join.NewInterval(join.IntervalConfig{Lower: 1, Upper: 0, Pair: fn, LeftCols: []int{0}, RightCols: []int{0}}, nil); !errors.Is(err, fault.ErrUser) {
		t.Errorf("a lower bound above the upper one: %v", err)
	}
	if _, err := join.NewInterval(join.IntervalConfig{Pair: fn, LeftCols: []int{0}}, nil); err == nil {
		t.Error("a side without its column: no error")
	}
}

func TestADamagedSnapshotIsAnError(t *testing.T) {
	fn := join.NewIdentity(fields[1:], fields[1:])
	op := symmetric(t, fn, &recorder{})
	process(t, op, batch(0, 0, 1, "a x 5", "b null 6"), batch(1, 0, 9, "a p 5", "a qqq 6"))
	cut := cutOf(op)
	if len(cut.Groups) != 1 {
		t.Fatalf("%d key groups", len(cut.Groups))
	}
	for _, whole := range []*[]byte{&cut.Task, &cut.Groups[0].State} {
		good := *whole
		for n := range good {
			*whole = good[:n]
			if err := symmetric(t, fn, &recorder{}).Restore(cut.AsItWas()); !errors.Is(err, fault.ErrCorrupt) {
				t.Errorf("%d bytes of %d: %v", n, len(good), err)
			}
			*whole = slices.Clone(good)
			(*whole)[n] ^= 0xff
			if err := symmetric(t, fn, &recorder{}).Restore(cut.AsItWas()); err != nil && !errors.Is(err, fault.ErrCorrupt) && n > 1 { // the first two say who wrote them
				t.Errorf("byte %d flipped: %v", n, err)
			}
		}
		*whole = append(slices.Clone(good), 0)
		if err := symmetric(t, fn, &recorder{}).Restore(cut.AsItWas()); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("a byte too many: %v", err)
		}
		*whole = good
	}
}

func BenchmarkInterval(b *testing.B) {
	for _, keys := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("%d keys", keys), func(b *testing.B) {
			const rows = 1024
			out := counter{}
			op, err := join.NewInterval(join.IntervalConfig{Lower: -2 * stream.Time(keys), Upper: 2 * stream.Time(keys), LowerInclusive: true, UpperInclusive: true,
				Key: fields[:1], Pair: join.NewIdentity(fields[1:], fields[1:]), LeftCols: []int{1}, RightCols: []int{1}}, &out)
			if err != nil {
				b.Fatal(err)
			}
			names := make([]string, keys)
			for i := range names {
				names[i] = fmt.Sprintf("key-%d", i)
			}
			side, ts := 0, stream.Time(0)
			batches := make([]*stream.Batch, 2*keys/rows+2)
			for n := range batches {
				batches[n] = newBatch(side)
				for range rows {
					appendRecord(batches[n], ts, ts-100, int64(ts), names[int(uint64(ts)*2654435761%uint64(keys))], "a value of some length")
					ts++
				}
				batches[n].SetKeys([]int{0})
				side = 1 - side
			}
			span := ts
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				x := batches[n%len(batches)]
				x.Trailing = x.WM[rows-1]
				if err := op.Process(x); err != nil {
					b.Fatal(err)
				}
				for i := range rows { // this batch comes again, later
					x.Time[i] += span
					x.WM[i] += span
				}
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*rows), "ns/record")
			b.ReportMetric(float64(out.pairs)/float64(n*rows), "pairs/record")
		})
	}
}

type counter struct{ pairs int }

func (c *counter) Pairs(r *join.Rows) error                                        { c.pairs += r.N; return nil }
func (c *counter) Late(*stream.Batch, int, uint8, stream.Time) error               { return nil }
func (c *counter) Refused(*stream.Batch, int, *udf.Pairs, int, *udf.Failure) error { return nil }
