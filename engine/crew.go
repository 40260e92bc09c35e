package engine

import (
	"context"
	"errors"
	"sync"

	"tidemark/engine/decode"
	"tidemark/engine/stream"
	"tidemark/engine/timestamp"
)

// Decoding is most of a source task's work, and what it makes of a record depends on
// nothing but the record. A source of a job with parallelism therefore has a crew of
// decoders beside its task. What depends on order stays with the task:
//
//	task: read, cut at line ends ─> chunks ─> decoders ─> task, in order of the chunks:
//	      split_ahead.go                      here         watermark, route
//
// A position is what was passed on. Chunks that are ahead of it are read again after a
// restore, like those that a queue holds.

// Limits of what a crew has in hand: chunks that were read and not yet passed on. A chunk
// is near the size of a batch, so the first counts where records are short; rows then take
// about as much memory again as the bytes that they are of.
const (
	maxChunks     = 256
	maxChunkBytes = 8 << 20
	chunksEach    = 2 // for each decoder: one in work and one that waits
)

// crew decodes chunks of the splits of one source task. The task's goroutine uses it;
// the decoders have a goroutine and a turn each, for each chunk: what they use is charged
// to the job like the work of any task, and a host that grants one turn at a time has them
// wait for each other and for the task.
type crew struct {
	task   *sourceTask
	size   int
	splits int // that are not read to their end
	chunks int // in hand
	bytes  int // of them
	free   []*chunk

	work   chan *chunk // never full: room for maxChunks
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// chunk is a run of whole records of a split, on the way to becoming batches. It has one
// owner at a time: the task, or a decoder between give and done.
type chunk struct {
	offset int64 // of its first byte in the split; 0: a file begins
	within bool  // it begins within a record that was too long
	final  bool  // the file ends with it
	last   bool  // and so does the split
	bytes  *stream.Batch
	raw    []byte // of it, until the first of what becomes of it is passed on
	size   int

	// What became of it: batches in order, whose lines are counted from its first one.
	batches []decoded
	lines   int64
	err     error
	done    chan struct{} // has a value when a decoder is done with it
}

// decoded is a batch as it comes from a decoder, with the event time of each row.
type decoded struct {
	batch   *stream.Batch
	bytes   int // of the split that it is made of
	bad     []decode.Bad
	untimed []untimed
	behind  decode.Mark // the place in the split, of a chunk: its lines are counted from the chunk's first
}

// untimed is a row whose time cannot be read.
type untimed struct {
	row int
	err *timestamp.Error
}

// times reads the event time of each row of a batch into its Time. A row without one has
// none to rely on there, and an entry in untimed.
func (s *sourceSpec) times(d *decoded) error {
	d.untimed = d.untimed[:0]
	if s.timeCol < 0 {
		return nil
	}
	b := d.batch
	for i, token := range b.Cols[s.timeCol].Strs {
		t, err := s.assigner.Parse(token.Bytes(b.Blob))
		if err != nil {
			var e *timestamp.Error
			if !errors.As(err, &e) {
				return err
			}
			d.untimed = append(d.untimed, untimed{i, e})
		}
		b.Time = append(b.Time, t)
	}
	return nil
}

// newCrew starts so many decoders for a task, until ctx ends or the crew is closed; nil: one
// alone would be no help, or the format does not let several share a split.
func newCrew(ctx context.Context, t *sourceTask, size int) (*crew, error) {
	if size < 2 {
		return nil, nil
	}
	c := &crew{task: t, size: size, work: make(chan *chunk, maxChunks)}
	decoders := make([]decode.Lines, size)
	for i := range decoders {
		d, err := decode.New(t.spec.Format, t.spec.fields)
		if err != nil {
			return nil, err
		}
		lines, ok := d.(decode.Lines)
		if !ok {
			return nil, nil
		}
		decoders[i] = lines
	}
	ctx, c.cancel = context.WithCancel(ctx)
	for i, d := range decoders {
		turn := t.job.newTurn(ctx)
		c.wg.Go(func() {
			t.job.labelled(ctx, decoding, t.spec.ID, t.index*size+i, func(ctx context.Context) { c.run(ctx, turn, d) })
		})
	}
	return c, nil
}

// close ends the decoders. Chunks that they have not begun with stay undone.
func (c *crew) close() {
	c.cancel()
	close(c.work)
	c.wg.Wait()
}

// run decodes chunks, each inside a turn (K5).
func (c *crew) run(ctx context.Context, turn *turn, d decode.Lines) {
	turn.ctx = ctx
	for ch := range c.work {
		if ch.err = ctx.Err(); ch.err == nil {
			ch.err = turn.Begin()
		}
		if ch.err == nil {
			ch.err = ch.decode(c.task, d)
			turn.End(0)
		}
		ch.done <- struct{}{}
	}
}

// decode turns a chunk into batches of at most so many rows as the job says.
func (ch *chunk) decode(t *sourceTask, d decode.Lines) error {
	d.Resume(ch.offset, 1, ch.within)
	for b := ch.bytes; ; {
		end := len(b.Blob)
		n, err := d.Decode(b, 0, ch.final, t.job.graph.Settings.BatchRows)
		if err != nil {
			return err
		}
		var into decoded
		if k := len(ch.batches); k < cap(ch.batches) { // with the memory of an earlier chunk
			into = ch.batches[:k+1][k]
		}
		into.batch, into.bytes, into.bad, into.behind = b, n, d.TakeBad(), d.Mark()
		err = t.spec.times(&into)
		ch.batches = append(ch.batches, into)
		if err != nil {
			return err
		}
		if n == end {
			ch.lines = d.Mark().Line - 1
			return nil
		}
		if n == 0 {
			panic("BUG: a chunk has less than a record")
		}
		rest := t.pool.Get(nil)
		rest.Reset(t.spec.kinds)
		rest.Source = t.spec.id
		rest.Blob = append(rest.Blob, b.Blob[n:end]...)
		b = rest
	}
}

// room reports whether a split that has so many chunks in hand may have one more: there is
// work for all decoders then, and splits have equal parts of it.
func (c *crew) room(have int) bool {
	return have < max(1, chunksEach*c.size/max(1, c.splits)) && c.chunks < maxChunks && c.bytes < maxChunkBytes
}

// chunk returns an empty chunk.
func (c *crew) chunk() *chunk {
	if n := len(c.free); n > 0 {
		ch := c.free[n-1]
		c.free = c.free[:n-1]
		return ch
	}
	return &chunk{done: make(chan struct{}, 1)}
}

// put takes back a chunk whose batches have been passed on.
func (c *crew) put(ch *chunk) {
	for i := range ch.batches { // keeps nothing but memory for the next
		ch.batches[i] = decoded{untimed: ch.batches[i].untimed[:0]}
	}
	*ch = chunk{batches: ch.batches[:0], done: ch.done}
	c.free = append(c.free, ch)
}

// give hands a chunk to the decoders.
func (c *crew) give(ch *chunk) {
	c.chunks++
	c.bytes += ch.size
	c.work <- ch
}

// take waits until a chunk that was given is done, without a turn.
func (c *crew) take(ctx context.Context, ch *chunk) error {
	select {
	case <-ch.done:
	default:
		err := c.task.turn.rest(func() error {
			select {
			case <-ch.done:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil {
			return err
		}
	}
	c.chunks--
	c.bytes -= ch.size
	return ch.err
}
