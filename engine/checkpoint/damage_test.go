package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"tidemark/engine/state"
	"tidemark/internal/fault"
)

// memory is a store in memory.
type memory map[string][]byte

type memoryObject struct {
	bytes.Buffer
	end func([]byte)
}

func (o *memoryObject) Close() error { o.end(o.Bytes()); return nil }
func (o *memoryObject) Abort()       {}

type memoryBlob struct{ *bytes.Reader }

func (memoryBlob) Close() error { return nil }

func (m memory) Create(_ context.Context, name string) (Object, error) {
	return &memoryObject{end: func(data []byte) { m[name] = data }}, nil
}

func (m memory) PutIfAbsent(_ context.Context, name string, data []byte) error {
	if _, ok := m[name]; ok {
		return ErrExists
	}
	m[name] = bytes.Clone(data)
	return nil
}

func (m memory) Open(_ context.Context, name string) (Blob, error) {
	data, ok := m[name]
	if !ok {
		return nil, ErrMissing
	}
	return memoryBlob{bytes.NewReader(data)}, nil
}

func (m memory) List(_ context.Context, prefix string) ([]string, error) {
	var names []string
	for name := range m {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (m memory) Delete(_ context.Context, names ...string) error {
	for _, name := range names {
		delete(m, name)
	}
	return nil
}

func (memory) Lock(context.Context) (io.Closer, error) { return io.NopCloser(nil), nil }
func (memory) Path(name string) string                 { return "memory/" + name }

// golden are the files of testdata/v1.
func golden(t testing.TB) memory {
	t.Helper()
	dir := filepath.Join("testdata", "v1")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := memory{}
	for _, f := range files {
		if m[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// needs are the checkpoints of testdata/v1 by the files that they consist of. Nobody reads
// a claim to load one.
var needs = map[string][]uint64{
	"log-000000000001":                    nil,
	"log-000000000003":                    nil,
	"log-000000000002":                    {1},
	"log-000000000004":                    {2},
	"log-000000000005":                    {4},
	"data-000000000001-000000000001-0000": {1, 4},
	"save-000000000003-000000000002-0000": {2},
	"data-000000000003-000000000004-0000": {4},
}

// damaged checks what is made of a log in which one file is not what it was.
func damaged(t testing.TB, m memory, name, how string) {
	t.Helper()
	ctx := context.Background()
	l := Open(m, nil)
	names := func(err error) bool {
		return errors.Is(err, fault.ErrCorrupt) && strings.Contains(err.Error(), m.Path(name))
	}
	if strings.HasPrefix(name, logPrefix) {
		number, _ := parseLogName(name)
		if _, err := l.entry(ctx, number); !names(err) {
			t.Fatalf("%s, %s: reading it: %v", name, how, err)
		}
		if number > 4 { // Last comes by
			if _, warnings, _ := l.Last(ctx); len(warnings) != 1 || !strings.Contains(warnings[0], m.Path(name)) {
				t.Fatalf("%s, %s: warnings %q", name, how, warnings)
			}
		}
	}
	for id := range uint64(5) {
		_, err := l.Load(ctx, id)
		switch {
		case id == 0 || id == 3: // there are none
		case name == "data-000000000001-000000000001-0000" && id == 4 && err == nil: // it needs a part of it
		case slices.Contains(needs[name], id):
			if !names(err) {
				t.Fatalf("%s, %s: loading checkpoint %d: %v", name, how, id, err)
			}
		case err != nil:
			t.Fatalf("%s, %s: checkpoint %d does not need it: %v", name, how, id, err)
		}
	}
}

func TestEveryBitAndEveryCutIsNoticed(t *testing.T) {
	m := golden(t)
	for name, good := range m {
		if _, ok := needs[name]; !ok {
			t.Fatalf("%s is new: which checkpoints need it?", name)
		}
		for at := range good {
			for bit := range 8 {
				m[name] = bytes.Clone(good)
				m[name][at] ^= 1 << bit
				damaged(t, m, name, fmt.Sprintf("bit %d of byte %d differs", bit, at))
			}
			m[name] = good[:at:at]
			damaged(t, m, name, fmt.Sprintf("cut off at %d", at))
		}
		m[name] = append(bytes.Clone(good), 0)
		damaged(t, m, name, "a byte more")
		m[name] = append([]byte{0}, good...)
		damaged(t, m, name, "a byte more in front")
		for other := range needs {
			if other != name {
				m[name] = golden(t)[other]
				damaged(t, m, name, "in its place is "+other)
			}
		}
		m[name] = good
	}
	for _, id := range []uint64{1, 2, 4} {
		if _, err := Open(m, nil).Load(t.Context(), id); err != nil {
			t.Fatalf("undamaged: %v", err)
		}
	}
}

// What a later version has written is not damaged: going back behind it would undo what it
// has decided.
func TestALaterFormatIsNotPassedOver(t *testing.T) {
	for _, name := range []string{"log-000000000005", "data-000000000003-000000000004-0000"} {
		m := golden(t)
		later := bytes.Clone(m[name])
		later[8] = version + 1
		end := len(later) - checksumLen
		if strings.HasPrefix(name, dataPrefix) {
			end = dataHeader - checksumLen
		}
		binary.LittleEndian.PutUint64(later[end:], xxhash.Sum64(later[:end]))
		m[name] = later
		c, warnings, err := Open(m, nil).Last(t.Context())
		if c != nil || len(warnings) > 0 || !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), m.Path(name)) {
			t.Errorf("%s: %v, %q, %v: want an error that names it", name, c, warnings, err)
		}
		if l := Open(m, bytes.NewReader(make([]byte, 16))); strings.HasPrefix(name, logPrefix) && !errors.Is(l.Claim(t.Context()), fault.ErrUser) {
			t.Errorf("%s: it can be claimed", name)
		}
	}
}

// FuzzDamage cuts a file off, and changes some bytes of it.
func FuzzDamage(f *testing.F) {
	f.Add(uint8(0), uint16(0), uint16(9), []byte("x"))
	f.Add(uint8(3), uint16(1), uint16(100), []byte{})
	m := golden(f)
	names, _ := m.List(context.Background(), "")
	f.Fuzz(func(t *testing.T, file uint8, cut, at uint16, patch []byte) {
		m := golden(t)
		name := names[int(file)%len(names)]
		good := m[name]
		data := bytes.Clone(good[:len(good)-int(cut)%(len(good)+1)])
		p := min(int(at), len(data))
		data = append(data[:p:p], append(patch, data[min(len(data), p+len(patch)):]...)...)
		if bytes.Equal(data, good) {
			return
		}
		m[name] = data
		damaged(t, m, name, fmt.Sprintf("%q", data))
	})
}

// FuzzEntry reads entries whose checksum is right, whatever they say: a reader must not
// trust it. What is accepted means the same when it is written again.
func FuzzEntry(f *testing.F) {
	for name, data := range golden(f) {
		if strings.HasPrefix(name, logPrefix) {
			f.Add(data[:len(data)-checksumLen])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		number := uint64(0)
		if len(body) >= 32 {
			r := state.NewReader(body[24:32])
			number = r.U64()
		}
		w := state.Writer{Buf: bytes.Clone(body)}
		w.U64(xxhash.Sum64(body))
		e, err := decodeEntry("file", number, w.Buf)
		if err != nil {
			if !strings.Contains(err.Error(), "file") || !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUser) {
				t.Fatal(err)
			}
			return
		}
		again := encodeEntry(e)
		e2, err := decodeEntry("file", number, again)
		if err != nil {
			t.Fatalf("%q: written again: %v", body, err)
		}
		if third := encodeEntry(e2); !bytes.Equal(again, third) {
			t.Fatalf("%q: written again it is another one", body)
		}
	})
}

// TestNumbersAskForNoMemory puts large numbers where lists begin.
func TestNumbersAskForNoMemory(t *testing.T) {
	for name, data := range golden(t) {
		number, ok := parseLogName(name)
		if !ok {
			continue
		}
		for at := entryHeader; at+4 <= len(data)-checksumLen; at++ {
			for _, n := range []uint32{1 << 20, 1 << 31, 1<<32 - 1, uint32(len(data) - at - 12)} {
				w := state.Writer{Buf: bytes.Clone(data[:at])}
				w.U32(n)
				w.Buf = append(w.Buf, data[at+4:len(data)-checksumLen]...)
				w.U64(xxhash.Sum64(w.Buf))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := decodeEntry(name, number, w.Buf) // it may be right
				runtime.ReadMemStats(&after)
				if got, most := after.TotalAlloc-before.TotalAlloc, uint64(32*len(data)+16<<10); got > most {
					t.Fatalf("%s with %d at %d: %d bytes for a file of %d (%v)", name, n, at, got, len(data), err)
				}
			}
		}
	}
}
