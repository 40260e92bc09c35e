package wasm

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// The states that an older version of a plug-in kept are converted by the new one, when a
// job goes on from a checkpoint (SPEC section 3, frames of tm_upgrade).

var _ udf.Upgrader = (*worker)(nil)

// Former implements udf.Upgrader.
func (a *worker) Former(schema uint32) (width int, ok bool) {
	u, ok := a.module.Manifest().Former(schema)
	return u.Width, ok
}

// Upgrade implements udf.Upgrader. Behind a trap the states come one by one, and one that
// traps as the first of a fresh instance is to blame, as with records.
func (a *worker) Upgrade(what udf.Kept, schema uint32, states [][]byte) ([][]byte, error) {
	u := upgrading{worker: a, what: abi.Kept(what), schema: schema, states: states, width: -1}
	if what == udf.KeptAccumulator {
		u.width = a.module.Manifest().Aggregate.Width
	}
	call := &itemCall{
		fn: guest.Upgrade, n: len(states), item: "a state", answers: "an upgraded state",
		number: plain, fill: u.fill, frame: u.frame, take: u.take,
	}
	for len(u.out) < len(states) {
		u.base = len(u.out)
		call.n = u.share()
		err := a.each(call)
		if err == nil {
			continue
		}
		fail, ok := errors.AsType[*udf.Failure](err)
		if !ok { // the job ends
			return nil, err
		}
		if fail.Trap && (!u.alone || len(u.out) > u.base) {
			u.alone = true
			continue
		}
		return nil, fault.As(fault.ErrGuest, fmt.Errorf("plug-in %s cannot upgrade what it keeps from schema %d: %s", a.name, schema, fail.Message))
	}
	return u.out, nil
}

// maxUpgrade bounds the bytes of states that one call is about, unless it is a single one;
// what it answers is bounded by maxAnswer.
const maxUpgrade = 8 << 20

// share returns how many states the next call is about: at least one.
func (u *upgrading) share() int {
	n, size := 0, 0
	for _, s := range u.states[u.base:] {
		if size += max(len(s), u.width); n > 0 && size > maxUpgrade {
			break
		}
		n++
	}
	return n
}

// upgrading is a call for many states.
type upgrading struct {
	*worker
	what   abi.Kept
	schema uint32
	states [][]byte
	width  int  // of the answers; 0: they vary, -1: states
	base   int  // states before those of the call
	alone  bool // one state a frame, behind a trap
	cut    udf.Accs
	out    [][]byte
}

// fill cuts out states from base on, n or as many as leave half of the arena to the answer,
// and at least one.
func (u *upgrading) fill(base, n, arena int) (k, bytes int) {
	if u.alone {
		n = 1
	}
	u.cut.Reset(0)
	for k < n {
		state := u.states[u.base+base+k]
		if k > 0 && abi.HeaderBytes+abi.BlockBytes+accsBytes(&u.cut, 0, k)+len(state)+16 > arena/2 {
			break
		}
		u.cut.Append(state)
		k++
	}
	return k, abi.HeaderBytes + abi.BlockBytes + accsBytes(&u.cut, 0, k)
}

func (u *upgrading) frame(k int, arena []byte) frame {
	f := newFrame(arena, k)
	block, at := f.place(abi.BlockBytes)
	f.h.Block = at
	f.h.Acc = f.accs(&u.cut, 0, k)
	f.finish(math.MaxInt)
	b := abi.Block{Items: u.schema, Keys: uint32(u.what)}
	b.Put(block)
	return f
}

// take takes the states that were answered for the first n of a frame.
func (u *upgrading) take(base, n int, answer []byte) (item int, err error) {
	var accs udf.Accs
	accs.Reset(0)
	if err := takeAccs(answer, n, &accs); err != nil {
		return 0, err
	}
	for i := range n {
		state := accs.At(i)
		switch {
		case u.width > 0 && len(state) != u.width:
			return i, fmt.Errorf("an upgraded accumulator has %d bytes, it must be %d", len(state), u.width)
		case u.width < 0 && len(state) == 0:
			return i, errors.New("an upgraded state has no bytes")
		}
		u.out = append(u.out, slices.Clone(state))
	}
	return 0, nil
}
