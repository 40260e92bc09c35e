package meter_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"tidemark/abi"
	wasm "tidemark/abi/binary"
	"tidemark/abi/toolchain"
	"tidemark/internal/wasmtest"
)

// plugin is an instance of a plug-in. Frames are laid out alike in all of them.
type plugin struct {
	mod   api.Module
	call  func(name string, args ...uint64) (uint64, int64, error) // result and fuel
	at    uint32
	arena uint32
}

func (p *plugin) start(t *testing.T) {
	t.Helper()
	if p.mod.ExportedFunction(abi.ExportInitialize) != nil {
		if _, _, err := p.call(abi.ExportInitialize); err != nil {
			t.Fatal(err)
		}
	}
	place, _, err := p.call(abi.ExportArena)
	if err != nil {
		t.Fatal(err)
	}
	p.at, p.arena = uint32(place>>32), uint32(place)
}

// frame calls name on a frame and returns what is in it afterwards.
func (p *plugin) frame(t *testing.T, name string, content []byte) (frame []byte, fuel int64) {
	t.Helper()
	mem := p.mod.ExportedMemory(abi.ExportMemory)
	if !mem.Write(p.at, content) {
		t.Fatal("a frame outside the memory")
	}
	status, fuel, err := p.call(name, uint64(p.at))
	if err != nil || abi.Status(status) != abi.OK {
		t.Fatalf("%s: status %d, %v", name, status, err)
	}
	b, _ := mem.Read(p.at, uint32(len(content)))
	return bytes.Clone(b), fuel
}

// layout grows a frame.
type layout struct {
	bytes []byte
	h     abi.Header
}

func (l *layout) place(n int) (at uint32) {
	at = uint32(len(l.bytes))
	l.bytes = append(l.bytes, make([]byte, abi.Align(n))...)
	return at
}

func (l *layout) put32(at uint32, i int, v uint32) {
	binary.LittleEndian.PutUint32(l.bytes[int(at)+4*i:], v)
}

// columns describes columns of n rows; put writes row i of column k.
func (l *layout) columns(kinds []abi.Column, n int, out bool, value func(k, i int) uint64, text func(i int) string) (at uint32) {
	at = l.place(len(kinds) * abi.DescriptorBytes)
	for k, c := range kinds {
		d := abi.Descriptor{Kind: c.Kind}
		if out {
			d.Flags, d.Validity = abi.HasValidity, l.place(abi.ValidityBytes(n))
		}
		d.Data = l.place(8*n + 8)
		if c.Kind == abi.String && !out {
			var blob []byte
			for i := range n {
				blob = append(blob, text(i)...)
				l.put32(d.Data, i+1, uint32(len(blob)))
			}
			d.Blob, d.BlobBytes = l.place(len(blob)), uint32(len(blob))
			copy(l.bytes[d.Blob:], blob)
		}
		for i := 0; i < n && !out && c.Kind != abi.String; i++ {
			binary.LittleEndian.PutUint64(l.bytes[int(d.Data)+8*i:], value(k, i))
		}
		d.Put(l.bytes[int(at)+k*abi.DescriptorBytes:])
	}
	return at
}

func (l *layout) accs(width int, accs [][]byte) (at uint32) {
	if width > 0 {
		at = l.place(width * len(accs))
		copy(l.bytes[at:], bytes.Join(accs, nil))
		return at
	}
	at = l.place(4 * (len(accs) + 1))
	sum := 0
	for i, a := range accs {
		sum += len(a)
		l.put32(at, i+1, uint32(sum))
	}
	copy(l.bytes[l.place(sum):], bytes.Join(accs, nil))
	return at
}

func (l *layout) finish(space int) []byte {
	l.h.Out, l.h.OutBytes = l.place(space), uint32(space)
	l.h.Size = uint32(len(l.bytes))
	l.h.Put(l.bytes)
	return l.bytes
}

// answered reads the n accumulators that a call has given.
func answered(m *abi.Aggregate, frame []byte, h *abi.Header, n int) (accs [][]byte) {
	if m.Width > 0 {
		for i := range n {
			accs = append(accs, frame[int(h.Acc)+i*m.Width:int(h.Acc)+(i+1)*m.Width])
		}
		return accs
	}
	out := frame[h.Out:]
	for range n {
		size := binary.LittleEndian.Uint32(out)
		accs = append(accs, out[4:4+size])
		out = out[4+(size+3)/4*4:]
	}
	return accs
}

// Every plug-in of this repository gives the same answers metered, down to each byte of
// its memory, and costs the same on every instance.
func TestPlugInsMeanTheSame(t *testing.T) {
	built := func(dir string) func(t *testing.T) []byte {
		return func(t *testing.T) []byte {
			b, err := toolchain.Build(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			return b.Module
		}
	}
	assembled := func(name string, edits ...string) func(t *testing.T) []byte {
		return func(t *testing.T) []byte { return wasmtest.Guest(t, name, edits...) }
	}
	for _, c := range []struct {
		name string
		file func(t *testing.T) []byte
	}{
		{"sum", assembled("sum", "i64.const 13 i64.eq if unreachable end", "")}, {"join", assembled("join")}, {"minmax", assembled("minmax")},
		{"stats", built("../../plugins/stats")}, {"distinct", built("../../plugins/distinct")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := c.file(t)
			info, err := wasm.Read(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := info.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			h := newHost(t)
			h.quantum = 100_000
			metered := func(mod api.Module) func(string, ...uint64) (uint64, int64, error) {
				return func(name string, args ...uint64) (uint64, int64, error) {
					got, fuel, err := h.call(mod, math.MaxInt32, name, args...)
					return append(got, 0)[0], fuel, err
				}
			}
			plain := func(mod api.Module) func(string, ...uint64) (uint64, int64, error) {
				return func(name string, args ...uint64) (uint64, int64, error) {
					got, err := mod.ExportedFunction(name).Call(t.Context(), args...)
					return append(got, 0)[0], 0, err
				}
			}
			code := rewrite(t, file)
			one, two, three := h.start(t, file), h.start(t, code), h.start(t, code)
			all := []*plugin{{mod: one, call: plain(one)}, {mod: two, call: metered(two)}, {mod: three, call: metered(three)}}
			for _, p := range all {
				p.start(t)
			}
			drive(t, manifest.Aggregate, func(name string, content []byte) []byte {
				var frames [3][]byte
				var fuel [3]int64
				for i, p := range all {
					frames[i], fuel[i] = p.frame(t, name, content)
				}
				if !bytes.Equal(frames[0], frames[1]) || wholeMemory(all[0]) != wholeMemory(all[1]) {
					t.Fatalf("%s: another memory when metered", name)
				}
				if fuel[1] != fuel[2] || fuel[1] <= 0 {
					t.Fatalf("%s costs %d fuel, and %d on another instance", name, fuel[1], fuel[2])
				}
				return frames[0]
			})
		})
	}
}

func wholeMemory(p *plugin) string {
	m := p.mod.ExportedMemory(abi.ExportMemory)
	b, _ := m.Read(0, m.Size())
	return string(b)
}

// drive makes calls of all sorts, with random records.
func drive(t *testing.T, m *abi.Aggregate, call func(name string, frame []byte) []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	l := &layout{}
	l.place(abi.HeaderBytes)
	l.h.Rows, l.h.NumCols = 1, uint32(len(m.Params))
	var params []abi.Column
	for _, p := range m.Params {
		params = append(params, abi.Column{Kind: p.Kind})
	}
	l.h.Cols = l.columns(params, 1, false, func(k, _ int) uint64 {
		if m.Params[k].Kind == abi.Float64 {
			return math.Float64bits(2)
		}
		return 2
	}, func(int) string { return "-" })
	call(abi.ExportConfigure, l.finish(abi.MinOutput))

	const most = 100 // records and groups of a call
	var accs [][]byte
	for round := range 20 {
		rows, groups := 1+r.IntN(most), 1+r.IntN(20)
		// Fresh accumulators, of fixed size.
		l := &layout{}
		l.place(abi.HeaderBytes)
		l.h.Groups = uint32(groups)
		if m.Width > 0 {
			l.h.Acc = l.place(groups * m.Width)
		}
		fresh := answered(m, call(abi.ExportCreate, l.finish(abi.MinOutput)), &l.h, groups)

		l = &layout{}
		l.place(abi.HeaderBytes)
		l.h.Rows, l.h.Groups, l.h.NumCols = uint32(rows), uint32(groups), uint32(len(m.Inputs))
		l.h.Cols = l.columns(m.Inputs, rows, false, func(k, _ int) uint64 {
			if m.Inputs[k].Kind == abi.Float64 {
				return math.Float64bits(r.NormFloat64())
			}
			return r.Uint64N(1 << 30)
		}, func(int) string { return fmt.Sprintf("text %d", r.IntN(50)) })
		l.h.Group = l.place(4 * rows)
		for i := range rows {
			l.put32(l.h.Group, i, uint32(r.IntN(groups)))
		}
		if m.Width > 0 {
			l.h.Acc = l.accs(m.Width, fresh)
		}
		added := answered(m, call(abi.ExportAdd, l.finish(16_000)), &l.h, groups)

		if n := min(len(accs), groups); n > 0 {
			l = &layout{}
			l.place(abi.HeaderBytes)
			l.h.Groups = uint32(n)
			l.h.Acc, l.h.From = l.accs(m.Width, accs[:n]), l.accs(m.Width, added[:n])
			copy(accs, answered(m, call(abi.ExportMerge, l.finish(16_000)), &l.h, n))
		}
		if accs = append(accs, added...); round%5 > 0 {
			continue
		}
		n := min(len(accs), 15)
		l = &layout{}
		l.place(abi.HeaderBytes)
		l.h.Groups, l.h.NumOuts = uint32(n), uint32(len(m.Outputs))
		l.h.Acc = l.accs(m.Width, accs[:n])
		l.h.OutCols = l.columns(m.Outputs, n, true, nil, nil)
		call(abi.ExportResult, l.finish(16_000))
	}
}
