package join

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/state/disk"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// The join that has all in memory is what one with little of it is measured by: the same rows
// in the same order, the same late and refused records, the same ledger, the same records kept
// and the same cut, after each batch. Inputs are random; a failure prints the seed.

// diary writes down what a join says.
type diary struct{ lines []string }

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) take() string {
	s := strings.Join(d.lines, "\n")
	d.lines = nil
	return s
}

func (d *diary) Pairs(r *Rows) error {
	for i := range r.N {
		line := fmt.Sprint(r.Time[i], r.WM[i], r.Left[i], r.Right[i], r.Ordinal[i], r.Of[i])
		for _, t := range []*stream.Columns{&r.Key, r.Values} {
			for n := range t.Cols {
				switch c := &t.Cols[n]; {
				case c.Null(i):
					line += " null"
				case c.Kind == stream.Bool:
					line += fmt.Sprint(" ", c.Bools[i])
				default:
					line += fmt.Sprintf(" %q", c.Strs[i].Bytes(t.Blob))
				}
			}
		}
		d.note("%s", line)
	}
	return nil
}

func (d *diary) Late(b *stream.Batch, i int, side uint8, wm stream.Time) error {
	d.note("late %d of side %d at %d", b.Pos[i], side, wm)
	return nil
}

func (d *diary) Refused(b *stream.Batch, i int, in *udf.Pairs, pair int, f *udf.Failure) error {
	d.note("refused %d with times %d and %d: %s", b.Pos[i], in.Left.Time[in.L[pair]], in.Right.Time[in.R[pair]], f.Message)
	return nil
}

// standingOf is what can be asked of a join.
func standingOf(t *testing.T, j *Interval) string {
	t.Helper()
	var kept []string
	j.Each(func(side uint8, key []byte, ts stream.Time) {
		kept = append(kept, fmt.Sprintf("%q %d %d", key, side, ts))
	})
	slices.Sort(kept)
	made, refused := j.Paired()
	return fmt.Sprintf("at %d: %+v, %+v, %d made, %d refused, %d kept, disabled %v\n%s\n%s", j.Watermark(), j.Ledger(0), j.Ledger(1), made, refused, j.Buffered(), j.Disabled(), strings.Join(kept, "\n"), written(t, j))
}

// inBalance compares what a join counts with what it has.
func inBalance(t *testing.T, what string, j *Interval) {
	t.Helper()
	var records, away [2]int
	queued := 0
	for _, k := range j.keys {
		for s := range k.sides {
			n := len(k.sides[s].list())
			if records[s] += n; n > 0 {
				queued++
			}
		}
		if k.empty() {
			t.Fatalf("%s: nothing is kept of %q", what, k.key)
		}
	}
	for s, st := range j.stores {
		if st.N-st.dead != records[s] || len(j.queue) != queued {
			t.Fatalf("%s: side %d: %d records in the table, %d of them gone, %d in lists; %d in the queue, want %d", what, s, st.N, st.dead, records[s], len(j.queue), queued)
		}
	}
	c := j.cold
	if c == nil {
		c = &cold{to: state.NewRAM(), batch: state.NewRAM().Batch()}
	}
	var there state.Spilled
	dues := map[string]stream.Time{}
	err := c.to.Scan([]byte{0}, []byte{0xff}, func(name, value []byte) (bool, error) {
		there.Bytes += int64(len(name) + len(value))
		if name[0] == timerName {
			key := string(name[9:])
			if _, twice := dues[key]; twice {
				t.Fatalf("%s: %q has two times", what, key)
			}
			if dues[key] = state.TimeIn(name[1:]); !c.waits || dues[key] < c.due {
				t.Fatalf("%s: %q is due at %d, before all", what, key, dues[key])
			}
			return true, nil
		}
		there.Pieces++
		h, body, _, err := readHead(value)
		r := state.NewReader(body)
		if key := string(r.Lent()); j.keys[key] != nil || err != nil {
			t.Fatalf("%s: %q is in memory and on disk, %v", what, key, err)
		}
		for s, n := range h.records {
			away[s] += int(n[0] + n[1])
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if there != j.Spilled() || len(dues) != int(there.Pieces) {
		t.Fatalf("%s: %+v and %d times are on disk, %+v are counted", what, there, len(dues), j.Spilled())
	}
	for s := range j.ledger {
		if int(j.ledger[s].Open) != records[s]+away[s] {
			t.Fatalf("%s: side %d: %d records in memory and %d on disk, %d counted", what, s, records[s], away[s], j.ledger[s].Open)
		}
	}
	if c.batch.Size() > 16 {
		t.Fatalf("%s: %d bytes have not been written", what, c.batch.Size())
	}
	linked := 0
	for range c.asked.All() {
		linked++
	}
	if j.cold != nil && linked != len(j.keys) {
		t.Fatalf("%s: %d keys are in order of their last use, of %d", what, linked, len(j.keys))
	}
}

func TestStateOnDiskChangesNothing(t *testing.T) {
	store, err := disk.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	batches, restores, moves, lines, most := 0, 0, 0, 0, int64(0)
	for seed := range uint64(200) {
		f := &traffic{r: rand.New(rand.NewPCG(seed, 43)), now: 100}
		groups := []int{1, 4, 16}[f.r.IntN(3)]
		memory := []int64{0, 0, 2000, 6000}[f.r.IntN(4)]
		restore := f.r.IntN(3) == 0
		what := fmt.Sprintf("seed %d: %d groups, %d bytes of memory, restored %v", seed, groups, memory, restore)
		var got, want diary
		open := func() *Interval {
			s := &state.Spill{Memory: memory, Open: func() state.Backing { return state.NewRAM() }}
			if seed%8 == 0 {
				s.Open = func() state.Backing { return store.Backing(what) }
			}
			return openJoin(t, groups, &got, s)
		}
		fast, slow := open(), openJoin(t, groups, &want, nil)
		for range 60 {
			f.run(t, fast, slow)
			inBalance(t, what, fast)
			batches++
			if restore && f.r.IntN(4) == 0 {
				p, err := fast.Freeze().Read()
				if err != nil {
					t.Fatal(err)
				}
				if fast = open(); f.r.IntN(4) == 0 { // a cut moves between memory and disk
					fast = openJoin(t, groups, &got, nil)
					moves++
				}
				if err := fast.Restore(p.AsItWas()); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				inBalance(t, what, fast)
				restores++
			}
			most = max(most, fast.Spilled().Pieces)
			lines += len(want.lines)
			if g, w := got.take(), want.take(); g != w {
				t.Fatalf("%s: got\n%s\nwant\n%s", what, g, w)
			}
			if g, w := standingOf(t, fast), standingOf(t, slow); g != w {
				t.Fatalf("%s: got\n%s\nwant\n%s", what, g, w)
			}
		}
		upTo := new(stream.Batch)
		upTo.Trailing = stream.MaxTime
		for _, j := range []*Interval{fast, slow} {
			if err := j.Process(upTo); err != nil {
				t.Fatal(err)
			}
		}
		if g, w := standingOf(t, fast), standingOf(t, slow); g != w || fast.Buffered() != 0 || fast.Spilled() != (state.Spilled{}) {
			t.Fatalf("%s: at the end %d are on disk, and it stands\n%s\nwant\n%s", what, fast.Spilled().Pieces, g, w)
		}
		if err := fast.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d batches, %d lines, %d restores, %d of them to memory, at most %d keys on disk", batches, lines, restores, moves, most)
	if lines < 20_000 || restores < 500 || moves < 100 || most < 10 {
		t.Error("they show too little")
	}
}

// What the disk gives back is not trusted.
func TestDamagedStateOnDisk(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(b *state.RAM, name, value []byte) // of a key
	}{
		{"a value that ends too early", func(b *state.RAM, name, value []byte) { put(b, name, value[:len(value)-1]) }},
		{"a head that ends too early", func(b *state.RAM, name, value []byte) { put(b, name, value[:headBytes-1]) }},
		{"a length beyond the value", func(b *state.RAM, name, value []byte) {
			put(b, name, append([]byte{255, 255, 255, 255}, value[4:]...))
		}},
		{"another key", func(b *state.RAM, name, value []byte) {
			put(b, name, slices.Replace(value, headBytes+4, headBytes+5, 'b'))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, then := range []struct {
				name string
				do   func(j *Interval) error
			}{
				{"a cut", func(j *Interval) error { _, err := j.Freeze().Read(); return err }},
				{"a record that comes late enough for one of the two to go", func(j *Interval) error { return j.Process(batchOfA(50, 60)) }},
				{"a record", func(j *Interval) error { return j.Process(batchOfA(0, 60)) }},
				{"a step of time", func(j *Interval) error { return j.Process(batchOfA(50)) }},
			} {
				ram := state.NewRAM()
				j := openJoin(t, 4, tolerant{}, &state.Spill{Open: func() state.Backing { return ram }})
				if err := j.Process(batchOfA(0, 5, 80)); err != nil {
					t.Fatal(err)
				}
				var name, value []byte
				if err := ram.Scan([]byte{keyName}, []byte{keyName + 1}, func(n, v []byte) (bool, error) {
					name, value = slices.Clone(n), slices.Clone(v)
					return true, nil
				}); err != nil {
					t.Fatal(err)
				}
				c.damage(ram, name, value)
				if err := then.do(j); !errors.Is(err, fault.ErrCorrupt) {
					t.Errorf("%s says %v", then.name, err)
				}
			}
		})
	}
}

// batchOfA has left records of one key.
func batchOfA(wm stream.Time, times ...stream.Time) *stream.Batch {
	b := new(stream.Batch)
	b.Reset([]stream.Kind{stream.String, stream.String, stream.Bool})
	for _, at := range times {
		b.Blob = append(b.Blob, 'a')
		b.Cols[0].AppendStr(stream.Str{Off: uint32(len(b.Blob) - 1), Len: 1})
		b.Cols[1].AppendNull()
		b.Cols[2].AppendBool(true)
		b.Time, b.WM, b.Split, b.Pos = append(b.Time, at), append(b.WM, wm), append(b.Split, 0), append(b.Pos, 0)
		b.N++
	}
	b.Trailing = wm
	b.SetKeys([]int{0})
	return b
}

func put(b *state.RAM, name, value []byte) {
	c := b.Batch()
	c.Put(name, value)
	if err := c.Commit(); err != nil {
		panic(err)
	}
}

// wide are batches of both sides of keys in no order, each of which comes back: what the join
// keeps is all of them, whichever it was asked for last. Records that an earlier batch has
// brought go as time passes.
func wide(records, keys int, f func(b *stream.Batch)) {
	for n := 0; n < records; n += 1024 {
		b := benchBatch(n/1024%2, min(1024, records-n), func(i int) (int, stream.Time) { return (n + i) * 7919 % keys, stream.Time(n + i) })
		b.Trailing = stream.Time(n)
		f(b)
	}
}

func wideJoin(t testing.TB, keep stream.Time, spill *state.Spill) *Interval {
	j, err := NewInterval(IntervalConfig{Lower: -keep, Upper: keep, Key: benchFields[:1], Pair: NewIdentity(benchFields[1:], benchFields[1:]),
		LeftCols: []int{1, 2}, RightCols: []int{1, 2}, Groups: 128, Spill: spill}, nobody{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// What a join holds between two batches is what it may, and of its tables no more than twice
// that and what a batch brings.
func TestAJoinKeepsToItsMemory(t *testing.T) {
	const records, keys, keep, memory = 60_000, 9973, 40_000, 500_000
	whole, part := wideJoin(t, keep, nil), wideJoin(t, keep, &state.Spill{Memory: memory, Open: func() state.Backing { return state.NewRAM() }})
	var most, held, kept int64
	wide(records, keys, func(b *stream.Batch) {
		for _, j := range []*Interval{whole, part} {
			if err := j.Process(b); err != nil {
				t.Fatal(err)
			}
		}
		if h := part.cold.held(); h > memory {
			t.Fatalf("%d bytes are held, of %d", h, memory)
		}
		most, held, kept = max(most, whole.Bytes()), max(held, part.Bytes()), max(kept, part.Spilled().Pieces)
	})
	t.Logf("%d bytes in memory alone; %d with a disk, and %d keys there", most, held, kept)
	if most < 5*memory || held > 3*memory {
		t.Errorf("%d bytes are held, of %d; in memory alone it would be %d", held, memory, most)
	}
	if whole.Ledger(0) != part.Ledger(0) || whole.Ledger(1) != part.Ledger(1) || whole.pairs != part.pairs || whole.pairs < records/2 {
		t.Errorf("counted %+v, %+v, %d pairs, want %+v, %+v, %d", part.Ledger(0), part.Ledger(1), part.pairs, whole.Ledger(0), whole.Ledger(1), whole.pairs)
	}
}

// BenchmarkSpill is what a record costs whose key is on disk, against one in memory: of every
// key there are some ten records.
func BenchmarkSpill(b *testing.B) {
	const records, keys, keep = 200_000, 10_007, 100_000
	for _, share := range []int64{0, 2, 5} {
		name := "in memory"
		if share > 0 {
			name = fmt.Sprintf("state %d times the memory", share)
		}
		b.Run(name, func(b *testing.B) {
			store, err := disk.Open(b.TempDir(), 8<<20)
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := store.Close(); err != nil {
					b.Error(err)
				}
			}()
			var whole int64
			j := wideJoin(b, keep, nil)
			wide(records, keys, func(batch *stream.Batch) {
				if err := j.Process(batch); err != nil {
					b.Fatal(err)
				}
				whole = max(whole, j.Bytes())
			})
			for b.Loop() {
				var spill *state.Spill
				if share > 0 {
					spill = &state.Spill{Memory: whole / share, Open: func() state.Backing { return store.Backing("join") }}
				}
				j := wideJoin(b, keep, spill)
				wide(records, keys, func(batch *stream.Batch) {
					if err := j.Process(batch); err != nil {
						b.Fatal(err)
					}
				})
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records)/1000, "µs/record")
		})
	}
}
