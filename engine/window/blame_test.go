package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// moody counts records and misbehaves on some values, as a plug-in may. Its
// accumulator is fixed, or varies in size when it is asked to.
type moody struct {
	varying bool
	refuse  float64 // refuses this value, and says which record it was
	trap    float64 // breaks down on this value without saying where
	worn    bool    // the next call breaks down: the instance is at fault, not a record
	result  uint64  // refuses a result of this many
	calls   int
}

func (m *moody) Info() udf.Info {
	i := udf.Info{Inputs: []udf.Input{{Name: "v", Kind: stream.Float64}}, Outputs: []stream.Field{{Name: "n", Kind: stream.Int64}}, Width: 8, Schema: 1}
	if m.varying {
		i.Width = 0
	}
	return i
}

func (m *moody) Create(dst *udf.Accs, n int) error {
	dst.Reset(m.Info().Width)
	for range n {
		dst.Append(make([]byte, 8))
	}
	return nil
}

func (m *moody) Add(accs *udf.Accs, rows *udf.Rows) error {
	m.calls++
	if m.worn {
		m.worn = false
		return &udf.Failure{Op: -1, Trap: true, Module: "moody", Message: "worn out"}
	}
	if m.varying {
		if err := m.Create(accs, rows.Groups); err != nil {
			return err
		}
	}
	for i, r := range rows.Sel {
		switch v := rows.Batch.Cols[rows.Cols[0]].Floats[r]; v {
		case m.refuse:
			return &udf.Failure{Op: i, Module: "moody", Message: "I do not take this"}
		case m.trap:
			return &udf.Failure{Op: -1, Trap: true, Module: "moody", Message: "unreachable"}
		}
		a := accs.At(int(rows.Group[i]))
		binary.LittleEndian.PutUint64(a, binary.LittleEndian.Uint64(a)+1)
	}
	return nil
}

func (m *moody) Merge(into, from *udf.Accs) error {
	for i := range into.N() {
		a := into.At(i)
		binary.LittleEndian.PutUint64(a, binary.LittleEndian.Uint64(a)+binary.LittleEndian.Uint64(from.At(i)))
	}
	return nil
}

func (m *moody) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := range accs.N() {
		n := binary.LittleEndian.Uint64(accs.At(i))
		if n == m.result {
			return &udf.Failure{Op: i, Module: "moody", Message: "unlucky number"}
		}
		out.Cols[0].AppendInt(int64(n))
	}
	return nil
}

func (m *moody) Close() error { return nil }

func TestOnlyTheRecordThatFailsIsSetAside(t *testing.T) {
	// A steady function stands beside the moody one: a record that one of them refuses
	// must not be counted by the other either.
	for _, varying := range []bool{false, true} {
		t.Run(fmt.Sprintf("varying accumulators: %v", varying), func(t *testing.T) {
			bad, steady := &moody{varying: varying, refuse: 13, trap: 66}, &moody{varying: !varying}
			s := script{t: t, size: 1000}
			s.op = s.operator(Config{Windows: tiles(10000, 0), Functions: []Function{{"steady", steady, []int{1}}, {"moody", bad, []int{1}}}})
			got := s.run(`
				record k=a t=1s v=1
				record k=a t=1s v=13
				record k=b t=2s v=66
				record k=c t=2s v=66
				record k=c t=12s v=13
				record k=a t=3s v=2
				record k=c t=13s v=3
				watermark 9999ms
				watermark max
				ledger`)
			want := `refused record 2 for [0,10000): I do not take this
refused record 3 for [0,10000): unreachable
refused record 4 for [0,10000): unreachable
refused record 5 for [10000,20000): I do not take this
a [0,10000) on_time r0 2 2
c [10000,20000) on_time r0 1 1
filtered 0 failed 4 late 0 counted 3 = open 0 fired 3 unfired 0; behind 0 late_accepted 0; panes 0`
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestARefusedLateRecordDoesNotFire(t *testing.T) {
	s := script{t: t, size: 1000}
	s.op = s.operator(Config{Windows: tiles(10000, 0), Lateness: 5000, Functions: []Function{{"n", &moody{refuse: 13}, []int{1}}}})
	got := s.run(`
		record k=a t=1s v=1
		record k=a t=2s v=13 wm=10s
		record k=a t=3s v=2`)
	want := `a [0,10000) on_time r0 1
refused record 2 for [0,10000): I do not take this
a [0,10000) update r1 2`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAWornOutInstanceCondemnsNoRecord(t *testing.T) {
	for _, n := range []int{1, 2, 9} {
		s := script{t: t, size: 1000}
		s.op = s.operator(Config{Windows: tiles(10000, 0), Functions: []Function{{"n", &moody{worn: true, refuse: -1, trap: -1}, []int{1}}}})
		in := ""
		for i := range n {
			in += fmt.Sprintf("record k=a t=1s v=%d\n", i)
		}
		if got, want := s.run(in+"watermark max"), fmt.Sprintf("a [0,10000) on_time r0 %d", n); got != want {
			t.Errorf("%d records: got %q, want %q", n, got, want)
		}
	}
}

// final is a moody that breaks down on fresh instances only, and says so.
type final struct{ moody }

func (f *final) Add(accs *udf.Accs, rows *udf.Rows) error {
	err := f.moody.Add(accs, rows)
	if fail, ok := errors.AsType[*udf.Failure](err); ok {
		fail.Fresh = fail.Trap
	}
	return err
}

func TestARecordThatBreaksAFreshInstanceIsNotTriedAgain(t *testing.T) {
	f := &final{moody{trap: 13, refuse: -1}}
	s := script{t: t, size: 1000}
	s.op = s.operator(Config{Windows: tiles(10000, 0), Functions: []Function{{"n", f, []int{1}}}})
	got := s.run("record k=a t=1s v=13")
	if want := "refused record 1 for [0,10000): unreachable"; got != want || f.calls != 1 {
		t.Errorf("%d calls, want 1; got\n%s\nwant\n%s", f.calls, got, want)
	}
}

func TestAPaneWhoseResultFailsIsSetAsideAlone(t *testing.T) {
	s := script{t: t, size: 1000}
	s.op = s.operator(Config{Windows: tiles(10000, 0), Functions: []Function{{"n", &moody{refuse: -1, trap: -1, result: 2}, []int{1}}}})
	got := s.run(`
		record k=a t=1s v=1
		record k=b t=1s v=1
		record k=b t=1s v=1
		record k=c t=1s v=1
		watermark max
		ledger`)
	want := []string{"a [0,10000) on_time r0 1", "c [0,10000) on_time r0 1",
		"filtered 0 failed 0 late 0 counted 4 = open 0 fired 2 unfired 2; behind 0 late_accepted 0; panes 0",
		"refused pane b [0,10000): unlucky number"}
	lines := slices.Sorted(slices.Values(s.out.lines))
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s", got)
	}
}

func TestThePolicyToFailStopsAtTheRecord(t *testing.T) {
	s := script{t: t, size: 1000}
	s.op = s.operator(Config{Windows: tiles(10000, 0), Functions: []Function{{"n", &moody{refuse: 13, trap: -1}, []int{1}}}})
	s.out.err = errors.New("stop")
	b := newBatch(stream.MinTime)
	for _, v := range []string{"1", "13", "2"} {
		appendRecord(b, "a", 1000, v, stream.MinTime)
	}
	b.SetKeys([]int{0})
	if err := s.op.Process(b); !errors.Is(err, s.out.err) {
		t.Fatalf("got %v", err)
	}
	if l := s.op.Ledger(); l.Counted != 1 || l.Failed != 1 {
		t.Errorf("counted %d, failed %d: the record before the bad one counts, the one behind it was not reached", l.Counted, l.Failed)
	}
}

func TestALargeSetIsCopiedOnlyWhenItDoubles(t *testing.T) {
	// Ten thousand batches that each bring one new value to one pane: partials of size
	// classes keep merges at a few a batch, and the bytes merged near n log n, where a
	// merge per batch would copy 50 million entries.
	s := script{t: t, size: 1}
	s.open(map[string]string{"size": "10s"})
	for i := range 10000 {
		b := newBatch(stream.MinTime)
		appendRecord(b, "a", 1, fmt.Sprint(i), stream.MinTime)
		s.process(b)
		if i%1000 != 999 {
			continue
		}
		for _, buck := range s.op.(*Aligned).windows.open {
			for _, table := range buck.tables {
				if table != nil && len(table.Parts[0][0]) > 16 {
					t.Fatalf("after %d batches: %d partials", i+1, len(table.Parts[0][0]))
				}
			}
		}
	}
	if got := s.run("watermark max"); got != "a [0,10000) on_time r0 10000 4.9995e+07 10000" {
		t.Errorf("got %s", got)
	}
}
