// Package disk keeps state on disk that memory has no room for: a state.Backing for each
// operator of a job, all in one pebble database. It knows nothing of what it keeps.
//
// The database is scratch. It is empty when a job starts and removed when it ends; what must
// last is in checkpoints. So there is no log to write ahead and nothing to sync.
//
// A disk that fails, or is full, fails the store: every call from then on says so, and the
// job ends. Nothing waits for a disk that has failed (fs.go).
package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/engine/state"
	"tidemark/internal/fault"
)

// Store is the database of a job. Its operators may be used from different goroutines.
type Store struct {
	dir    string
	fs     *watchedFS
	db     *pebble.DB
	memory uint64 // of a memtable

	mu      sync.Mutex
	opened  uint32           // backings
	frozen  map[*frozen]bool // not closed yet
	changed sync.Cond        // flushed or failed
	flushes uint64           // flushes and compactions that have ended
	failed  error
	closing chan struct{}
}

const (
	// folder is what the store has of its directory.
	folder = "spilled-state"

	// A memtable takes an eighth of the store's memory, and up to maxTables of them are there,
	// with those that wait to be flushed; half of the memory is a cache of what was read.
	tableShare = 8
	cacheShare = 2
	maxTables  = 4
	// minTable bounds a memtable from below, which otherwise would be flushed for a few
	// records, and maxTable from above: larger ones save nothing.
	minTable = 512 << 10
	maxTable = 32 << 20
	minCache = 1 << 20
	// maxSublevels is how many layers of the newest level a read may have to look at before
	// writers wait for a compaction.
	maxSublevels = 20
	// bloomBits a name spare nearly all reads of names that are not there: a key's first
	// record asks for it.
	bloomBits = 10
	// maxFiles bounds the files that are open.
	maxFiles = 256
	// never is for limits of pebble's own, which would block writers where room decides.
	never = 1 << 20
)

// Open makes an empty store in a directory, which is made if it is not there. What a job
// that did not end well has left there goes. About memory bytes are taken.
func Open(dir string, memory int64) (*Store, error) { return open(vfs.Default, dir, memory) }

func open(fs vfs.FS, dir string, memory int64) (*Store, error) {
	s := &Store{dir: fs.PathJoin(dir, folder), frozen: map[*frozen]bool{}, closing: make(chan struct{})}
	s.changed.L = &s.mu
	s.fs = &watchedFS{FS: fs, store: s}
	s.memory = uint64(min(max(memory/tableShare, minTable), maxTable))
	if err := fs.RemoveAll(s.dir); err != nil {
		return nil, s.error("clearing", err)
	}
	if err := fs.MkdirAll(s.dir, 0o700); err != nil {
		return nil, s.error("making", err)
	}
	cache := pebble.NewCache(max(memory/cacheShare, minCache))
	defer cache.Unref()
	opts := &pebble.Options{
		FS: s.fs, Cache: cache, DisableWAL: true, MemTableSize: s.memory, MaxOpenFiles: maxFiles,
		MemTableStopWritesThreshold: never, L0StopWritesThreshold: never, // see room
		FormatMajorVersion: pebble.FormatNewest, Logger: quiet{s},
		EventListener: &pebble.EventListener{
			FlushEnd:        func(pebble.FlushInfo) { s.ended() },
			CompactionEnd:   func(pebble.CompactionInfo) { s.ended() },
			BackgroundError: s.fail,
			DataCorruption:  func(i pebble.DataCorruptionInfo) { s.fail(errors.New(i.String())) },
		},
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
		// Most of what is written is read once and is then worth nothing: packing it costs
		// more than the bytes that it saves.
		opts.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	var err error
	if s.db, err = pebble.Open(s.dir, opts); err != nil {
		return nil, s.error("opening", err)
	}
	s.fs.open.Store(true)
	return s, nil
}

// error is one of the disk.
func (s *Store) error(doing string, err error) error {
	return fault.As(fault.ErrExternal, fmt.Errorf("state on disk: %s %s: %w; make room there or choose another directory", doing, s.dir, err))
}

// fail notes the first failure, and tells those who wait.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && err != nil {
		s.failed = err
	}
	s.changed.Broadcast()
}

// failure is the first one, nil if there was none.
func (s *Store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// ended is told when a flush or a compaction has.
func (s *Store) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes++
	s.changed.Broadcast()
}

// room waits until what was written before has got to the disk far enough. Pebble's own
// limits would wait for ever for a disk that has failed.
func (s *Store) room() error {
	for {
		s.mu.Lock()
		seen := s.flushes
		s.mu.Unlock()
		if m := s.db.Metrics(); m.MemTable.Count <= maxTables && m.Levels[0].Sublevels <= maxSublevels {
			return s.failure()
		}
		s.mu.Lock()
		for s.flushes == seen && s.failed == nil {
			s.changed.Wait()
		}
		err := s.failed
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Bytes is what the store takes on disk.
func (s *Store) Bytes() int64 { return int64(s.db.Metrics().DiskSpaceUsage()) }

// Backing makes an empty backing for an operator, which errors name.
func (s *Store) Backing(operator string) state.Backing {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	return &backing{store: s, operator: operator, prefix: binary.BigEndian.AppendUint32(nil, s.opened)}
}

// Close removes the store. Nobody uses its backings any more, nor what was frozen of them.
func (s *Store) Close() error {
	close(s.closing)
	for f := range s.frozen { // of cuts that nobody wanted in the end
		_ = f.snapshot.Close()
	}
	err := s.db.Close()
	if s.failure() != nil {
		err = nil // it has been told, and what is left behind in memory goes with the store
	}
	return errors.Join(err, s.fs.FS.RemoveAll(s.dir))
}
