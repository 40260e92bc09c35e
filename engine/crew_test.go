package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/engine/exchange"
	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/source"
	"tidemark/engine/stream"
	"tidemark/engine/timestamp"
	"tidemark/internal/env"
)

// scripted is a split that brings its files in pieces, with pauses, and then ends or fails.
type scripted struct {
	files []string // each but the first is the successor of the one before
	end   error
	rand  *rand.Rand
	whole bool // no pauses, and all that is asked for at once
	read  int  // bytes
	waits bool // the last thing that it said
}

func (s *scripted) Splits(context.Context) ([]source.Split, error) {
	return []source.Split{{ID: "in", Path: "in"}}, nil
}

func (s *scripted) Open(context.Context, source.Split, int64) (source.Reader, error) { return s, nil }
func (s *scripted) Close() error                                                     { return nil }

func (s *scripted) Read(p []byte) (int, error) {
	s.waits = !s.whole && s.rand.IntN(4) == 0
	switch {
	case s.waits:
		return 0, source.ErrWait
	case s.files[0] != "":
		n := len(p)
		if !s.whole {
			n = min(n, 1+s.rand.IntN(8000))
		}
		n = copy(p[:n], s.files[0])
		s.files[0] = s.files[0][n:]
		s.read += n
		return n, nil
	case len(s.files) > 1:
		s.files = s.files[1:]
		return 0, source.ErrRestart
	}
	return 0, s.end
}

// randomFile has records, and what is none: rubbish, bad times, blank and over-long lines,
// line ends of two kinds, a byte order mark, an end without a line end.
func randomFile(r *rand.Rand, lines int) string {
	var b strings.Builder
	if r.IntN(3) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for i := range lines {
		switch r.IntN(30) {
		case 0:
			b.WriteString("rubbish")
		case 1:
			fmt.Fprintf(&b, `{"ts":"soon","k":"a"}`)
		case 2:
			fmt.Fprintf(&b, `{"ts":%d,"k":7}`, r.IntN(100_000))
		case 3:
			b.WriteString("  ")
		case 4:
			fmt.Fprintf(&b, `{"ts":%d,"k":"%s"}`, r.IntN(100_000), strings.Repeat("x", r.IntN(200)))
		case 5:
			if r.IntN(10) == 0 {
				b.WriteString(strings.Repeat("y", r.IntN(20_000)))
			}
		case 6:
			fmt.Fprintf(&b, `{"k":"\u00e9\n%d","ts":%d}`, i, r.IntN(100_000))
		default:
			fmt.Fprintf(&b, `{"ts":%d,"k":"k%d"}`, r.IntN(100_000), r.IntN(50))
		}
		if r.IntN(5) == 0 {
			b.WriteString("\r")
		}
		if i < lines-1 || r.IntN(2) == 0 {
			b.WriteString("\n")
		}
	}
	if r.IntN(4) == 0 { // the reader may well stop in the middle of the last record
		b.WriteString(strings.Repeat("z", r.IntN(20_000)))
	}
	return b.String()
}

// sourceOf makes a source task of one scripted split.
func sourceOf(t *testing.T, reads source.Source, rows int, turns Turns) *sourceTask {
	t.Helper()
	src := &job.Source{ID: "in", File: &job.FileSource{Path: "in"}, Format: job.Format{Kind: job.JSON, MaxRecord: 90, MaxDepth: 8},
		Schema: []job.Field{{Name: "k", Path: []string{"k"}, Kind: stream.String}}, Time: job.TimeSpec{Path: []string{"ts"}, Unit: "ms"},
		Watermark: job.Watermark{Kind: job.BoundedWatermark, OutOfOrderness: time.Second, Emit: job.Emit{Record: true}}}
	spec, err := newSourceSpec(src, 3, reads)
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{graph: &job.Graph{Name: "t", Settings: job.Settings{BatchRows: rows}}, opts: Options{Env: env.Real(), Turns: turns}}
	task := &sourceTask{job: j, turn: j.newTurn(t.Context()), spec: spec, mail: exchange.NewMailbox(), pool: &exchange.Pool{}, bad: &badOutput{totals: &badTotals{}}}
	found, err := reads.Splits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := j.open(t.Context(), spec, found[0])
	if err != nil {
		t.Fatal(err)
	}
	task.add(s)
	return task
}

// told is all that a split tells those behind it.
type told struct {
	rows, bad []string // bad: sorted, since within a batch it is told first what could not be decoded
	split     string
	err       error
}

// readAll reads a split to its end with so many decoders; with fewer than 2, the task
// decodes everything itself, in order.
func readAll(t *testing.T, reads *scripted, rows, decoders int, turns Turns) told {
	t.Helper()
	return readOn(t, sourceOf(t, reads, rows, turns), decoders)
}

func readOn(t *testing.T, task *sourceTask, decoders int) told {
	t.Helper()
	rows, now := task.job.graph.Settings.BatchRows, stream.Time(1_760_000_400_000)
	crew, err := newCrew(t.Context(), task, decoders)
	if err != nil || (crew != nil) != (decoders > 1) {
		t.Fatalf("crew %v, %v", crew, err)
	}
	s := task.splits[0]
	if crew != nil {
		defer crew.close()
		s.readAhead(crew)
	}
	var out told
	bad := func(b *result.Bad) error {
		out.bad = append(out.bad, fmt.Sprintf("%s:%d @%d %s: %s: %q", b.Split, b.Line, b.Offset, b.Reason, b.Message, b.Raw))
		return nil
	}
	for {
		if err := task.turn.Begin(); err != nil {
			t.Fatal(err)
		}
		b := task.pool.Get(nil)
		if s.ahead == nil {
			err = s.fill(b, rows, now, bad)
		} else {
			task.pool.Put(b)
			b, err = s.fillAhead(t.Context(), rows, now, bad)
		}
		task.turn.End(0)
		if err != nil {
			out.err = err
			slices.Sort(out.bad)
			out.split = fmt.Sprintf("%d read, %d passed on, from %d to %d, watermark %d, position %d", s.read, s.rows, s.low, s.high, s.out.Last(), s.bytes)
			return out
		}
		if waits := task.spec.reads.(*scripted).waits; s.drained && !waits || !s.drained && b.N == 0 {
			t.Fatalf("all that is there was taken: %v; %d rows, and the reader waits: %v", s.drained, b.N, waits)
		}
		if b.N > rows {
			t.Fatalf("%d rows in a batch, at most %d were asked for", b.N, rows)
		}
		for i := range b.N {
			out.rows = append(out.rows, fmt.Sprintf("%d: time %d wm %d high %d split %d source %d: %q of %s", b.Pos[i],
				b.Time[i], b.WM[i], b.High[i], b.Split[i], b.Source, b.Cols[0].Strs[i].Bytes(b.Blob), b.Raw[i].Bytes(b.Blob)))
		}
		if b.N > 0 && s.ahead != nil {
			// What a checkpoint would note is the place behind the record that was passed on last
			// and those that are bad, however far ahead the split has been read.
			last := s.offsetOf(b, b.N-1) + int64(b.Raw[b.N-1].Len)
			next := s.start + int64(len(b.Blob))
			if s.bytes < last || s.bytes > next {
				t.Fatalf("position %d behind a row that ends at %d of bytes up to %d", s.bytes, last, next)
			}
		}
		task.pool.Put(b)
	}
}

// Whoever decodes, and however the bytes come: the same rows in the same order, with the
// same lines, offsets and watermarks, and the same bad records.
func TestWhatDecodersReadAheadIsWhatATaskReads(t *testing.T) {
	for seed := uint64(1); seed <= 30; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		var files []string
		for range 1 + r.IntN(3) {
			files = append(files, randomFile(r, r.IntN(2000)))
		}
		rows := []int{1, 7, 64, 1024}[r.IntN(4)]
		read := func(decoders int) told {
			return readAll(t, &scripted{files: slices.Clone(files), end: io.EOF, rand: rand.New(rand.NewPCG(seed, uint64(decoders)))}, rows, decoders, nil)
		}
		want, got := read(0), read(2+r.IntN(3))
		if !slices.Equal(got.rows, want.rows) || !slices.Equal(got.bad, want.bad) || got.split != want.split || !errors.Is(got.err, io.EOF) || !errors.Is(want.err, io.EOF) {
			t.Fatalf("seed %d, batches of %d rows: %s\n%s\nin order: %s\n%s", seed, rows, got.split, firstDifference(got, want), want.split, "")
		}
	}
}

func firstDifference(got, want told) string {
	for _, p := range [][2][]string{{got.rows, want.rows}, {got.bad, want.bad}} {
		for i := range max(len(p[0]), len(p[1])) {
			if i >= len(p[0]) || i >= len(p[1]) || p[0][i] != p[1][i] {
				return fmt.Sprintf("%q\nnot %q", p[0][min(i, len(p[0])):min(i+1, len(p[0]))], p[1][min(i, len(p[1])):min(i+1, len(p[1]))])
			}
		}
	}
	return fmt.Sprint(got.err, want.err)
}

// What was read before an error comes out before it.
func TestAnErrorOfTheReaderComesBehindTheRowsBeforeIt(t *testing.T) {
	file := strings.Repeat(`{"ts":1,"k":"a"}`+"\n", 3000)
	broken := errors.New("the disk is gone")
	reads := &scripted{files: []string{file}, end: broken, rand: rand.New(rand.NewPCG(1, 1))}
	got := readAll(t, reads, 64, 2, nil)
	if !errors.Is(got.err, broken) || got.err.Error() != "source in: split in: the disk is gone" {
		t.Errorf("got the error %v", got.err)
	}
	// But for what was read together with the error: at most one chunk.
	if n := len(got.rows); n > 3000 || n < 3000-2*minRead/17 {
		t.Errorf("%d rows", n)
	}
	for i, row := range got.rows {
		if want := fmt.Sprintf("%d: ", i+1); !strings.HasPrefix(row, want) {
			t.Fatalf("row %d is %s", i, row)
		}
	}
}

// A short split whose times make no sense in the declared unit is refused before a row of
// it is passed on, although there are fewer than are looked at otherwise.
func TestDecodersDoNotOutrunTheLookAtTheFirstTimes(t *testing.T) {
	for _, decoders := range []int{0, 2} {
		reads := &scripted{files: []string{strings.Repeat(`{"ts":1760000400,"k":"a"}`+"\n", plausibleRows-1)}, end: io.EOF, whole: true}
		task := sourceOf(t, reads, 64, nil)
		s := task.splits[0]
		s.judged = false
		if got := readOn(t, task, decoders); len(got.rows) > 0 || !errors.Is(got.err, timestamp.ErrUnit) {
			t.Errorf("%d decoders: %d rows, then %v", decoders, len(got.rows), got.err)
		}
	}
}

// A split is not read ahead without bound: neither in chunks, nor, where records are long,
// in bytes.
func TestReadingAheadIsBounded(t *testing.T) {
	for _, c := range []struct {
		name           string
		line           string
		maxRecord      int
		decoders, most int // bytes
	}{
		{"short records", `{"ts":1,"k":"a"}` + "\n", 90, 2, (2*chunksEach + 1) * 2 * minRead},
		// A chunk is one of them, and what is left of a read is less than one.
		{"long records", `{"ts":1,"k":"` + strings.Repeat("x", 3<<20) + "\"}\n", 4 << 20, 4, maxChunkBytes + 2*(3<<20+20)},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := &scripted{files: []string{strings.Repeat(c.line, max(14, 4000*17/len(c.line)))}, end: io.EOF, whole: true}
			task := sourceOf(t, reads, 64, nil)
			task.spec.Format.MaxRecord = c.maxRecord
			s := task.splits[0]
			if err := s.anew(); err != nil { // with the other limit
				t.Fatal(err)
			}
			crew, err := newCrew(t.Context(), task, c.decoders)
			if err != nil {
				t.Fatal(err)
			}
			defer crew.close()
			s.readAhead(crew)
			for {
				b, err := s.fillAhead(t.Context(), 64, 0, func(b *result.Bad) error { return errors.New(b.Message) })
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				task.pool.Put(b)
				if ahead := reads.read - int(s.bytes); ahead > c.most {
					t.Fatalf("%d bytes were read ahead, at most %d are expected", ahead, c.most)
				}
			}
		})
	}
}

// counting is a host that counts turns, and how many hold one.
type counting struct {
	mu          sync.Mutex
	given, held int
}

func (c *counting) Acquire(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given++
	c.held++
	return ctx.Err()
}

func (c *counting) Yield(context.Context, time.Duration, int64) error { return nil }

func (c *counting) Release(time.Duration, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held--
}

// What decoders use is charged: they hold a turn for each chunk.
func TestDecodersHoldTurns(t *testing.T) {
	file := strings.Repeat(`{"ts":1,"k":"a"}`+"\n", 3000)
	given := func(decoders int) int {
		c := &counting{}
		reads := &scripted{files: []string{file}, end: io.EOF, rand: rand.New(rand.NewPCG(1, 1))}
		if got := readAll(t, reads, 64, decoders, c); len(got.rows) != 3000 {
			t.Errorf("%d rows", len(got.rows))
		}
		if c.held != 0 {
			t.Errorf("%d hold a turn at the end", c.held)
		}
		return c.given
	}
	// Each batch is a turn of the task's; beside it stands one of a decoder for nearly each
	// chunk, which is a batch or more.
	alone, shared := given(0), given(2)
	if shared < alone+8 {
		t.Errorf("%d turns with decoders, %d without", shared, alone)
	}
}

// A crew that is closed has ended, also in the middle of its work.
func TestACrewEnds(t *testing.T) {
	reads := &scripted{files: []string{strings.Repeat(`{"ts":1,"k":"a"}`+"\n", 100_000)}, end: io.EOF, rand: rand.New(rand.NewPCG(1, 1))}
	task := sourceOf(t, reads, 64, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	crew, err := newCrew(ctx, task, 4)
	if err != nil {
		t.Fatal(err)
	}
	s := task.splits[0]
	s.readAhead(crew)
	for err == nil {
		if s.read > 1000 {
			cancel()
		}
		var b *stream.Batch
		if b, err = s.fillAhead(ctx, 64, 0, nil); err == nil {
			task.pool.Put(b)
		}
	}
	if err != context.Canceled {
		t.Errorf("got %v", err)
	}
	crew.close() // waits for all decoders, and hangs if one does not end
}
