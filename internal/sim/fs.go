package sim

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tidemark/internal/env"
)

// FS is a file system in memory behind env.FS, as one process sees it. It keeps apart what
// was written and what is durable: a file's content is durable once File.Sync has returned,
// a directory's names (created, linked, renamed, removed) once SyncDir of that directory
// has, and of a rename between two directories, both. Nothing more: that a directory was
// made is a name in the one above it. Real systems often promise more than that; code that
// needs no more runs on all of them.
//
// Crash and Kill end the process and return the file system as its successor finds it.
// Inject has calls fail, Limit lets space run out, Calls counts.
//
// Paths are absolute, or relative to the root. Modes are kept and not enforced: EACCES is
// for Inject. There are no symbolic links and no devices. A file's identity is never given
// to another file.
//
// Safe for concurrent use.
type FS struct {
	clock env.Clock

	mu      sync.Mutex
	root    *node
	journal []*change // of names, in order, that are not durable yet
	ids     *ids
	gone    bool // the process has ended
	used    int64
	limit   int64 // of used; 0: none
	faults  []Fault
	counts  map[Op]int
	nth     map[target]int
	yield   func(Op, string)
}

// target is what a call is about.
type target struct {
	op   Op
	name string
}

// ids gives out identities. A file system and what becomes of it share one.
type ids struct{ last uint64 }

// ErrGone is what every call of a process that has ended returns, for open files too.
var ErrGone = errors.New("the process has ended")

// NewFS returns an empty file system. The clock gives the times of changes, and passes in
// slow calls.
func NewFS(clock env.Clock) *FS {
	f := &FS{clock: clock, ids: &ids{}, counts: map[Op]int{}, nth: map[target]int{}}
	f.root = f.node(fs.ModeDir | 0o755)
	return f
}

// Limit lets writes fail with ENOSPC, after what still fits, once files take n bytes in
// all; 0 is no limit. What is there already stays.
func (f *FS) Limit(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = n
}

// Put makes a file with this content and the directories above it, as if it had been there
// for long: all of it is durable, and no call is counted or can fail. Writers that this
// process knows nothing of write so too.
func (f *FS) Put(name string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.lay(name)
	f.used += int64(len(content)) - int64(len(n.data))
	n.data, n.base, n.edits = slices.Clone(content), slices.Clone(content), nil
	n.changed = f.clock.Now()
}

// Append is Put of more of a file.
func (f *FS) Append(name string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.lay(name)
	f.used += int64(len(content))
	n.write(int64(len(n.data)), content)
	n.sync()
	n.changed = f.clock.Now()
}

// Get returns what a file holds now, durable or not. Looking is not a call of the process.
func (f *FS) Get(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.find(name)
	if err == nil && at.node == nil {
		err = syscall.ENOENT
	}
	if err == nil && at.node.isDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "get", Path: name, Err: err}
	}
	return slices.Clone(at.node.data), nil
}

// Files returns the absolute paths of all files, in order.
func (f *FS) Files() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	var walk func(dir *node, at string)
	walk = func(dir *node, at string) {
		for name, n := range dir.names {
			if n.isDir() {
				walk(n, at+name+"/")
			} else {
				all = append(all, at+name)
			}
		}
	}
	walk(f.root, "/")
	slices.Sort(all)
	return all
}

// SyncAll makes everything durable: where a test begins.
func (f *FS) SyncAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.journal {
		c.apply(func(dir *node) map[string]*node { return dir.kept })
	}
	f.journal = nil
	var walk func(n *node)
	walk = func(n *node) {
		n.sync()
		for _, below := range n.names {
			walk(below)
		}
	}
	walk(f.root)
}

// lay makes a file that is durable, with what is above it.
func (f *FS) lay(name string) *node {
	at := f.root
	parts := split(name)
	for i, part := range parts {
		next := at.names[part]
		if next == nil {
			mode := fs.FileMode(0o644)
			if i < len(parts)-1 {
				mode = fs.ModeDir | 0o755
			}
			next = f.node(mode)
			next.links = 1
			at.names[part] = next
		}
		at.kept[part] = next
		at = next
	}
	if at.isDir() {
		panic("BUG: " + name + " is a directory")
	}
	return at
}

// node makes a file or a directory without a name.
func (f *FS) node(mode fs.FileMode) *node {
	f.ids.last++
	n := &node{id: f.ids.last, mode: mode, changed: f.clock.Now()}
	if n.isDir() {
		n.names, n.kept = map[string]*node{}, map[string]*node{}
	}
	return n
}

// place is what a path leads to.
type place struct {
	dir  *node // nil for the root
	name string
	node *node // nil: the directory has no such name
}

// split returns the names that a path leads through.
func split(name string) []string {
	name = path.Clean("/" + filepath.ToSlash(name))
	if name == "/" {
		return nil
	}
	return strings.Split(name[1:], "/")
}

// find follows a path. The error is that of a part above the last one.
func (f *FS) find(name string) (place, error) {
	if name == "" {
		return place{}, syscall.ENOENT
	}
	at := place{node: f.root}
	for _, part := range split(name) {
		if at.node == nil {
			return place{}, syscall.ENOENT
		}
		if !at.node.isDir() {
			return place{}, syscall.ENOTDIR
		}
		at = place{dir: at.node, name: part, node: at.node.names[part]}
	}
	return at, nil
}

// there is find of what must be there.
func (f *FS) there(name string) (place, error) {
	at, err := f.find(name)
	if err == nil && at.node == nil {
		err = syscall.ENOENT
	}
	return at, err
}

// change makes a change of names, all or nothing of which survives.
func (f *FS) change(sets ...entry) {
	c := &change{sets: sets}
	for _, s := range sets {
		if s.to != nil {
			s.to.links++ // first: a file that only moves is never without a name
		}
	}
	for _, s := range sets {
		if !slices.Contains(c.waits, s.dir) {
			c.waits = append(c.waits, s.dir)
		}
		if old := s.dir.names[s.name]; old != nil {
			f.unlink(old)
		}
		s.dir.changed = f.clock.Now()
	}
	c.apply(func(dir *node) map[string]*node { return dir.names })
	f.journal = append(f.journal, c)
}

// unlink takes a name from a file, and frees what nobody can reach any more.
func (f *FS) unlink(n *node) {
	n.links--
	f.free(n)
}

func (f *FS) free(n *node) {
	if n.links == 0 && n.opens == 0 {
		f.used -= int64(len(n.data))
	}
}

// Open implements env.FS.
func (f *FS) Open(name string) (env.File, error) { return f.open(OpOpen, name, os.O_RDONLY, 0) }

// Create implements env.FS.
func (f *FS) Create(name string, flag int, perm fs.FileMode) (env.File, error) {
	return f.open(OpCreate, name, flag, perm)
}

func (f *FS) open(op Op, name string, flag int, perm fs.FileMode) (env.File, error) {
	var file *file
	err := f.call(op, name, 0, func(int) error {
		at, err := f.find(name)
		switch {
		case err != nil:
			return err
		case at.node == nil && flag&os.O_CREATE == 0:
			return syscall.ENOENT
		case at.node == nil:
			at.node = f.node(perm.Perm())
			f.change(entry{at.dir, at.name, at.node})
		case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
			return syscall.EEXIST
		case at.node.isDir() && flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) != 0:
			return syscall.EISDIR
		}
		if flag&os.O_TRUNC != 0 {
			f.truncate(at.node, 0)
		}
		at.node.opens++
		file = newFile(f, at.node, name, flag)
		return nil
	})
	if err != nil { // a call that failed may have made the file all the same
		if file != nil {
			file.release()
		}
		return nil, err
	}
	return file, nil
}

// Stat implements env.FS.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	var info fs.FileInfo
	err := f.call(OpStat, name, 0, func(int) error {
		at, err := f.there(name)
		if err == nil {
			info = f.info(at.node, path.Base(filepath.ToSlash(name)))
		}
		return err
	})
	return info, err
}

// ReadDir implements env.FS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	err := f.call(OpReadDir, name, 0, func(int) (err error) {
		entries, err = f.entries(name)
		return err
	})
	return entries, err
}

// entries lists a directory, in order of names.
func (f *FS) entries(name string) ([]fs.DirEntry, error) {
	at, err := f.there(name)
	if err != nil {
		return nil, err
	}
	if !at.node.isDir() {
		return nil, syscall.ENOTDIR
	}
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(at.node.names)) {
		entries = append(entries, fs.FileInfoToDirEntry(f.info(at.node.names[name], name)))
	}
	return entries, nil
}

// Glob implements env.FS.
func (f *FS) Glob(pattern string) ([]string, error) {
	var names []string
	err := f.call(OpGlob, pattern, 0, func(int) (err error) {
		slashed := filepath.ToSlash(pattern)
		below := strings.TrimLeft(slashed, "/")
		names, err = fs.Glob(listing{f}, below)
		if below != slashed {
			for i, name := range names {
				names[i] = "/" + name
			}
		}
		return err
	})
	return names, err
}

// listing is a file system within one call, for fs.Glob.
type listing struct{ f *FS }

func (l listing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid} // never asked for
}
func (l listing) ReadDir(name string) ([]fs.DirEntry, error) { return l.f.entries(name) }
func (l listing) Stat(name string) (fs.FileInfo, error) {
	at, err := l.f.there(name)
	if err != nil {
		return nil, err
	}
	return l.f.info(at.node, path.Base(name)), nil
}

// MkdirAll implements env.FS.
func (f *FS) MkdirAll(name string, perm fs.FileMode) error {
	return f.call(OpMkdirAll, name, 0, func(int) error {
		at := f.root
		for _, part := range split(name) {
			next := at.names[part]
			if next == nil {
				next = f.node(fs.ModeDir | perm.Perm())
				f.change(entry{at, part, next})
			}
			if !next.isDir() {
				return syscall.ENOTDIR
			}
			at = next
		}
		return nil
	})
}

// Rename implements env.FS.
func (f *FS) Rename(from, to string) error {
	return linkError(to, f.call(OpRename, from, 0, func(int) error {
		a, err := f.find(from)
		if err != nil {
			return err
		}
		b, err := f.find(to)
		switch {
		case err != nil:
			return err
		case a.node == nil:
			return syscall.ENOENT
		case a.dir == nil || b.dir == nil:
			return syscall.EBUSY // the root
		case b.node != nil && b.node.isDir() && (a.node != b.node || from == to):
			return syscall.EEXIST // package os says so before the system is asked
		case a.node == b.node:
			return nil
		case a.node.isDir() && strings.HasPrefix(path.Clean("/"+filepath.ToSlash(to))+"/", path.Clean("/"+filepath.ToSlash(from))+"/"):
			return syscall.EINVAL // into itself
		case b.node != nil && a.node.isDir():
			return syscall.ENOTDIR
		}
		f.change(entry{a.dir, a.name, nil}, entry{b.dir, b.name, a.node})
		return nil
	}))
}

// Remove implements env.FS.
func (f *FS) Remove(name string) error {
	return f.call(OpRemove, name, 0, func(int) error {
		at, err := f.there(name)
		switch {
		case err != nil:
			return err
		case at.dir == nil:
			return syscall.EBUSY
		case at.node.isDir() && len(at.node.names) > 0:
			return syscall.ENOTEMPTY
		}
		f.change(entry{at.dir, at.name, nil})
		return nil
	})
}

// Link implements env.FS.
func (f *FS) Link(from, to string) error {
	return linkError(to, f.call(OpLink, from, 0, func(int) error {
		a, err := f.there(from)
		if err != nil {
			return err
		}
		b, err := f.find(to)
		switch {
		case err != nil:
			return err
		case b.node != nil:
			return syscall.EEXIST
		case a.node.isDir():
			return syscall.EPERM
		}
		f.change(entry{b.dir, b.name, a.node})
		return nil
	}))
}

// linkError is an error of a call on two paths as the os package gives it.
func linkError(to string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &os.LinkError{Op: p.Op, Old: p.Path, New: to, Err: p.Err}
	}
	return err
}

// Lock implements env.FS.
func (f *FS) Lock(name string) (io.Closer, error) {
	var held *lock
	err := f.call(OpLock, name, 0, func(int) error {
		at, err := f.find(name)
		switch {
		case err != nil:
			return err
		case at.node == nil:
			at.node = f.node(0o600)
			f.change(entry{at.dir, at.name, at.node})
		case at.node.isDir():
			return syscall.EISDIR
		case at.node.locked:
			return env.ErrLocked
		}
		at.node.locked = true
		held = &lock{f, at.node}
		return nil
	})
	if err != nil {
		if held != nil {
			_ = held.Close()
		}
		return nil, err
	}
	return held, nil
}

// lock is a lock that somebody has.
type lock struct {
	fs   *FS
	node *node // nil: given back
}

// Close gives the lock back.
func (l *lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.node == nil {
		return fs.ErrClosed
	}
	l.node.locked, l.node = false, nil
	return nil
}

// SyncDir implements env.FS.
func (f *FS) SyncDir(name string) error {
	return f.call(OpSyncDir, name, 0, func(int) error {
		at, err := f.there(name)
		if err != nil {
			return err
		}
		if !at.node.isDir() {
			return syscall.ENOTDIR
		}
		f.journal = syncDir(f.journal, at.node)
		return nil
	})
}

// truncate cuts a file to a size, or lengthens it with zeros.
func (f *FS) truncate(n *node, size int64) {
	f.used += size - int64(len(n.data))
	n.truncate(size)
	n.changed = f.clock.Now()
}

// room is how many of n bytes more there is space for.
func (f *FS) room(n int64) int64 {
	if f.limit == 0 {
		return n
	}
	return max(0, min(n, f.limit-f.used))
}

// info describes a file as it is now.
func (f *FS) info(n *node, name string) fs.FileInfo {
	return fileInfo{name: name, size: int64(len(n.data)), mode: n.mode, changed: n.changed, ids: f.ids, id: n.id}
}

// fileInfo implements fs.FileInfo, and SameFile for env.SameFile.
type fileInfo struct {
	name    string
	size    int64
	mode    fs.FileMode
	changed time.Time
	ids     *ids
	id      uint64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return i.changed }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// SameFile implements env.SameFile.
func (i fileInfo) SameFile(other fs.FileInfo) bool {
	o, ok := other.(fileInfo)
	return ok && o.ids == i.ids && o.id == i.id
}

// Number implements what env.FileNumber asks for.
func (i fileInfo) Number() uint64 { return i.id }

var _ env.FS = (*FS)(nil)
