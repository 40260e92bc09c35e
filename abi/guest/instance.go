package guest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"tidemark/abi"
	"tidemark/abi/meter"
	"tidemark/internal/fault"
)

// Func names an export that takes a frame.
type Func int

// The exports that take a frame.
const (
	Configure Func = iota
	Create
	Add
	Merge
	Result
	Process
	Pair
	Watermark
	Tick
	Map
	Trigger
	Assign
	Apply
	Upgrade
	numFuncs
)

// String returns the export's name.
func (f Func) String() string {
	return [numFuncs]string{abi.ExportConfigure, abi.ExportCreate, abi.ExportAdd, abi.ExportMerge, abi.ExportResult, abi.ExportProcess, abi.ExportPair,
		abi.ExportWatermark, abi.ExportTick, abi.ExportMap, abi.ExportTrigger, abi.ExportAssign, abi.ExportApply, abi.ExportUpgrade}[f]
}

// Instance is a running module with its own memory. One goroutine uses it at a time.
//
// A call goes like this: write a frame to the start of Arena, Call, and take Arena
// anew, since a guest may have moved its memory. After an error the instance is
// dead: Close it and instantiate another one.
type Instance struct {
	ctx    context.Context // carries state to the host functions; no caller's context
	module *Module
	mod    api.Module
	own    *memory
	begun  uint32 // bytes of memory that the module begins with
	mem    api.Memory
	funcs  [numFuncs]api.Function
	stack  [1]uint64
	addr   uint32
	size   uint32
	state  *state
	broken bool
}

// Instantiate makes an instance and asks for its arena. The caller configures it.
// A *Trap says that the guest broke down on the way.
//
// The end of ctx ends any call of the instance, also later, as soon as the guest asks
// for more fuel. The error is then the cause, and no *Trap.
func (m *Module) Instantiate(ctx context.Context) (*Instance, error) {
	i, err := m.instance(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := i.start(); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// instance makes an instance that has not run yet. With scratch, which has as many bytes as
// the module begins with, the module's data is put there; the memory is the instance's own
// from when it grows.
func (m *Module) instance(ctx context.Context, scratch []byte) (*Instance, error) {
	var own *memory
	allocate := experimental.MemoryAllocatorFunc(func(_, max uint64) experimental.LinearMemory {
		own = newMemory(max)
		if scratch != nil {
			return &later{own, scratch}
		}
		return own
	})
	mod, err := m.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, allocate), m.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		if own != nil {
			own.Free()
		}
		// Imports and types are checked; what is left is data that lies outside the
		// memory and the like.
		return nil, fault.Userf("instantiate plug-in %s: %w", m.manifest.Name, err)
	}
	i := &Instance{module: m, mod: mod, mem: mod.Memory(), own: own, begun: mod.Memory().Size(), state: newState()}
	i.ctx = context.WithValue(context.Background(), stateKey{}, i.state)
	i.state.tank = tank{ctx: ctx, turn: turnOf(ctx), fuel: global(mod, meter.Fuel), room: global(mod, meter.Room)}
	for f := range numFuncs {
		i.funcs[f] = mod.ExportedFunction(f.String())
	}
	return i, nil
}

func global(mod api.Module, name string) api.MutableGlobal {
	return mod.ExportedGlobal(name).(api.MutableGlobal) // the rewriter has made it
}

func (i *Instance) start() error {
	if f := i.mod.ExportedFunction(abi.ExportInitialize); f != nil {
		if err := i.run(f, 0, 0); err != nil {
			return err
		}
	}
	if err := i.run(i.mod.ExportedFunction(abi.ExportArena), 0, 0); err != nil {
		return err
	}
	addr, size := uint32(i.stack[0]>>32), uint32(i.stack[0])
	switch {
	case addr%8 != 0:
		return i.Lie("the arena is at %d, not a multiple of 8", addr)
	case size < abi.MinArena:
		return i.Lie("the arena has %d bytes, it must have at least %d", size, abi.MinArena)
	case uint64(addr)+uint64(size) > uint64(i.mem.Size()):
		return i.Lie("the arena, %d bytes at %d, ends outside the memory of %d bytes", size, addr, i.mem.Size())
	}
	i.addr, i.size = addr, size
	return nil
}

// Has reports whether the module exports f, which it need not.
func (i *Instance) Has(f Func) bool { return i.funcs[f] != nil }

// Arena returns the guest's arena. Writes go straight to the guest; the slice is
// stale after the next Call.
func (i *Instance) Arena() []byte {
	b, ok := i.mem.Read(i.addr, i.size)
	if !ok {
		panic("BUG: the arena is outside a memory that cannot shrink")
	}
	return b
}

// Call calls f on the frame at the start of the arena. The error is a *Trap, or the
// cause of the end of the instance's context; without it, status is OK, Refused or
// OutputFull. No allocation: called per batch.
func (i *Instance) Call(f Func) (abi.Status, error) {
	s, err := i.Try(f)
	if err != nil {
		return 0, err
	}
	switch s {
	case abi.OK, abi.Refused, abi.OutputFull:
		return s, nil
	case abi.BadFrame:
		return 0, i.Lie("%s cannot read the frame", f)
	default:
		return 0, i.Lie("%s answers status %d, which does not exist", f, uint32(s))
	}
}

// Try is Call for who judges the status alone: it may be any number, and the instance goes
// on in any case but an error.
func (i *Instance) Try(f Func) (abi.Status, error) {
	if i.broken {
		panic("BUG: a call on an instance that has trapped")
	}
	i.stack[0] = uint64(i.addr)
	if err := i.run(i.funcs[f], i.field(abi.AtRows), i.field(abi.AtGroups)); err != nil {
		return 0, err
	}
	return abi.Status(uint32(i.stack[0])), nil
}

// run calls a function with what is in i.stack, and with fuel for so many records and
// accumulators.
func (i *Instance) run(f api.Function, rows, groups uint32) error {
	i.state.printed.reset()
	if err := i.state.tank.fill(rows, groups); err != nil {
		i.broken = true
		return err
	}
	err := f.CallWithStack(i.ctx, i.stack[:])
	i.state.tank.settle()
	if err != nil {
		return i.trap(err)
	}
	return nil
}

// Fuel is what the instance's calls have used.
func (i *Instance) Fuel() int64 { return i.state.tank.used }

// Op, Done and OutUsed are the guest's fields of the frame, unchecked.
func (i *Instance) Op() uint32 { return i.field(abi.AtOp) }

// Done is the guest's field done.
func (i *Instance) Done() uint32 { return i.field(abi.AtDone) }

// OutUsed is the guest's field out_used.
func (i *Instance) OutUsed() uint32 { return i.field(abi.AtOutUsed) }

func (i *Instance) field(at uint32) uint32 {
	return binary.LittleEndian.Uint32(i.Arena()[at:])
}

// trap makes the error of a call readable and ends the instance.
func (i *Instance) trap(err error) error {
	if bug, ok := errors.AsType[runtime.Error](err); ok {
		panic(fmt.Sprintf("BUG: host function of a guest: %v\n%v", bug, err))
	}
	i.broken = true
	if stop, ok := errors.AsType[*stopError](err); ok {
		return stop.cause
	}
	t := newTrap(err, i.state.printed.text())
	if i.size > 0 {
		t.Op = i.Op()
	}
	return t
}

// Lie ends the instance, because the guest gave an answer that contradicts SPEC.md.
func (i *Instance) Lie(format string, args ...any) error {
	i.broken = true
	t := &Trap{Op: abi.NoOp, Message: "protocol error: " + fmt.Sprintf(format, args...)}
	if i.size > 0 { // it has an arena, whose size was checked
		t.Op = i.Op()
	}
	return t
}

// Broken reports whether the instance has ended.
func (i *Instance) Broken() bool { return i.broken }

// Close frees the instance.
func (i *Instance) Close() {
	i.broken = true
	// The only error is an exit code, and the guest has none.
	_ = i.mod.Close(i.ctx)
}
