package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// startProcess opens a process function, with its inputs bound in order.
func startProcess(tb testing.TB, file []byte) udf.Process {
	tb.Helper()
	ps := host(tb, map[string][]byte{"plug": file})
	p := &job.Plugin{Name: "plug"}
	info, err := ps.Describe(p)
	if err != nil {
		tb.Fatal(err)
	}
	kinds := func(inputs []job.Input) (out []stream.Kind) {
		for _, in := range inputs {
			out = append(out, in.Kinds[0])
		}
		return out
	}
	var lists [][]stream.Kind
	for _, l := range info.Process.Lists {
		lists = append(lists, kinds(l))
	}
	fn, err := ps.Process(tb.Context(), p, &job.Process{Plugin: "plug"}, kinds(info.Inputs), lists)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := fn.Close(); err != nil {
			tb.Error(err)
		}
	})
	return fn
}

// shown is a firing for the plug-in testdata/firings.
type shown struct {
	key     int
	tag     string // "~": null
	records []string
}

// firings makes a call: firing i is of window [1000i, 1000i+1000) and sees the watermark
// 1000i+500+500*(i%2). Record r of it has time r, none if r is 3, and size r, null if r is
// odd. Firings of one key share its state, before.
func firings(before map[int]string, list ...shown) *udf.Firings {
	in := &udf.Firings{Lists: make([]udf.FiringList, 1)}
	in.Inputs.Reset([]stream.Kind{stream.String})
	l := &in.Lists[0]
	l.Columns.Reset([]stream.Kind{stream.String, stream.Int64})
	l.Off = []uint32{0}
	str := func(c *stream.Columns, n int, s string) {
		if s == "~" {
			c.Cols[n].AppendNull()
			return
		}
		c.Cols[n].AppendStr(stream.Str{Off: uint32(len(c.Blob)), Len: uint32(len(s))})
		c.Blob = append(c.Blob, s...)
	}
	slots := map[int]uint32{}
	for i, f := range list {
		at := stream.Time(1000 * i)
		in.Window = append(in.Window, stream.Window{Start: at, End: at + 1000})
		in.Watermark, in.Now, in.Revision = append(in.Watermark, at+500+stream.Time(500*(i%2))), append(in.Now, 7), append(in.Revision, 0)
		str(&in.Inputs, 0, f.tag)
		in.Inputs.N++
		for r, text := range f.records {
			str(&l.Columns, 0, text)
			if r%2 == 1 {
				l.Cols[1].AppendNull()
			} else {
				l.Cols[1].AppendInt(int64(r))
			}
			t := stream.Time(r)
			if r == 3 {
				t = stream.MinTime
			}
			l.Time = append(l.Time, t)
			l.N++
		}
		l.Off = append(l.Off, uint32(l.N))
		slot, ok := slots[f.key]
		if !ok {
			slot = in.Keys.Add([]byte(before[f.key]))
			slots[f.key] = slot
		}
		in.Keys.Slot = append(in.Keys.Slot, slot)
		in.Windows.Slot = append(in.Windows.Slot, in.Windows.Add(nil))
	}
	return in
}

func emitted(info udf.ProcessInfo) []udf.Emitted {
	out := make([]udf.Emitted, 1+len(info.Side))
	out[0].Reset(info.Outputs)
	for n, s := range info.Side {
		out[n+1].Reset(s.Outputs)
	}
	return out
}

// lines writes rows down: the firing, then the values.
func lines(e *udf.Emitted) []string {
	e.N = len(e.Of)
	rows := render(&e.Columns)
	for i := range rows {
		rows[i] = fmt.Sprint(e.Of[i], ": ", rows[i])
	}
	return rows
}

func TestGoProcess(t *testing.T) {
	fn := startProcess(t, build(t, "testdata/firings"))
	in := firings(map[int]string{1: "was "}, shown{1, "+", []string{"a", "b", "c"}}, shown{2, "~", nil}, shown{1, "-", []string{"d", "e", "f", "g"}}, shown{1, "", []string{"forget"}}, shown{1, "", []string{"h"}})
	out := emitted(fn.Info())
	if err := fn.Call(in, out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0: was +abc 1003 0 false 1", // sizes 0 and 2
		"1:  1000 null true null",
		"2: was +abc-defg 1004 0 false 1",
		"3: was +abc-defgforget 1001 0 true 0",
		"4: h 1001 0 false 0",
	}
	if got := lines(&out[0]); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	want = []string{"0: a", "0: b", "0: c", "2: d", "2: e", "2: f", "2: g", "4: h"}
	if got := lines(&out[1]); !slices.Equal(got, want) {
		t.Errorf("words: got\n%s", strings.Join(got, "\n"))
	}
	if got := fmt.Sprintf("%s %q %v", in.Keys.Data, in.Windows.Data[4], in.Keys.Put); got != `[h ] "\x01\x00\x00\x00\x00\x00\x00\x00" [true true]` {
		t.Errorf("states: %s", got)
	}
}

// What does not fit into one frame goes in several, and states go from one to the next.
func TestGoProcessInSeveralFrames(t *testing.T) {
	fn := startProcess(t, build(t, "testdata/firings"))
	for _, c := range []struct {
		name  string
		n     int
		texts func(i int) []string
	}{
		{"many firings", 3000, func(i int) []string { return []string{fmt.Sprint(i % 10)} }},
		{"large records", 40, func(i int) []string { return []string{strings.Repeat(fmt.Sprint(i%10), 300_000)} }},
		{"large answers", 30, func(int) []string { return []string{"large", "large", "large"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list []shown
			for i := range c.n {
				list = append(list, shown{i, "", c.texts(i)})
			}
			// The first and the last are of one key, so that a state has a long way.
			list[0].records, list[c.n-1] = []string{"x"}, shown{0, "", []string{"y"}}
			in := firings(nil, list...)
			out := emitted(fn.Info())
			if err := fn.Call(in, out); err != nil {
				t.Fatal(err)
			}
			rows := lines(&out[0])
			if len(rows) != c.n || !strings.HasPrefix(rows[c.n-1], fmt.Sprintf("%d: xy 1001 ", c.n-1)) {
				t.Fatalf("%d rows, the last one %.60s", len(rows), rows[len(rows)-1])
			}
			for i := 1; i < c.n-1; i++ {
				if want := fmt.Sprintf("%d: %s 100%d ", i, strings.Join(list[i].records, ""), len(list[i].records)); !strings.HasPrefix(rows[i], want) {
					t.Fatalf("row %d: %.60s, want %.60s", i, rows[i], want)
				}
			}
			if string(in.Keys.Data[0]) != "xy" {
				t.Errorf("state %.20q", in.Keys.Data[0])
			}
		})
	}
}

func TestGoProcessFailures(t *testing.T) {
	fn := startProcess(t, build(t, "testdata/firings"))
	for _, c := range []struct {
		text string
		trap bool
		want string // beginning of the message
	}{
		{"refuse", false, "a text that is refused"},
		{"panic", true, "panic: no luck with panic"},
		{"long", false, "the texts of a result row are longer than 1 MiB"},
		{"much", false, "what the firing answers does not fit into the plug-in's arena of 4194304 bytes"},
		{"stale", true, "panic: runtime error: index out of range [1073741824] with length 1"},
		{strings.Repeat("x", 5<<20), false, "the firing does not fit into the plug-in's arena of 4194304 bytes"},
	} {
		t.Run(c.text[:min(len(c.text), 10)], func(t *testing.T) {
			call := func(texts ...string) ([]string, error) {
				var list []shown
				for i, text := range texts {
					list = append(list, shown{i, "", []string{text}})
				}
				out := emitted(fn.Info())
				err := fn.Call(firings(nil, list...), out)
				return lines(&out[0]), err
			}
			_, err := call("a", "b", c.text, "d")
			f := failure(t, err)
			if f.Op != 2 || f.Trap != c.trap || !strings.HasPrefix(f.Message, c.want) || f.Module != "plug" {
				t.Errorf("got %+v", *f)
			}
			if got, err := call("a", "b"); err != nil || len(got) != 2 {
				t.Errorf("then: %v, %v", got, err)
			}
		})
	}
}

// A call whose answer would be too much memory in one piece is to be cut by the caller.
func TestGoProcessAnswersTooMuch(t *testing.T) {
	fn := startProcess(t, build(t, "testdata/firings"))
	var list []shown
	for i := range 100 {
		list = append(list, shown{i, "", []string{"large", "large"}}) // 1 MiB and a little
	}
	f := failure(t, fn.Call(firings(nil, list...), emitted(fn.Info())))
	if f.Op != -1 || f.Trap || f.Message != "one call has answered more than 64 MiB" {
		t.Errorf("got %+v", *f)
	}
	out := emitted(fn.Info())
	if err := fn.Call(firings(nil, list[:50]...), out); err != nil || len(out[0].Of) != 50 {
		t.Errorf("half of it: %d rows, %v", len(out[0].Of), err)
	}
}

// entry writes an entry of an answer.
func entry(firing, what uint32, body ...byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, firing)
	b = binary.LittleEndian.AppendUint32(b, what)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = append(append(b, 0, 0, 0, 0), body...)
	return append(b, make([]byte, abi.Align(len(body))-len(body))...)
}

// cells writes the body of a row.
func cells(bits uint64, words ...uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, bits)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// answered takes an answer for two firings that share the state of their key.
func answered(bytes []byte, complete int) (*udf.States, []udf.Emitted, error) {
	keys := &udf.States{Slot: []uint32{0, 0}, Data: [][]byte{nil}, Put: []bool{false}}
	e := entries{keys: keys, outputs: [][]stream.Field{
		{{Name: "n", Kind: stream.Int64}, {Name: "s", Kind: stream.String}, {Name: "b", Kind: stream.Bool}, {Name: "f", Kind: stream.Float64}},
		{{Name: "t", Kind: stream.String}},
	}}
	out := emitted(udf.ProcessInfo{Outputs: e.outputs[0], Side: []udf.SideOutput{{Outputs: e.outputs[1]}}})
	_, err := e.take(0, complete, bytes, out)
	return keys, out, err
}

func TestAnswersOfProcessFunctions(t *testing.T) {
	text := func(off, n int) uint64 { return uint64(off) | uint64(n)<<32 }
	row := func(s ...byte) []byte { return append(cells(15, 7, text(40, len(s)), 1, math.Float64bits(2.5)), s...) }
	keys, out, err := answered(slices.Concat(
		entry(0, 0, row([]byte("hé")...)...), entry(0, abi.KeyState, 1, 2, 3), entry(0, 1, cells(0, 9)...), entry(1, 0, cells(0, 1, 2, 3, 4)...), entry(1, abi.KeyState, 4)), 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := append(lines(&out[0]), lines(&out[1])...); !slices.Equal(got, []string{"0: 7 hé true 2.5", "1: null null null null", "0: null"}) {
		t.Errorf("got %q", got)
	}
	if string(keys.Data[0]) != "\x04" || !keys.Put[0] {
		t.Errorf("state %v", keys)
	}

	for _, c := range []struct {
		name    string
		entries []byte
		want    string
	}{
		{"a head cut short", entry(0, 0, row()...)[:12], "12 bytes of output follow the last entry"},
		{"a body cut short", entry(0, 0, row([]byte("abc")...)...)[:50], "an entry of 43 bytes ends outside the used output"},
		{"a firing that is not in the frame", entry(2, 0, row()...), "an entry is of item 2 behind one of item 0, with 2 complete"},
		{"firings out of order", append(entry(1, 0, row()...), entry(0, 0, row()...)...), "an entry is of item 0 behind one of item 1"},
		{"an output that is not there", entry(0, 2, row()...), "an entry is of kind 0x2, which the manifest does not have"},
		{"a state of windows, of which none are kept", entry(0, abi.WindowState, 1), "an entry is of kind 0x80000001"},
		{"a state too long", entry(0, abi.KeyState, make([]byte, 1<<20+1)...), "a state has 1048577 bytes, at most 1048576 are allowed"},
		{"a row too short", entry(0, 0, row()[:32]...), "a row of output 0 has 32 bytes, 4 columns need 40"},
		{"a bool that is none", entry(0, 0, cells(4, 0, 0, 2, 0)...), "output 0, column b holds 2 for a bool"},
		{"text in front of the texts", entry(0, 1, cells(1, text(8, 8))...), "output 1, column t has text outside of its row, 8 bytes at 8 of 16"},
		{"text behind the row", entry(0, 0, cells(2, 0, text(40, 1), 0, 0)...), "output 0, column s has text outside of its row, 1 bytes at 40 of 40"},
		{"text that is not UTF-8", entry(0, 0, row(0xff)...), "output 0, column s has text that is not UTF-8"},
		{"texts too long", entry(0, 1, append(cells(1, text(16, 1)), make([]byte, 1<<20+1)...)...), "a row of output 1 has texts of 1048577 bytes, at most 1048576 are allowed"},
	} {
		if _, _, err := answered(c.entries, 2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if _, _, err := answered(entry(1, 0, row()...), 1); err == nil || !strings.Contains(err.Error(), "with 1 complete") {
		t.Errorf("an entry of a firing that is not complete: %v", err)
	}
}

// Whatever a guest answers, it is taken or found to be wrong, and what is taken has rows of
// one length.
func FuzzProcessAnswer(f *testing.F) {
	f.Add(slices.Concat(entry(0, 0, append(cells(15, 7, 40|2<<32, 1, 0), "ab"...)...), entry(1, abi.KeyState, 1)), 2)
	f.Add(entry(0, 1, append(cells(1, 16|1<<32), 'x')...), 1)
	f.Fuzz(func(t *testing.T, entries []byte, complete int) {
		_, out, err := answered(entries, min(max(complete, 0), 2))
		if err != nil {
			return
		}
		for n := range out {
			for c := range out[n].Cols {
				if out[n].Cols[c].Len() != len(out[n].Of) {
					t.Fatalf("output %d, column %d has %d rows of %d", n, c, out[n].Cols[c].Len(), len(out[n].Of))
				}
			}
		}
	})
}

func TestAModuleIsOfOneKind(t *testing.T) {
	ps := host(t, map[string][]byte{"sum": wasmtest.Guest(t, "sum"), "firings": build(t, "testdata/firings")})
	sum, firings := &job.Plugin{Name: "sum"}, &job.Plugin{Name: "firings"}
	for _, p := range []*job.Plugin{sum, firings} {
		if _, err := ps.Describe(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ps.Process(t.Context(), sum, &job.Process{}, nil, nil); !errors.Is(err, fault.ErrUser) || err.Error() != "plug-in sum: it is no process function" {
		t.Errorf("got %v", err)
	}
	if _, err := ps.Aggregate(t.Context(), firings, &job.Aggregate{}, nil); !errors.Is(err, fault.ErrUser) || err.Error() != "plug-in firings: it is no aggregate" {
		t.Errorf("got %v", err)
	}
	if _, err := ps.Process(t.Context(), firings, &job.Process{}, []stream.Kind{stream.String}, nil); err == nil || err.Error() != "plug-in firings: looks at 1 lists of records, 0 are bound" {
		t.Errorf("got %v", err)
	}
}

// BenchmarkGoProcess is a firing of one record in calls of 1,000 firings, and alone.
func BenchmarkGoProcess(b *testing.B) {
	fn := startProcess(b, build(b, "../../plugins/alerts"))
	for _, n := range []int{1000, 1} {
		b.Run(fmt.Sprint("firings=", n), func(b *testing.B) {
			in := &udf.Firings{}
			in.Inputs.Reset([]stream.Kind{stream.Int64})
			for i := range n {
				in.Inputs.Cols[0].AppendInt(20)
				in.Window = append(in.Window, stream.Window{Start: 1000, End: 2000})
				in.Watermark, in.Now, in.Revision = append(in.Watermark, 1999), append(in.Now, 0), append(in.Revision, 0)
				in.Keys.Slot = append(in.Keys.Slot, in.Keys.Add(nil))
				in.Inputs.N = i + 1
			}
			out := emitted(fn.Info())
			b.ReportAllocs()
			for b.Loop() {
				for i := range out {
					out[i].Truncate(0, 0)
				}
				if err := fn.Call(in, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/firing")
		})
	}
}
