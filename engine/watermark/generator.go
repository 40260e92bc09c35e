package watermark

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// Generator makes the watermarks of one split. It sees every record, in order, and has
// an opinion at any time; when that becomes the split's watermark is not its business:
// an Output takes Current after each record or at probes (S5), and never lets it fall (S6).
// The record goes downstream before the watermark that it causes.
type Generator interface {
	// Record takes a record. Called per record.
	Record(r Record)
	// Current is the watermark as of now, MIN before there is one (S7).
	Current() stream.Time
	// Snapshot writes the state, Restore takes it into a new generator of the same
	// settings; then all goes on as if nothing had happened (S105).
	Snapshot(w *state.Writer)
	Restore(r *state.Reader)
}

// Clocked is a generator whose watermark also moves with processing time. Clock is
// called at probes, with a clock that may stand still but counts for all splits alike.
type Clocked interface {
	Clock(now stream.Time)
}

// Heartbeats is a generator that other splits may speak for: a marker that is meant for
// all splits of the source is told to the generators of the others by Heartbeat. A
// split that is spoken for is not quiet: the caller tells its Idleness too.
type Heartbeats interface {
	Heartbeat(t stream.Time)
}

// Record is what generators look at. What a generator does not use need not be set.
type Record struct {
	Time   stream.Time
	Marker bool        // the source's marker condition holds
	Delay  stream.Time // how much may still come behind this record, in ms; below 0: the record does not say
}

// Bounded is the generator for bounded out-of-orderness (S3): the watermark is the
// highest time seen less the bound less 1 ms. Make it with NewBounded.
type Bounded struct {
	bound stream.Time
	max   stream.Time
}

// NewBounded starts at MIN (S7). bound is in ms and at least 0.
func NewBounded(bound stream.Time) Bounded {
	return Bounded{bound: bound, max: noneSeen(bound)}
}

// noneSeen is a maximum whose watermark is exactly MIN, without underflow.
func noneSeen(bound stream.Time) stream.Time { return stream.MinTime.Add(bound).Add(1) }

// Event takes a record's timestamp; lower ones never lower the maximum (S5).
func (b *Bounded) Event(ts stream.Time) { b.max = max(b.max, ts) }

// Record takes a record.
func (b *Bounded) Record(r Record) { b.Event(r.Time) }

// Current is the watermark as of now.
func (b *Bounded) Current() stream.Time { return b.max - b.bound - 1 }

// Snapshot writes the maximum; the bound is a setting, and may be another after a restore.
func (b *Bounded) Snapshot(w *state.Writer) { w.I64(int64(b.max)) }

// Restore takes the state of a Snapshot.
func (b *Bounded) Restore(r *state.Reader) { b.max = max(stream.Time(r.I64()), noneSeen(b.bound)) }

// Ascending is the generator for times that do not fall (S4): a bound of 0. It counts
// the records that fall behind all the same. Make it with NewAscending.
type Ascending struct {
	Bounded
	regressions int64
}

// NewAscending starts at MIN.
func NewAscending() *Ascending { return &Ascending{Bounded: NewBounded(0)} }

// Record takes a record.
func (a *Ascending) Record(r Record) {
	if r.Time < a.max {
		a.regressions++
	}
	a.Event(r.Time)
}

// Regressions counts the records whose time was below that of an earlier one.
func (a *Ascending) Regressions() int64 { return a.regressions }

// Snapshot writes maximum and count.
func (a *Ascending) Snapshot(w *state.Writer) {
	a.Bounded.Snapshot(w)
	w.I64(a.regressions)
}

// Restore takes the state of a Snapshot.
func (a *Ascending) Restore(r *state.Reader) {
	a.Bounded.Restore(r)
	a.regressions = r.I64()
}

// Punctuated is the generator for streams that carry their own watermarks: the time of
// a marker is the watermark, and other records move nothing. Make it with NewPunctuated.
type Punctuated struct{ wm stream.Time }

// NewPunctuated starts at MIN.
func NewPunctuated() *Punctuated { return &Punctuated{stream.MinTime} }

// Record takes a record.
func (p *Punctuated) Record(r Record) {
	if r.Marker {
		p.Heartbeat(r.Time)
	}
}

// Heartbeat takes the time of a marker, of this split or of one that speaks for it. One
// that is lower than an earlier one moves nothing.
func (p *Punctuated) Heartbeat(t stream.Time) { p.wm = max(p.wm, t) }

// Current is the watermark as of now.
func (p *Punctuated) Current() stream.Time { return p.wm }

// Snapshot writes the watermark.
func (p *Punctuated) Snapshot(w *state.Writer) { w.I64(int64(p.wm)) }

// Restore takes the state of a Snapshot.
func (p *Punctuated) Restore(r *state.Reader) { p.wm = stream.Time(r.I64()) }

// Delayed is the generator for records that say themselves how far behind others may
// be, as an upstream buffer knows its own delay: each one allows the watermark its time
// less its delay less 1 ms, and the highest of these counts. A record that does not say
// moves nothing. Make it with NewDelayed.
type Delayed struct{ wm stream.Time }

// NewDelayed starts at MIN.
func NewDelayed() *Delayed { return &Delayed{stream.MinTime} }

// Record takes a record.
func (d *Delayed) Record(r Record) {
	if r.Delay >= 0 {
		d.wm = max(d.wm, r.Time.Sub(r.Delay).Sub(1))
	}
}

// Current is the watermark as of now.
func (d *Delayed) Current() stream.Time { return d.wm }

// Snapshot writes the watermark.
func (d *Delayed) Snapshot(w *state.Writer) { w.I64(int64(d.wm)) }

// Restore takes the state of a Snapshot.
func (d *Delayed) Restore(r *state.Reader) { d.wm = stream.Time(r.I64()) }

// Ingestion is the time mode in which a record happens when it is read: it gives records
// their times, which never fall, and knows that all later ones are not before now. So
// time goes on without records too. Make it with NewIngestion.
type Ingestion struct{ last stream.Time }

// NewIngestion starts at MIN.
func NewIngestion() *Ingestion { return &Ingestion{noneSeen(0)} }

// Stamp returns the event time of a record that is read at processing time now. A clock
// that is set back does not take event time with it.
func (g *Ingestion) Stamp(now stream.Time) stream.Time {
	g.Clock(now)
	return g.last
}

// Clock takes processing time.
func (g *Ingestion) Clock(now stream.Time) { g.last = max(g.last, now) }

// Record does nothing: Stamp has seen the record.
func (g *Ingestion) Record(Record) {}

// Current is the watermark as of now: a record may still come in the same millisecond.
func (g *Ingestion) Current() stream.Time { return g.last - 1 }

// Snapshot writes the highest time.
func (g *Ingestion) Snapshot(w *state.Writer) { w.I64(int64(g.last)) }

// Restore takes the state of a Snapshot.
func (g *Ingestion) Restore(r *state.Reader) { g.last = max(stream.Time(r.I64()), noneSeen(0)) }

// Every lets another generator's watermark step at every n-th record only (T4). Make it
// with NewEvery.
type Every struct {
	gen   Generator
	n     int
	since int         // records since the last step
	wm    stream.Time // as of then
}

// NewEvery wraps gen; n is at least 1.
func NewEvery(gen Generator, n int) *Every { return &Every{gen: gen, n: n, wm: gen.Current()} }

// Record takes a record.
func (e *Every) Record(r Record) {
	e.gen.Record(r)
	if e.since++; e.since >= e.n {
		e.since, e.wm = 0, e.gen.Current()
	}
}

// Current is the watermark as of the last step.
func (e *Every) Current() stream.Time { return e.wm }

// Snapshot writes the phase and the other generator's state.
func (e *Every) Snapshot(w *state.Writer) {
	e.gen.Snapshot(w)
	w.U64(uint64(e.since))
	w.I64(int64(e.wm))
}

// Restore takes the state of a Snapshot.
func (e *Every) Restore(r *state.Reader) {
	e.gen.Restore(r)
	e.since, e.wm = int(r.U64()), stream.Time(r.I64())
}

var (
	_ Generator  = (*Bounded)(nil)
	_ Generator  = (*Ascending)(nil)
	_ Generator  = (*Punctuated)(nil)
	_ Generator  = (*Delayed)(nil)
	_ Generator  = (*Ingestion)(nil)
	_ Generator  = (*Every)(nil)
	_ Heartbeats = (*Punctuated)(nil)
	_ Clocked    = (*Ingestion)(nil)
)
