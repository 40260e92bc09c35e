package checkpoint

import (
	"context"
	"math"
	"slices"

	"tidemark/internal/fault"
)

// Retain removes what is no longer needed: checkpoints but for the newest n (at least 1),
// savepoints never; claims but for those that count; and data files that no checkpoint
// names, such as those of an attempt that a crash ended. Called after Claim, so that a
// full disk gets its room back, and after each Publish. ErrFenced, and nothing has been
// removed, if this start has been replaced.
func (l *Log) Retain(ctx context.Context, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refreshAsOwner(ctx); err != nil {
		return err
	}
	return l.remove(ctx, superseded(l.known, max(1, n)))
}

// Delete removes one checkpoint, a savepoint, say; not the newest entry of the log, which
// marks its end. fault.ErrUnknown if there is none. ErrFenced as Retain's.
func (l *Log) Delete(ctx context.Context, id uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refreshAsOwner(ctx); err != nil {
		return err
	}
	number := uint64(0)
	for n, e := range l.known {
		if e != nil && e.manifest != nil && e.manifest.meta.ID == id {
			number = max(number, n) // the one that counts, if a fenced start has left another
		}
	}
	switch number {
	case 0:
		return fault.Unknownf("there is no checkpoint %d in %s", id, l.store.Path(""))
	case l.last:
		return fault.Conflictf("checkpoint %d in %s is the newest: take another one before deleting it", id, l.store.Path(""))
	}
	return l.remove(ctx, []uint64{number})
}

// refreshAsOwner is refresh for whoever is about to remove something.
func (l *Log) refreshAsOwner(ctx context.Context) error {
	if l.generation == 0 {
		panic("BUG: nothing is removed without Claim")
	}
	last, err := l.refresh(ctx)
	if err != nil {
		return err
	}
	for n, e := range l.known {
		if n > l.last && (e == nil || e.owner != l.owner) {
			return ErrFenced
		}
	}
	l.last = last // a Publish of ours that could not tell
	return nil
}

// superseded decides which entries go. One that cannot be read stays: it may be a
// savepoint, and somebody may be able to mend it.
func superseded(known map[uint64]*entry, keep int) []uint64 {
	var numbers, out []uint64
	for n := range known {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	kept, claims, origins := 0, 0, 0
	for _, n := range slices.Backward(numbers) {
		e := known[n]
		switch {
		case e == nil:
		case e.claim != nil:
			// The newest says who may write; the newest one that began anew, where
			// Last ends.
			anew := e.claim.anew && origins == 0
			if claims > 0 && !anew {
				out = append(out, n)
			}
			claims++
			if e.claim.anew {
				origins++
			}
		case e.manifest.meta.Kind == Savepoint:
		case kept < keep:
			kept++
		default:
			out = append(out, n)
		}
	}
	return out
}

// remove deletes entries, and then the data files that nobody needs. An entry goes
// durably before its data: after a crash in between there are files too many, never too
// few. Called with mu held.
func (l *Log) remove(ctx context.Context, numbers []uint64) error {
	if len(numbers) > 0 {
		names := make([]string, len(numbers))
		for i, n := range numbers {
			names[i] = logName(n)
		}
		if err := l.store.Delete(ctx, names...); err != nil {
			return err
		}
		for _, n := range numbers {
			delete(l.known, n)
		}
	}
	files, err := l.dataFiles(ctx)
	if err != nil {
		return err
	}
	var orphans []string
	for _, name := range files {
		if l.orphan(name) {
			orphans = append(orphans, name)
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	return l.store.Delete(ctx, orphans...)
}

// orphan reports whether nobody needs a data file. Those of later claims are not ours to
// judge, nor those of our own attempts since the newest checkpoint: one is being written,
// and one that has failed may still be decided, as long as its number is free. A manifest
// that cannot be read might name any file, which matters for savepoints always, and else
// while Last could have gone back to it.
func (l *Log) orphan(name string) bool {
	kind, generation, id, _, _ := parseDataName(name)
	if generation > l.generation || l.holds(name) || l.open != nil && l.open.reused[name] != nil {
		return false
	}
	newest, oldest := uint64(0), uint64(math.MaxUint64) // id of the newest checkpoint of ours, number of the oldest that is kept
	for n, e := range l.known {
		if e == nil || e.manifest == nil {
			continue
		}
		if e.generation == l.generation {
			newest = max(newest, e.manifest.meta.ID)
		}
		if e.manifest.meta.Kind != Savepoint {
			oldest = min(oldest, n)
		}
	}
	if generation == l.generation && id > newest {
		return false
	}
	for n, e := range l.known {
		if e == nil && (kind == Savepoint || n > oldest || oldest == math.MaxUint64) {
			return false
		}
	}
	return true
}
