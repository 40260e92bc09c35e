package window

import (
	"tidemark/engine/breaker"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Guard has an operator do without plug-ins that keep failing (on_error: disable_plugin):
// what would need a disabled one is set aside as if its call had failed, without a call.
type Guard struct {
	Breaker *breaker.Breaker
	Groups  int      // key groups, the parts that failures are counted in
	Adds    []string // plug-ins that a record needs
	Fires   []string // those that a firing needs
	Trigger string   // the one that decides when; its timers go to the default trigger
}

// bars returns why the key with a hash meets a disabled plug-in, nil if it does not.
func (g *Guard) bars(hash uint64, plugins ...string) *udf.Failure {
	if g == nil || !g.Breaker.Any() {
		return nil
	}
	return g.Breaker.Bars(stream.KeyGroup(hash, g.Groups), plugins...)
}

// barsRecord is bars for a record.
func (g *Guard) barsRecord(hash uint64) *udf.Failure {
	if g == nil {
		return nil
	}
	return g.bars(hash, g.Adds...)
}

// barsFiring is bars for a pane.
func (g *Guard) barsFiring(hash uint64) *udf.Failure {
	if g == nil {
		return nil
	}
	return g.bars(hash, g.Fires...)
}

// barsTrigger is bars for what the trigger is asked about a key.
func (g *Guard) barsTrigger(hash uint64) *udf.Failure {
	if g == nil {
		return nil
	}
	return g.bars(hash, g.Trigger)
}

// counting is an Output that tells the breaker what is set aside.
type counting struct {
	Output
	o *contents
	g *Guard
}

// Refused counts a record at its own time.
func (c counting) Refused(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error {
	c.g.Breaker.Failed(stream.KeyGroup(b.Hash[i], c.g.Groups), b.Time[i], f)
	return c.Output.Refused(b, i, w, f)
}

// RefusedPane counts a firing, or a merge, at the watermark that it sees.
func (c counting) RefusedPane(key []byte, w stream.Window, f *udf.Failure) error {
	at := c.o.seen()
	if c.o.refusing != nil {
		at = c.o.refusing.wm
	}
	c.g.Breaker.Failed(stream.KeyGroup(stream.KeyHash(key), c.g.Groups), at, f)
	return c.Output.RefusedPane(key, w, f)
}

// admit sets those records of a segment aside that need a disabled plug-in, and returns
// the others.
func (o *contents) admit(s *segment) (*segment, error) {
	if o.guard == nil || !o.guard.Breaker.Any() {
		return s, nil
	}
	rest := &segment{batch: s.batch}
	for lo := 0; lo < len(s.rows); {
		row := int(s.rows[lo])
		hi := lo + 1
		for hi < len(s.rows) && s.rows[hi] == s.rows[lo] { // in several windows
			hi++
		}
		if f := o.guard.barsRecord(s.batch.Hash[row]); f != nil {
			if err := o.condemn(s.slice(lo, hi), f); err != nil {
				return nil, err
			}
		} else {
			for i := lo; i < hi; i++ {
				rest.add(s.rows[i], s.cells[s.group[i]])
			}
		}
		lo = hi
	}
	return rest, nil
}

// admitPanes is admit for firings.
func (o *contents) admitPanes(cells []cell) ([]cell, error) {
	if o.guard == nil || !o.guard.Breaker.Any() {
		return cells, nil
	}
	rest := make([]cell, 0, len(cells))
	for _, c := range cells {
		f := o.guard.barsFiring(stream.KeyHash(c.key()))
		if f == nil {
			rest = append(rest, c)
			continue
		}
		if err := o.refusePane(c, f); err != nil {
			return nil, err
		}
	}
	return rest, nil
}
