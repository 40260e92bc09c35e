package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/engine/state"
	"tidemark/internal/fault"
)

func opened(t *testing.T, fs vfs.FS, dir string, memory int64) *Store {
	t.Helper()
	s, err := open(fs, dir, memory)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

type entry struct{ name, value string }

func scan(t *testing.T, in interface {
	Scan(from, to []byte, f func(name, value []byte) (bool, error)) error
}, from, to string, most int) (all []entry) {
	t.Helper()
	if err := in.Scan([]byte(from), []byte(to), func(name, value []byte) (bool, error) {
		all = append(all, entry{string(name), string(value)})
		return len(all) < most, nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A backing on disk does what one in memory does, whoever else uses the store, and so do
// its frozen contents later.
func TestADiskDoesWhatMemoryDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := opened(t, vfs.NewMem(), "d", 0)
	defer closed(t, s)
	type pair struct {
		disk, ram     state.Backing
		diskB, ramB   state.Batch
		frozen, other state.Frozen
	}
	var pairs []*pair
	for n := range 3 {
		p := &pair{disk: s.Backing(fmt.Sprint(n)), ram: state.NewRAM()}
		p.diskB, p.ramB = p.disk.Batch(), p.ram.Batch()
		pairs = append(pairs, p)
	}
	name := func() []byte {
		n := make([]byte, r.IntN(3))
		for i := range n {
			n[i] = []byte{0, 1, 0xfe, 0xff}[r.IntN(4)]
		}
		return n
	}
	found, seen := 0, 0
	for step := range 30_000 {
		p := pairs[r.IntN(len(pairs))]
		a, b := name(), append(name(), 0xff, 0xff, 0xff)
		switch r.IntN(12) {
		default:
			v := bytes.Repeat([]byte{byte(step)}, r.IntN(100))
			p.diskB.Put(a, v)
			p.ramB.Put(a, v)
		case 0, 1:
			p.diskB.Delete(a)
			p.ramB.Delete(a)
		case 2:
			if r.IntN(20) == 0 && bytes.Compare(a, b) < 0 {
				p.diskB.DeleteRange(a, b)
				p.ramB.DeleteRange(a, b)
			}
		case 3, 4:
			if err := errors.Join(p.diskB.Commit(), p.ramB.Commit()); err != nil {
				t.Fatal(err)
			}
			if p.diskB.Size() > 16 || p.ramB.Size() != 0 {
				t.Fatalf("a batch has %d and %d bytes after it was committed", p.diskB.Size(), p.ramB.Size())
			}
		case 5, 6:
			got, ok, err := p.disk.Get(a, nil)
			want, wok, _ := p.ram.Get(a, nil)
			if err != nil || ok != wok || !bytes.Equal(got, want) {
				t.Fatalf("step %d: %q is %q, %v, %v, want %q, %v", step, a, got, ok, err, want, wok)
			}
			if ok {
				found++
			}
		case 7:
			most := 1 + r.IntN(50)
			got, want := scan(t, p.disk, string(a), string(b), most), scan(t, p.ram, string(a), string(b), most)
			if !slices.Equal(got, want) {
				t.Fatalf("step %d: from %q to %q is %q, want %q", step, a, b, got, want)
			}
			seen += len(got)
			if p.frozen != nil && !slices.Equal(scan(t, p.frozen, string(a), string(b), most), scan(t, p.other, string(a), string(b), most)) {
				t.Fatalf("step %d: what was frozen differs", step)
			}
		case 8:
			if r.IntN(10) == 0 {
				if p.frozen != nil {
					if err := errors.Join(p.frozen.Close(), p.other.Close()); err != nil {
						t.Fatal(err)
					}
				}
				p.frozen, p.other = p.disk.Freeze(), p.ram.Freeze() // the last ones stay open
			}
		}
	}
	if found < 1000 || seen < 1000 {
		t.Errorf("%d names were found, %d came in scans: they show too little", found, seen)
	}
}

// The store is scratch: it begins empty whatever was left behind, and leaves what is not its
// own alone.
func TestAStoreIsEmptyAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	others := filepath.Join(dir, "mine.txt")
	if err := os.WriteFile(others, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	left := opened(t, vfs.Default, dir, 0) // a process that was killed closes nothing
	c := left.Backing("a").Batch()
	c.Put([]byte("n"), bytes.Repeat([]byte("v"), 1<<20))
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := left.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := left.db.Close(); err != nil {
		t.Fatal(err)
	}
	s := opened(t, vfs.Default, dir, 0)
	if _, ok, err := s.Backing("a").Get([]byte("n"), nil); ok || err != nil {
		t.Errorf("what was left behind is found: %v, %v", ok, err)
	}
	closed(t, s)
	if _, err := os.Stat(filepath.Join(dir, folder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store is left behind: %v", err)
	}
	if _, err := os.Stat(others); err != nil {
		t.Error(err)
	}
}

// fullFS has room for so many bytes.
type fullFS struct {
	vfs.FS
	room atomic.Int64
}

type fullFile struct {
	vfs.File
	fs *fullFS
}

func (fs *fullFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if fs.room.Load() <= 0 {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	f, err := fs.FS.Create(name, c)
	return fullFile{f, fs}, err
}

func (f fullFile) Write(p []byte) (int, error) {
	if f.fs.room.Add(-int64(len(p))) < 0 {
		return 0, &os.PathError{Op: "write", Path: "some file", Err: syscall.ENOSPC}
	}
	return f.File.Write(p)
}

// A full disk ends what is done with the store with an error that says which operator and
// where, and nobody waits for ever, at whatever byte it comes.
func TestAFullDiskIsAnError(t *testing.T) {
	for _, room := range []int64{1, 3000, 100_000, 1 << 20, 3 << 20} {
		fs := &fullFS{FS: vfs.NewMem()}
		fs.room.Store(1 << 40)
		s := opened(t, fs, "some/dir", 0)
		fs.room.Store(room)
		b := s.Backing("step totals")
		c := b.Batch()
		value, r := make([]byte, 1000), rand.New(rand.NewPCG(1, uint64(room)))
		var err error
		n := uint64(0)
		for ; n < 100_000 && err == nil; n++ {
			for i := range value { // not to be compressed
				value[i] = byte(r.Uint32())
			}
			c.Put(binary.BigEndian.AppendUint64(nil, n), value)
			err = c.Commit()
		}
		if !errors.Is(err, fault.ErrExternal) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("room for %d bytes: after %d writes got %v", room, n, err)
		}
		for _, want := range []string{"step totals", "some/dir", "no space left", "make room"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		}
		if _, _, err := b.Get([]byte("x"), nil); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("afterwards a read says %v", err)
		}
		if err := b.Scan(nil, []byte("x"), nil); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("afterwards a scan says %v", err)
		}
		if n := int64(n)*1000 - room; n > 8*minTable+1<<20 {
			t.Errorf("room for %d bytes: %d more were taken before it was told", room, n)
		}
		closed(t, s)
	}
}

// A directory that cannot be made is an error at once.
func TestAStoreThatCannotBeOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(file, 0)
	if !errors.Is(err, fault.ErrExternal) || !strings.Contains(fmt.Sprint(err), file) {
		t.Errorf("got %v", err)
	}
	fs := &fullFS{FS: vfs.NewMem()}
	if _, err = open(fs, "d", 0); !errors.Is(err, fault.ErrExternal) {
		t.Errorf("of a full disk: %v", err)
	}
}
