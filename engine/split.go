package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tidemark/engine/decode"
	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/source"
	"tidemark/engine/stream"
	"tidemark/engine/timestamp"
	"tidemark/engine/watermark"
)

// What a split reads at once: near the size of a batch's records, so that few bytes
// are carried over to the next batch.
const (
	minRead       = 4 << 10
	maxRead       = 1 << 20
	plausibleRows = 10 // first values that must make sense in the declared unit
)

// split reads one split: bytes, records, event time, watermark. Its methods are
// called by the source task that owns it.
type split struct {
	id     stream.SplitID
	name   string // shown
	source *sourceSpec

	reader  source.Reader
	decoder decode.Decoder
	decoded decoded
	ahead   *ahead      // nil: what is read is decoded at once
	rest    []byte      // bytes read and not yet decoded
	head    []byte      // the first bytes of the file, at most headBytes of them
	mark    decode.Mark // with a crew: what it begins behind
	ended   bool        // the reader has no more bytes
	restart bool        // the next bytes are another file's: see source.ErrRestart
	drained bool        // the batch that was read last has all that was there

	guard   timestamp.Guard
	arrival stream.Time // of bounded files; MinTime: see arrivalOf
	first   []stream.Time
	judged  bool // the first values were found plausible

	bounded      watermark.Bounded   // the generator where gen is nil
	gen          watermark.Generator // see newGenerator
	marker       *markerTest         // of the task; nil: no markers
	spoken       []marker            // in the batch that was read last, for all splits of the source
	out          watermark.Output
	idle         *watermark.Idleness // nil: never idle
	low, high    stream.Time
	since        int         // records since the watermark stepped (emit: every n)
	told         stream.Time // watermark that the combiner knows; by arrival only
	done         bool        // ended; by arrival only
	read, rows   int64
	start, bytes int64 // of the split: decoded before the current batch, and with it

	// The batch that rows are taken from in an ordered replay, and the next row.
	batch *stream.Batch
	at    int
	pos   int64    // behind the last row that was taken
	keep  []uint32 // of the batch in work: rows that are passed on
}

// sourceSpec is what all tasks of a source share. It does not change.
type sourceSpec struct {
	*job.Source
	id       stream.SourceID
	reads    source.Source
	fields   []job.Field // the projection: schema, then what only time is made of
	kinds    []stream.Kind
	timeCol  int                 // a token; -1: ingestion time
	arrCol   int                 // a token; -1: none
	delayCol int                 // int64; -1: none
	assigner *timestamp.Assigner // nil: ingestion time
	arrivals *timestamp.Assigner
	guard    timestamp.Guard
}

// newSourceSpec plans the reading of a source.
func newSourceSpec(src *job.Source, id stream.SourceID, reads source.Source) (*sourceSpec, error) {
	s := &sourceSpec{Source: src, id: id, reads: reads, timeCol: -1, arrCol: -1, delayCol: -1, guard: timestamp.NewGuard(src.Time)}
	s.fields = slices.Clone(src.Schema)
	add := func(name string, path []string, kind stream.Kind) (col int) {
		s.fields = append(s.fields, job.Field{Name: name, Path: path, Kind: kind})
		return len(s.fields) - 1
	}
	if src.Watermark.Kind != job.IngestionWatermark {
		s.timeCol = add("time", src.Time.Path, stream.Token)
		var err error
		if s.assigner, err = timestamp.New(src.Time); err != nil {
			return nil, fmt.Errorf("source %s: %w", src.ID, err)
		}
		s.arrivals = s.assigner // in the unit of the time itself
	}
	if len(src.Time.Arrival) > 0 {
		s.arrCol = add("arrival", src.Time.Arrival, stream.Token)
	}
	if path := src.Watermark.DelayField; src.Watermark.Kind == job.DelayWatermark {
		s.delayCol = slices.IndexFunc(src.Schema, func(f job.Field) bool { return f.Kind == stream.Int64 && slices.Equal(f.Path, path) })
		if s.delayCol < 0 {
			s.delayCol = add("delay", path, stream.Int64)
		}
	}
	for _, f := range s.fields {
		s.kinds = append(s.kinds, f.Kind)
	}
	return s, nil
}

// columns are the fields that others see: the schema.
func (s *sourceSpec) columns() []stream.Field {
	fields := make([]stream.Field, len(s.Schema))
	for i, f := range s.Schema {
		fields[i] = stream.Field{Name: f.Name, Kind: f.Kind}
	}
	return fields
}

// open starts reading a split.
func (s *sourceSpec) open(ctx context.Context, id stream.SplitID, from source.Split, firstStart stream.Time) (*split, error) {
	sp := s.split(id, from.ID)
	sp.arrive(&from, firstStart)
	var err error
	if sp.reader, err = s.reads.Open(ctx, from, 0); err != nil {
		return nil, fmt.Errorf("source %s: %w", s.ID, err)
	}
	return sp, sp.anew()
}

// split makes a split of which nothing has been read.
func (s *sourceSpec) split(id stream.SplitID, name string) *split {
	sp := &split{id: id, name: name, source: s, guard: s.guard,
		bounded: watermark.NewBounded(stream.Time(s.Watermark.OutOfOrderness.Milliseconds())), gen: newGenerator(&s.Watermark), out: watermark.NewOutput(),
		low: stream.MaxTime, high: stream.MinTime, told: stream.MinTime, arrival: stream.MinTime, judged: !s.Time.Plausible || s.assigner == nil}
	if s.Watermark.IdleTimeout > 0 {
		sp.idle = &watermark.Idleness{Timeout: stream.Time(s.Watermark.IdleTimeout.Milliseconds())}
	}
	return sp
}

// arrive sets when the records of a bounded file have come.
func (s *split) arrive(from *source.Split, firstStart stream.Time) {
	if s.source.Bounded() && from.Path != source.Stdin {
		s.arrival = max(from.ModTime, firstStart)
	}
}

// anew begins with the first byte of a file.
func (s *split) anew() (err error) {
	s.restart, s.start, s.bytes = false, 0, 0
	if s.decoder, err = decode.New(s.source.Format, s.source.fields); err != nil {
		return fmt.Errorf("source %s: %w", s.source.ID, err)
	}
	return nil
}

// fill reads and decodes the next batch of at most rows rows into b. With nothing
// there now, b stays empty; err is io.EOF after the last batch.
func (s *split) fill(b *stream.Batch, rows int, now stream.Time, bad func(*result.Bad) error) error {
	b.Reset(s.source.kinds)
	b.Source = s.source.id
	b.Blob = append(b.Blob, s.rest...)
	s.rest = s.rest[:0]
	want := s.want(rows)
	for b.N == 0 {
		waiting, err := s.more(b, want)
		if err != nil {
			return s.failed(err)
		}
		end := len(b.Blob)
		n, err := s.decoder.Decode(b, 0, s.ended || s.restart, rows)
		if err != nil {
			return s.failed(err)
		}
		s.rest = append(s.rest[:0], b.Blob[n:end]...)
		d := &s.decoded
		d.batch, d.bytes, d.bad = b, n, s.decoder.TakeBad()
		s.drained = waiting && b.N < rows && len(d.bad) == 0 // else there may be whole records in the rest
		if err := s.source.times(d); err != nil {
			return s.failed(err)
		}
		if err := s.pass(d, 0, s.ended && len(s.rest) == 0, now, bad); err != nil {
			return err
		}
		if s.restart && len(s.rest) == 0 {
			if err := s.anew(); err != nil {
				return err
			}
		}
		switch {
		case b.N > 0:
			return nil
		case s.ended && len(s.rest) == 0:
			if !s.judged {
				if err := s.plausible(now); err != nil {
					return err
				}
			}
			return io.EOF
		case waiting && n == 0:
			return nil
		case n == 0: // a record longer than what was read
			want = len(s.rest) + max(len(s.rest), minRead)
		}
		b.Reset(s.source.kinds) // all that was decoded was bad: go on with the rest
		b.Source = s.source.id
		b.Blob = append(b.Blob, s.rest...)
	}
	return nil
}

// pass takes what was decoded next: it reports what is bad, and leaves a batch that can be
// sent of the rest. Lines are counted from behind the given one. last says that nothing
// comes behind it.
func (s *split) pass(d *decoded, line int64, last bool, now stream.Time, bad func(*result.Bad) error) error {
	s.start, s.bytes = s.bytes, s.bytes+int64(d.bytes)
	for _, r := range d.bad {
		s.read++
		if err := bad(&result.Bad{Source: s.source.ID, Split: s.name, Line: line + r.Line, Offset: r.Offset, Reason: string(r.Reason), Message: r.Message, Raw: r.Raw}); err != nil {
			return err
		}
	}
	b := d.batch
	if b.N == 0 {
		return nil
	}
	if line > 0 {
		for i := range b.Pos {
			b.Pos[i] += line
		}
	}
	if err := s.assign(b, d.untimed, last, now, bad); err != nil {
		s.read -= int64(len(s.keep)) // they were not passed on
		return err
	}
	s.rows += int64(b.N)
	return nil
}

// want is how many bytes to ask for: the average record times the rows of a batch.
func (s *split) want(rows int) int {
	if s.read == 0 || s.bytes == 0 {
		return min(max(rows*128, minRead), maxRead)
	}
	return min(max(int((s.bytes/s.read+1)*int64(rows+rows/64+1)), minRead), maxRead)
}

// verify says what is wrong with the bytes of the split, where its reader can tell.
func (s *split) verify(ctx context.Context) error {
	v, ok := s.reader.(source.Verifier)
	if !ok {
		return nil
	}
	if err := v.Verify(ctx); err != nil {
		return fmt.Errorf("source %s: split %s: %w", s.source.ID, s.name, err)
	}
	return nil
}

// more reads until b has want bytes that are not decoded, or there are no more now.
func (s *split) more(b *stream.Batch, want int) (waiting bool, err error) {
	for !s.ended && !s.restart && len(b.Blob) < want {
		n := len(b.Blob)
		b.Blob = slices.Grow(b.Blob, want-n)
		got, err := s.reader.Read(b.Blob[n:want])
		b.Blob = b.Blob[:n+got]
		if room := headBytes - len(s.head); room > 0 {
			s.head = append(s.head, b.Blob[n:n+min(got, room)]...)
		}
		switch {
		case errors.Is(err, io.EOF):
			s.ended = true
		case errors.Is(err, source.ErrRestart):
			s.restart, s.head = true, nil
		case errors.Is(err, source.ErrWait):
			return true, nil
		case err != nil:
			return false, err
		}
	}
	return false, nil
}

// assign gives each row the watermark that precedes it, and drops the rows without a
// usable time.
func (s *split) assign(b *stream.Batch, untimed []untimed, last bool, now stream.Time, bad func(*result.Bad) error) error {
	s.keep, s.spoken = s.keep[:0], s.spoken[:0]
	if s.marker != nil {
		if err := s.marker.look(b); err != nil {
			return fmt.Errorf("source %s: %w", s.source.ID, err)
		}
	}
	defer func() {
		b.Cols = b.Cols[:len(s.source.Schema)] // what only time is made of has served
		if s.idle != nil && b.N > 0 {
			s.idle.Event()
		}
	}()
	if g, ok := s.gen.(*watermark.Ingestion); ok {
		s.stamp(b, g, now)
		return nil
	}
	user, _ := s.gen.(*userTime) // it sees the rows that are left, all at once
	times := b.Time
	b.Time = b.Time[:0] // those of the rows that are left, in place
	for i, ts := range times {
		if len(untimed) > 0 && untimed[0].row == i {
			e := untimed[0].err
			untimed = untimed[1:]
			s.read++
			if err := bad(s.bad(b, i, string(e.Reason), e.Message)); err != nil {
				return err
			}
			continue
		}
		if !s.judged { // before the guard: in a wrong unit every record is far ahead
			if err := s.judge(ts, now); err != nil {
				return err
			}
		}
		if reason, ahead, ok := s.guard.Check(ts, s.arrivalOf(b, i, now), s.high); !ok {
			r := s.bad(b, i, string(reason), fmt.Sprintf("event time is %d ms ahead of %s", ahead, map[timestamp.Reason]string{timestamp.Future: "the record's arrival (max_future)", timestamp.Jump: "the highest time so far (max_jump)"}[reason]))
			s.read++
			r.Quarantined, r.Time, r.AheadBy = true, ts, ahead
			if err := bad(r); err != nil {
				return err
			}
			continue
		}
		if user == nil {
			b.WM = append(b.WM, s.out.Last())
			s.step(b, i, ts)
		} else {
			s.low, s.high = min(s.low, ts), max(s.high, ts)
		}
		b.Time = append(b.Time, ts)
		b.High = append(b.High, s.high)
		b.Split = append(b.Split, s.id)
		s.keep = append(s.keep, uint32(i))
		s.read++
	}
	if len(s.keep) < len(times) {
		b.Keep(s.keep)
	}
	if user != nil {
		if err := user.look(b); err != nil {
			return s.userTimeError(err, b)
		}
		for i, ts := range b.Time {
			b.WM = append(b.WM, s.out.Last())
			s.step(b, i, ts)
		}
	}
	if !s.judged && last { // a short split: judge what there is
		if err := s.plausible(now); err != nil {
			return err
		}
	}
	return nil
}

// judge collects the first times and refuses the source if they make no sense in the
// declared unit.
func (s *split) judge(ts, now stream.Time) error {
	s.first = append(s.first, ts)
	s.judged = len(s.first) == plausibleRows
	if !s.judged {
		return nil
	}
	return s.plausible(now)
}

func (s *split) plausible(now stream.Time) error {
	if err := s.source.assigner.Plausible(s.first, now); err != nil {
		return fmt.Errorf("source %s: split %s: %w", s.source.ID, s.name, err)
	}
	return nil
}

// arrivalOf is when a row came: its own field, else that of its file, else now.
func (s *split) arrivalOf(b *stream.Batch, i int, now stream.Time) stream.Time {
	if c := s.source.arrCol; c >= 0 {
		if t, err := s.source.arrivals.Parse(b.Cols[c].Strs[i].Bytes(b.Blob)); err == nil {
			return t
		}
	}
	if s.arrival != stream.MinTime {
		return s.arrival
	}
	return now
}

func (s *split) bad(b *stream.Batch, i int, reason, message string) *result.Bad {
	return &result.Bad{Source: s.source.ID, Split: s.name, Line: b.Pos[i], Offset: s.offsetOf(b, i), Reason: reason, Message: message, Raw: b.Raw[i].Bytes(b.Blob)}
}

// offsetOf is the place of a row in the split: the blob begins with the first byte
// that was not decoded before, and holds the raw bytes as they were read.
func (s *split) offsetOf(b *stream.Batch, i int) int64 {
	return s.start + int64(b.Raw[i].Off)
}

func (s *split) close() error {
	if s.reader == nil { // it had ended before a restore
		return nil
	}
	return s.reader.Close()
}
