package window

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"tidemark/engine/state"
	"tidemark/internal/fault"
)

// cutOf is a cut of an operator, read: none of these is on a disk that fails.
func cutOf(op interface{ Freeze() state.Cut }) state.Pieces {
	p, err := op.Freeze().Read()
	if err != nil {
		panic(err)
	}
	return p
}

// saved is the state of an operator in one piece.
func saved(op Operator) []byte {
	c := cutOf(op)
	all := binary.LittleEndian.AppendUint32(nil, uint32(len(c.Task)))
	all = append(all, c.Task...)
	for _, g := range c.Groups {
		all = binary.LittleEndian.AppendUint32(all, uint32(g.Group))
		all = binary.LittleEndian.AppendUint64(all, uint64(g.Floor))
		all = binary.LittleEndian.AppendUint32(all, uint32(len(g.State)))
		all = append(all, g.State...)
	}
	return all
}

// restored puts the state of an operator into another one.
func restored(t testing.TB, next, op Operator) Operator {
	t.Helper()
	if err := next.Restore(cutOf(op).AsItWas()); err != nil {
		t.Fatal(err)
	}
	return next
}

// refusesDamage restores every piece of an operator's state cut short anywhere, which must
// be refused, and with any byte changed, where nothing may break, whatever the bytes are:
// checksums are the checkpoint's. use goes on with an operator that was taken in.
func refusesDamage(t *testing.T, op Operator, open func() Operator, use func(Operator)) {
	t.Helper()
	cut := cutOf(op)
	if len(cut.Groups) == 0 {
		t.Fatal("there is no state")
	}
	with := func(piece int, b []byte) state.Restore {
		r := cut.AsItWas()
		if piece < 0 {
			r.Tasks = [][]byte{b}
			return r
		}
		r.Groups = append([]state.GroupCut(nil), cut.Groups...)
		r.Groups[piece].State = b
		return r
	}
	for piece := -1; piece < len(cut.Groups); piece++ {
		whole := cut.Task
		if piece >= 0 {
			whole = cut.Groups[piece].State
		}
		for n := range whole {
			if err := open().Restore(with(piece, whole[:n])); !errors.Is(err, fault.ErrCorrupt) {
				t.Fatalf("piece %d cut at %d of %d: %v", piece, n, len(whole), err)
			}
			bad := bytes.Clone(whole)
			bad[n] ^= 0x81
			next := open()
			if next.Restore(with(piece, bad)) == nil {
				next.Panes()
				cutOf(next)
				use(next)
			}
		}
	}
}
