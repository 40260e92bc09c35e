package window

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/engine/agg"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// The scripts in testdata drive an operator directly. A block of commands, a line
// ----, and what must come out of the block:
//
//	window size=5s lateness=3s [offset=1s] [null_key=drop]
//	record k=a t=1s v=7 [wm=500ms]     v= without a value is null; wm is the watermark
//	                                   before the record, the last one if left out
//	watermark 12s | watermark max
//	ledger                             counters, in the output
//
// Each block is run as one batch, as batches of two, and record by record.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 2, 1000} {
			t.Run(fmt.Sprintf("%s, batches of %d", filepath.Base(f), size), func(t *testing.T) {
				s := script{t: t, size: size}
				for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
					in, want, found := strings.Cut(block, "\n----")
					if !found {
						t.Fatalf("block %d has no ----", i+1)
					}
					got := s.run(in)
					if want = strings.TrimSpace(want); got != want {
						t.Errorf("block %d\n%s\n--- got\n%s\n--- want\n%s", i+1, in, got, want)
					}
				}
			})
		}
	}
}

type script struct {
	t    *testing.T
	size int
	op   Operator
	out  recorder
	b    *stream.Batch
	wm   stream.Time
}

var kinds = []stream.Kind{stream.String, stream.Float64}

func (s *script) run(in string) string {
	s.out.lines = nil
	for _, line := range strings.Split(in, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		args := map[string]string{}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			args[k] = v
		}
		switch words[0] {
		case "window":
			s.open(args)
		case "record":
			s.record(args)
		case "watermark":
			s.flush()
			s.wm = s.time(words[1])
			s.process(newBatch(s.wm))
		case "ledger":
			s.flush()
			l := s.op.Ledger()
			s.out.printf("filtered %d failed %d late %d counted %d = open %d fired %d unfired %d; behind %d late_accepted %d; panes %d",
				l.Filtered, l.Failed, l.Late, l.Counted, l.Open, l.Fired, l.Unfired, l.Behind, l.LateAccepted, s.op.Panes())
		default:
			s.t.Fatalf("unknown command %q", line)
		}
	}
	s.flush()
	return strings.Join(s.out.lines, "\n")
}

func (s *script) time(text string) stream.Time {
	if text == "max" {
		return stream.MaxTime
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return stream.Time(d.Milliseconds())
}

func (s *script) open(args map[string]string) {
	fns := []Function{}
	for _, name := range []string{"count", "sum", "distinct"} {
		var ks []stream.Kind
		var cols []int
		if name != "count" {
			ks, cols = []stream.Kind{stream.Float64}, []int{1}
		}
		a, err := agg.New(name, ks)
		if err != nil {
			s.t.Fatal(err)
		}
		fns = append(fns, Function{Name: name, Agg: a, Cols: cols})
	}
	s.wm = stream.MinTime
	s.op = s.operator(Config{Windows: tiles(s.time(args["size"]), s.time(or(args["offset"], "0s"))), Lateness: s.time(or(args["lateness"], "0s")),
		DropNullKey: args["null_key"] == "drop", Functions: fns})
}

func tiles(size, offset stream.Time) Assigner {
	a, err := NewTumbling(size, offset, false)
	if err != nil {
		panic(err)
	}
	return a
}

func (s *script) operator(cfg Config) *Aligned {
	cfg.Key = []stream.Field{{Name: "k", Kind: stream.String}}
	cfg.Groups = 4
	op, err := NewAligned(cfg, &s.out)
	if err != nil {
		s.t.Fatal(err)
	}
	return op
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func newBatch(trailing stream.Time) *stream.Batch {
	b := new(stream.Batch)
	b.Reset(kinds)
	b.Trailing = trailing
	return b
}

func (s *script) record(args map[string]string) {
	if s.b == nil {
		s.b = newBatch(s.wm)
	}
	if wm, ok := args["wm"]; ok {
		s.wm = s.time(wm)
	}
	appendRecord(s.b, args["k"], s.time(args["t"]), args["v"], s.wm)
	if s.b.N == s.size {
		s.flush()
	}
}

// appendRecord adds a row; an empty key or value is null.
func appendRecord(b *stream.Batch, key string, ts stream.Time, v string, wm stream.Time) {
	if key == "" {
		b.Cols[0].AppendNull()
	} else {
		b.Cols[0].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(key))})
		b.Blob = append(b.Blob, key...)
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		b.Cols[1].AppendFloat(f)
	} else {
		b.Cols[1].AppendNull()
	}
	b.Time = append(b.Time, ts)
	b.WM = append(b.WM, wm)
	b.High = append(b.High, ts)
	b.Split = append(b.Split, 0)
	b.Pos = append(b.Pos, int64(b.N+1))
	b.Raw = append(b.Raw, stream.Str{})
	b.Trailing = wm
	b.N++
}

func (s *script) flush() {
	if b := s.b; b != nil {
		s.b = nil
		s.process(b)
	}
}

func (s *script) process(b *stream.Batch) {
	b.SetKeys([]int{0})
	if err := s.op.Process(b); err != nil {
		s.t.Fatal(err)
	}
}

// recorder writes down what an operator says.
type recorder struct {
	lines []string
	err   error // answer to refusals
}

func (r *recorder) printf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func key(c *stream.Columns, i int) string {
	if c.Cols[0].Null(i) {
		return "null"
	}
	return string(c.Cols[0].Strs[i].Bytes(c.Blob))
}

func (r *recorder) Rows(rows *result.Rows) error {
	for i := range rows.N {
		w := rows.Window[i]
		line := fmt.Sprintf("%s [%d,%d) %s r%d", key(&rows.Key, i), w.Start, w.End, rows.Kind[i], rows.Revision[i])
		for _, v := range rows.Values {
			switch c := &v.Cols[0]; {
			case c.Null(i):
				line += " null"
			case c.Kind == stream.Float64:
				line += fmt.Sprintf(" %g", c.Floats[i])
			default:
				line += fmt.Sprintf(" %d", c.Ints[i])
			}
		}
		r.lines = append(r.lines, line)
	}
	return nil
}

func (r *recorder) Late(b *stream.Batch, i int, w stream.Window, wm stream.Time) error {
	r.printf("late %s at %d for [%d,%d) by %d", b.Key[i].Bytes(b.Blob), b.Time[i], w.Start, w.End, wm.Sub(w.MaxTimestamp()))
	return nil
}

func (r *recorder) Refused(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error {
	r.printf("refused record %d for [%d,%d): %s", b.Pos[i], w.Start, w.End, f.Message)
	return r.err
}

func (r *recorder) RefusedPane(key []byte, w stream.Window, f *udf.Failure) error {
	r.printf("refused pane %s [%d,%d): %s", key, w.Start, w.End, f.Message)
	return r.err
}
