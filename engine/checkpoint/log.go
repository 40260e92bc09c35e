package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"tidemark/internal/fault"
)

// Log is the checkpoints of one job in a store, which holds nothing else. To read them it
// is enough to open it. To write, Claim first, and look for the checkpoint to go on from
// (Last) after that: before, an earlier start could still add one.
//
// Safe for concurrent use; what writes takes turns.
type Log struct {
	store Store
	rand  io.Reader

	mu         sync.Mutex
	lock       io.Closer
	generation uint64 // of the claim; 0: none
	owner      token
	last       uint64 // number of the last entry
	lastID     uint64 // of the last checkpoint that was begun
	open       *Writer
	known      map[uint64]*entry // the entries that are there; nil: one that cannot be read. Without indexes
}

// Open opens the log in a store. rand gives unpredictable bytes: env.Env's.
func Open(s Store, rand io.Reader) *Log {
	return &Log{store: s, rand: rand, known: map[uint64]*entry{}}
}

// Close gives up the claim and lets other processes write.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation = 0
	if l.lock == nil {
		return nil
	}
	lock := l.lock
	l.lock = nil
	return lock.Close()
}

// Claim makes this the one start of the job that may publish, going on from the newest
// checkpoint: whoever claimed before is fenced, also in this process. fault.ErrConflict
// if a process that lives holds the store.
func (l *Log) Claim(ctx context.Context) error { return l.claim(ctx, claim{}) }

// ClaimFrom is Claim for a start that goes on from the checkpoint with an id, or, if id
// is 0, from none. It is noted: until this start has published one, Last finds that
// checkpoint, or none, rather than the newest.
func (l *Log) ClaimFrom(ctx context.Context, id uint64) error {
	return l.claim(ctx, claim{anew: true, base: id})
}

func (l *Log) claim(ctx context.Context, c claim) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		lock, err := l.store.Lock(ctx)
		if err != nil {
			return err
		}
		l.lock = lock
	}
	if _, err := io.ReadFull(l.rand, l.owner[:]); err != nil {
		return fault.Externalf("no random bytes: %w", err)
	}
	l.generation = 0
	for range maxClaims {
		last, err := l.refresh(ctx)
		if err != nil {
			return err
		}
		id, err := l.highestID(ctx)
		if err != nil {
			return err
		}
		e := &entry{number: last + 1, generation: last + 1, owner: l.owner, claim: &c}
		switch err := l.put(ctx, e); {
		case errors.Is(err, ErrFenced): // somebody was faster: this claim comes after theirs
			continue
		case err != nil:
			return err
		}
		l.generation, l.last, l.lastID, l.open = e.number, e.number, id, nil
		l.known[e.number] = e
		return nil
	}
	return fault.Conflictf("%s: %d times somebody else wrote while this start tried to claim it: see who does", l.store.Path(""), maxClaims)
}

// maxClaims is how often a claim is tried against others at the same moment, each of whom
// got through. So many are none that start a job, but a store whose listings lag.
const maxClaims = 100

// After has the checkpoints of this claim have ids above one that the job goes on from, which
// may be another log's: in files and barriers, of two checkpoints of a job the later has the
// higher id.
func (l *Log) After(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID = max(l.lastID, id)
}

// highestID returns the highest id that a checkpoint or a file of one has.
func (l *Log) highestID(ctx context.Context) (uint64, error) {
	var highest uint64
	for _, e := range l.known {
		if e != nil && e.manifest != nil {
			highest = max(highest, e.manifest.meta.ID)
		}
	}
	// The names tell the id of a checkpoint whose manifest is damaged, too.
	files, err := l.dataFiles(ctx)
	for _, name := range files {
		_, _, id, _, _ := parseDataName(name)
		highest = max(highest, id)
	}
	return highest, err
}

// put makes e the next entry: ErrFenced if it is not the first to have that number, or
// later ones exist.
func (l *Log) put(ctx context.Context, e *entry) error {
	name, data := logName(e.number), encodeEntry(e)
	if len(data) > maxEntry {
		return fault.Userf("the manifest of a checkpoint would have %d bytes, at most %d are possible: lower max_parallelism", len(data), maxEntry)
	}
	err := l.store.PutIfAbsent(ctx, name, data)
	if errors.Is(err, ErrExists) {
		// By a try before this one whose answer was lost, as its content then tells.
		there, gerr := get(ctx, l.store, name, maxEntry)
		switch {
		case errors.Is(gerr, ErrMissing), errors.Is(gerr, fault.ErrCorrupt), gerr == nil && !bytes.Equal(there, data):
			return ErrFenced
		}
		err = gerr
	}
	if err != nil {
		return err
	}
	// The number may be free because the one who had it has removed it since. Then there
	// are later ones: the last is never removed.
	numbers, err := l.numbers(ctx)
	if err != nil {
		return err
	}
	if len(numbers) > 0 && numbers[len(numbers)-1] > e.number {
		return ErrFenced
	}
	return nil
}

// publish puts the manifest of w, and returns its number.
func (l *Log) publish(ctx context.Context, w *Writer) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.generation != l.generation {
		return 0, ErrFenced
	}
	for {
		e := &entry{number: l.last + 1, generation: l.generation, owner: l.owner, manifest: &w.m}
		err := l.put(ctx, e)
		if errors.Is(err, ErrFenced) {
			own, err := l.own(ctx, e.number)
			if err != nil {
				return 0, err
			}
			if own {
				l.last++ // an earlier attempt, whose Publish could not tell
				continue
			}
		}
		if err != nil {
			return 0, err
		}
		l.last, l.open = e.number, nil
		l.known[e.number] = e.light()
		return e.number, nil
	}
}

// own reports whether an entry is this claim's and the last.
func (l *Log) own(ctx context.Context, number uint64) (bool, error) {
	e, err := l.entry(ctx, number)
	if errors.Is(err, ErrMissing) || errors.Is(err, fault.ErrCorrupt) || err == nil && e.owner != l.owner {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	numbers, err := l.numbers(ctx)
	return err == nil && len(numbers) > 0 && numbers[len(numbers)-1] == number, err
}

// end takes note that a writer was abandoned.
func (l *Log) end(w *Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == w {
		l.open = nil
	}
}

// numbers lists the entries.
func (l *Log) numbers(ctx context.Context) ([]uint64, error) {
	names, err := l.store.List(ctx, logPrefix)
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for _, name := range names {
		if n, ok := parseLogName(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// dataFiles lists the data files.
func (l *Log) dataFiles(ctx context.Context) ([]string, error) {
	var files []string
	for _, prefix := range []string{dataPrefix, savedPrefix} {
		names, err := l.store.List(ctx, prefix)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, _, _, _, ok := parseDataName(name); ok {
				files = append(files, name)
			}
		}
	}
	return files, nil
}

// entry reads one entry: ErrMissing if there is none.
func (l *Log) entry(ctx context.Context, number uint64) (*entry, error) {
	name := logName(number)
	data, err := get(ctx, l.store, name, maxEntry)
	if err != nil {
		return nil, err
	}
	return decodeEntry(l.store.Path(name), number, data)
}

// refresh brings what is known of the entries up to date, and returns the number of the
// last. Called with mu held.
func (l *Log) refresh(ctx context.Context) (uint64, error) {
	numbers, err := l.numbers(ctx)
	if err != nil {
		return 0, err
	}
	known := make(map[uint64]*entry, len(numbers))
	for _, n := range numbers {
		if e := l.known[n]; e != nil {
			known[n] = e
			continue
		}
		e, err := l.entry(ctx, n)
		switch {
		case errors.Is(err, ErrMissing):
			continue
		case errors.Is(err, fault.ErrCorrupt):
			known[n] = nil
		case err != nil:
			return 0, err
		default:
			known[n] = e.light()
		}
	}
	l.known = known
	if len(numbers) == 0 {
		return 0, nil
	}
	return numbers[len(numbers)-1], nil
}

// light is e without its index, which is the large part of it.
func (e *entry) light() *entry {
	if e.manifest == nil {
		return e
	}
	c := *e
	c.manifest = &manifest{meta: e.manifest.meta, files: e.manifest.files}
	return &c
}

// holds reports whether a checkpoint that is kept names a data file. Called with mu held.
func (l *Log) holds(file string) bool {
	for _, e := range l.known {
		if e.names(file) {
			return true
		}
	}
	return false
}

// names reports whether e is a checkpoint that consists of a data file, among others.
func (e *entry) names(file string) bool {
	return e != nil && e.manifest != nil && slices.ContainsFunc(e.manifest.files, func(f *dataFile) bool { return f.name == file })
}

// Entry is a checkpoint in a list.
type Entry struct {
	Path   string // of its manifest
	Meta   Meta
	Size   int64 // bytes of all its sections
	Reused int64 // bytes of those that are in files of earlier checkpoints
	Err    error // why it cannot be read, and then there is no more than Path
}

// List returns the checkpoints, the oldest first. It reads their manifests only: that
// their sections are intact shows when they are loaded.
func (l *Log) List(ctx context.Context) ([]Entry, error) {
	numbers, err := l.numbers(ctx)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, n := range numbers {
		path := l.store.Path(logName(n))
		e, err := l.entry(ctx, n)
		switch {
		case errors.Is(err, ErrMissing): // removed meanwhile
		case errors.Is(err, fault.ErrCorrupt), errors.Is(err, fault.ErrUser):
			list = append(list, Entry{Path: path, Err: err})
		case err != nil:
			return nil, err
		case e.manifest != nil:
			c := newCheckpoint(l.store, logName(n), e.manifest)
			list = append(list, Entry{Path: path, Meta: c.Meta, Size: c.Size(), Reused: c.Reused()})
		}
	}
	return list, nil
}

// Load returns the checkpoint with an id, having read all of it: fault.ErrUnknown if
// there is none, fault.ErrCorrupt if it is damaged.
func (l *Log) Load(ctx context.Context, id uint64) (*Checkpoint, error) {
	numbers, err := l.numbers(ctx)
	if err != nil {
		return nil, err
	}
	var damaged []error
	for _, n := range slices.Backward(numbers) {
		e, err := l.entry(ctx, n)
		switch {
		case errors.Is(err, ErrMissing): // removed meanwhile
		case errors.Is(err, fault.ErrCorrupt), errors.Is(err, fault.ErrUser):
			damaged = append(damaged, err)
		case err != nil:
			return nil, err
		case e.manifest != nil && e.manifest.meta.ID == id:
			c := newCheckpoint(l.store, logName(n), e.manifest)
			if err := c.Verify(ctx); err != nil {
				return nil, err
			}
			return c, nil
		}
	}
	if len(damaged) > 0 { // one of them may be it
		return nil, fmt.Errorf("there is no checkpoint %d in %s that can be read: %w", id, l.store.Path(""), errors.Join(damaged...))
	}
	return nil, fault.Unknownf("there is no checkpoint %d in %s", id, l.store.Path(""))
}

// Last returns the checkpoint to go on from: the newest that is intact, all of it read,
// and no savepoint; nil if there is none. Newer ones that are damaged are named in the
// warnings. If there are only damaged ones, that is an error: to begin from nothing then
// is for people to decide.
func (l *Log) Last(ctx context.Context) (c *Checkpoint, warnings []string, err error) {
	numbers, err := l.numbers(ctx)
	if err != nil {
		return nil, nil, err
	}
	var damaged []error
	note := func(err error) {
		damaged = append(damaged, err)
		warnings = append(warnings, err.Error())
	}
walk:
	for _, n := range slices.Backward(numbers) {
		e, err := l.entry(ctx, n)
		switch {
		case errors.Is(err, ErrMissing): // removed meanwhile
		case errors.Is(err, fault.ErrCorrupt):
			note(err)
		case err != nil:
			return nil, warnings, err
		case e.claim != nil && e.claim.anew:
			if e.claim.base == 0 {
				break walk
			}
			c, err := l.Load(ctx, e.claim.base)
			return c, warnings, err
		case e.manifest != nil && e.manifest.meta.Kind != Savepoint:
			c := newCheckpoint(l.store, logName(n), e.manifest)
			err := c.Verify(ctx)
			if err == nil {
				return c, warnings, nil
			}
			if !errors.Is(err, fault.ErrCorrupt) {
				return nil, warnings, err
			}
			note(err)
		}
	}
	if len(damaged) > 0 {
		return nil, warnings, fmt.Errorf("no checkpoint in %s is intact: %w", l.store.Path(""), errors.Join(damaged...))
	}
	return nil, nil, nil
}
