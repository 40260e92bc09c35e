package guest

import "tidemark/abi"

// Usage is what a call has taken, and what it might have. Units of fuel are those of
// abi/SPEC.md, section 8; memory is in bytes, of the whole instance.
type Usage struct {
	Fuel, FuelLimit     int64
	Memory, MemoryLimit int64
}

// Usage is that of the last call, also of one that has trapped. An instance that is closed
// has none.
func (i *Instance) Usage() Usage {
	return Usage{Fuel: i.state.tank.spent(), FuelLimit: i.state.tank.limit, Memory: int64(i.mem.Size()), MemoryLimit: abi.MaxMemoryPages * abi.PageBytes}
}

// Printed is what the last call has printed: of each of its ends at most abi.MaxCapture bytes.
func (i *Instance) Printed() string { return i.state.printed.text() }
