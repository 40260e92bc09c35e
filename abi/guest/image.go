package guest

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"tidemark/abi"
	"tidemark/abi/meter"
)

// Image is an instance at the moment after its configuration: instances that are made of
// it begin there, without running the guest. They answer as one would that was started and
// configured anew, and have used as much fuel: a guest is its memory and its globals, and
// what the host keeps for it.
//
// On Linux their memories are one, until they write: a page is copied when it is written
// first. Safe for concurrent use. Close it before its module.
type Image struct {
	module  *Module
	begun   uint32 // bytes of memory that the module begins with
	size    uint32 // and those of the image
	globals []uint64
	addr    uint32 // of the arena
	arena   uint32 // its size
	clock   uint64
	seed    uint64
	spent   spending

	mu     sync.RWMutex
	memory *savedMemory // nil: closed

	// The runtime copies a module's data into each instance, where pages of the image are to
	// be. If the image is larger, that is let happen elsewhere, again and again in the same
	// place, whose pages are there by now: half a MiB that need not be made, and dropped.
	making  sync.Mutex
	scratch *memory
}

// spending is what a tank tells of calls: all of them, and the last.
type spending struct {
	used, given, limit, left int64
	rows, groups             uint32
}

// minImage is what a start must have cost, in fuel, beside what its memory did, for an image
// to be made of it: making a new instance costs as much as this in any case.
const minImage = fuelGiven

// Capture makes an image of an instance that has been configured and has done nothing
// else. ok is false where starting anew is cheap, or where the guest has state that cannot be
// told from outside: tables and segments that its code changes, and vectors as globals.
func (i *Instance) Capture() (img *Image, ok bool) {
	t := &i.state.tank
	grown := int64(i.mem.Size()-i.begun) / abi.PageBytes
	if i.broken || t.used-grown*meter.PageFuel < minImage || i.mod.ExportedGlobal(meter.Complete) == nil {
		return nil, false
	}
	memory, ok := i.mem.Read(0, i.mem.Size())
	if !ok {
		panic("BUG: a memory that cannot be read as a whole")
	}
	saved := saveMemory(memory)
	if saved == nil {
		return nil, false
	}
	img = &Image{module: i.module, begun: i.begun, size: i.mem.Size(), addr: i.addr, arena: i.size, clock: i.state.clock, seed: i.state.seed,
		spent: spending{t.used, t.given, t.limit, t.left(), t.rows, t.groups}, memory: saved}
	for g := range globals(i.mod) {
		img.globals = append(img.globals, g.Get())
	}
	return img, true
}

// globals are those of the guest that can be changed.
func globals(mod api.Module) func(yield func(api.MutableGlobal) bool) {
	return func(yield func(api.MutableGlobal) bool) {
		for n := 0; ; n++ {
			g, ok := mod.ExportedGlobal(meter.Global + strconv.Itoa(n)).(api.MutableGlobal)
			if !ok || !yield(g) {
				return
			}
		}
	}
}

// Instantiate makes an instance of the image, which is configured. ctx is that of
// Module.Instantiate. An error is the machine's: starting anew may succeed.
func (img *Image) Instantiate(ctx context.Context) (*Instance, error) {
	img.mu.RLock()
	defer img.mu.RUnlock()
	if img.memory == nil {
		return nil, fmt.Errorf("instantiate plug-in %s: its image is closed", img.module.manifest.Name)
	}
	i, err := img.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := img.restore(i); err != nil {
		i.Close()
		return nil, fmt.Errorf("instantiate plug-in %s from its image: %w", img.module.manifest.Name, err)
	}
	return i, nil
}

// begin makes an instance with a memory of the image's size, whatever is in it.
func (img *Image) begin(ctx context.Context) (*Instance, error) {
	if img.size == img.begun {
		return img.module.instance(ctx, nil)
	}
	img.making.Lock()
	defer img.making.Unlock()
	if img.scratch == nil {
		img.scratch = newMemory(uint64(img.begun))
	}
	i, err := img.module.instance(ctx, img.scratch.pages)
	if err != nil {
		return nil, err
	}
	if _, ok := i.mem.Grow((img.size - img.begun) / abi.PageBytes); !ok {
		i.Close()
		return nil, fmt.Errorf("instantiate plug-in %s: its memory of %d bytes cannot grow to %d", img.module.manifest.Name, img.begun, img.size)
	}
	return i, nil
}

func (img *Image) restore(i *Instance) error {
	if err := i.own.load(img.memory, int(img.size)); err != nil {
		return err
	}
	n := 0
	for g := range globals(i.mod) {
		g.Set(img.globals[n])
		n++
	}
	i.addr, i.size = img.addr, img.arena
	i.state.clock, i.state.seed = img.clock, img.seed
	t, s := &i.state.tank, img.spent
	t.used, t.given, t.limit, t.rows, t.groups = s.used, s.given, s.limit, s.rows, s.groups
	t.fuel.Set(uint64(s.left))
	t.room.Set(stackBytes)
	return nil
}

// Close frees what the image holds. Instances that are made of it live on.
func (img *Image) Close() {
	img.mu.Lock()
	defer img.mu.Unlock()
	if img.memory != nil {
		img.memory.free()
		img.memory = nil
	}
	if img.scratch != nil {
		img.scratch.Free()
	}
}

// piece is a piece of a memory that is not zero.
type piece struct{ at, size int }

// pieces finds what is not zero in a memory, in steps that every system can map.
func pieces(memory []byte) (out []piece) {
	var zero [abi.PageBytes]byte
	for at := 0; at < len(memory); at += abi.PageBytes {
		end := min(at+abi.PageBytes, len(memory))
		if string(memory[at:end]) == string(zero[:end-at]) {
			continue
		}
		if n := len(out) - 1; n >= 0 && out[n].at+out[n].size == at {
			out[n].size += end - at
		} else {
			out = append(out, piece{at, end - at})
		}
	}
	return out
}
