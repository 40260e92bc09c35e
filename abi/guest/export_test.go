package guest

import "slices"

// Whole is all that an instance is, for tests that compare two.
func (i *Instance) Whole() (memory []byte, globalValues []uint64, host []uint64) {
	memory, _ = i.mem.Read(0, i.mem.Size())
	for g := range globals(i.mod) {
		globalValues = append(globalValues, g.Get())
	}
	t := &i.state.tank
	return slices.Clone(memory), globalValues, []uint64{i.state.clock, i.state.seed, uint64(t.used), uint64(t.given), uint64(t.limit), uint64(t.left()), uint64(t.rows), uint64(t.groups), uint64(i.addr), uint64(i.size)}
}
