package guest

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"tidemark/abi"
	"tidemark/abi/meter"
)

// state is what the host functions keep for an instance (SPEC section 7).
type state struct {
	printed capture
	tank    tank
	clock   uint64 // nanoseconds
	seed    uint64 // of splitmix64
	call    call   // the one that is running: guests may print often, so it is kept here
}

func newState() *state { return &state{clock: abi.ClockStart} }

type stateKey struct{}

// call is one call of a host function.
type call struct {
	*state
	mem   api.Memory
	stack []uint64
}

func (c *call) u32(param int) uint32 { return uint32(c.stack[param]) }

// piece returns a piece of the guest's memory to read or write, which is paid for.
func (c *call) piece(at, size uint32) (b []byte, ok bool) {
	if b, ok = c.mem.Read(at, size); ok {
		c.tank.pay(int64(size) / meter.BulkBytes)
	}
	return b, ok
}

// hostModule offers the functions of SPEC section 7 to the guests of a runtime.
func hostModule(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(abi.WASIModule)
	for _, f := range abi.WASI() {
		answer := answerOf(f.Name)
		fn := api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			s := ctx.Value(stateKey{}).(*state)
			s.call = call{s, mod.Memory(), stack}
			s.tank.pay(meter.HostCall)
			// A function without parameters has a stack as well, for its result.
			stack[0] = uint64(answer(&s.call))
		})
		t := f.Type()
		b.NewFunctionBuilder().WithGoModuleFunction(fn, valTypes(t.Params), valTypes(t.Results)).Export(f.Name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

func valTypes(ts []abi.ValType) []api.ValueType {
	out := make([]api.ValueType, len(ts))
	for i, t := range ts {
		out[i] = api.ValueType(t)
	}
	return out
}

func answerOf(name string) func(*call) abi.Errno {
	switch name {
	case "args_get", "environ_get", "sched_yield":
		return func(*call) abi.Errno { return abi.ErrnoSuccess }
	case "args_sizes_get", "environ_sizes_get":
		return noneGet
	case "clock_time_get":
		return clockTimeGet
	case "fd_write":
		return fdWrite
	case "poll_oneoff":
		return pollOneoff
	case "random_get":
		return randomGet
	case "proc_exit":
		// The runtime hands an ExitError on without a stack trace.
		return func(c *call) abi.Errno { panic(sys.NewExitError(c.u32(0))) }
	}
	return func(*call) abi.Errno { return abi.ErrnoBadF }
}

// noneGet is args_sizes_get(count, bytes).
func noneGet(c *call) abi.Errno {
	if !c.mem.WriteUint32Le(c.u32(0), 0) || !c.mem.WriteUint32Le(c.u32(1), 0) {
		return abi.ErrnoFault
	}
	return abi.ErrnoSuccess
}

// clockTimeGet is clock_time_get(clock, precision, time).
func clockTimeGet(c *call) abi.Errno {
	if !c.mem.WriteUint64Le(c.u32(2), c.clock) {
		return abi.ErrnoFault
	}
	return abi.ErrnoSuccess
}

// fdWrite is fd_write(fd, pieces, count, written); a piece is address and length.
func fdWrite(c *call) abi.Errno {
	if fd := c.u32(0); fd != 1 && fd != 2 {
		return abi.ErrnoBadF
	}
	if uint64(c.u32(2))*8 > math.MaxUint32 {
		return abi.ErrnoInval
	}
	pieces, ok := c.piece(c.u32(1), c.u32(2)*8)
	if !ok {
		return abi.ErrnoFault
	}
	var written uint64
	for ; len(pieces) > 0; pieces = pieces[8:] {
		p, ok := c.piece(binary.LittleEndian.Uint32(pieces), binary.LittleEndian.Uint32(pieces[4:]))
		if !ok {
			return abi.ErrnoFault
		}
		if written += uint64(len(p)); written > math.MaxUint32 {
			return abi.ErrnoInval
		}
		c.printed.write(p)
	}
	if !c.mem.WriteUint32Le(c.u32(3), uint32(written)) {
		return abi.ErrnoFault
	}
	return abi.ErrnoSuccess
}

// Layout of poll_oneoff's records, in bytes.
const (
	subscriptionBytes = 48 // userdata 8, tag 1 at 8, clock: timeout 8 at 24, flags 2 at 40
	eventBytes        = 32 // userdata 8, errno 2 at 8, type 1 at 10
	clockTag          = 0
	absoluteTime      = 1
)

// pollOneoff is poll_oneoff(subscriptions, events, count, answered).
func pollOneoff(c *call) abi.Errno {
	n := uint64(c.u32(2))
	if n == 0 || n*subscriptionBytes > math.MaxUint32 {
		return abi.ErrnoInval
	}
	in, ok := c.piece(c.u32(0), uint32(n*subscriptionBytes))
	if !ok {
		return abi.ErrnoFault
	}
	out, ok := c.piece(c.u32(1), uint32(n*eventBytes))
	if !ok {
		return abi.ErrnoFault
	}
	now := c.clock
	for ; len(in) > 0; in, out = in[subscriptionBytes:], out[eventBytes:] {
		var event [eventBytes]byte
		copy(event[:8], in)
		event[10] = in[8]
		if in[8] == clockTag {
			t := binary.LittleEndian.Uint64(in[24:])
			if binary.LittleEndian.Uint16(in[40:])&absoluteTime == 0 {
				t = min(t, math.MaxInt64-now) + now
			}
			c.clock = max(c.clock, min(t, math.MaxInt64))
		} else {
			event[8] = byte(abi.ErrnoBadF)
		}
		copy(out, event[:])
	}
	if !c.mem.WriteUint32Le(c.u32(3), uint32(n)) {
		return abi.ErrnoFault
	}
	return abi.ErrnoSuccess
}

// randomGet is random_get(address, length).
func randomGet(c *call) abi.Errno {
	b, ok := c.piece(c.u32(0), c.u32(1))
	if !ok {
		return abi.ErrnoFault
	}
	for len(b) > 0 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], c.next())
		b = b[copy(b, word[:]):]
	}
	return abi.ErrnoSuccess
}

// next is the next number of splitmix64.
func (s *state) next() uint64 {
	s.seed += 0x9e3779b97f4a7c15
	z := s.seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
