package udf

// Kept says what a state is that is upgraded. The numbers are those of abi.Kept.
type Kept uint32

// What functions keep.
const (
	KeptAccumulator Kept = 0
	KeptOfKey       Kept = 1
	KeptOfWindow    Kept = 2
	KeptOfSplit     Kept = 3
)

// Upgrader is a function that converts what an older version of it kept. It is called
// between the making of the function and its first other call, by the same goroutine.
type Upgrader interface {
	// Former says how large accumulators of an older schema were, 0 where they varied in
	// size; ok is false if the function cannot convert from it.
	Former(schema uint32) (width int, ok bool)
	// Upgrade converts states of an older schema, none of which is empty, one to one: the
	// answers are in their order, and belong to the caller. An error ends the restore: a
	// state that cannot be converted is nobody's record to set aside.
	Upgrade(what Kept, schema uint32, states [][]byte) ([][]byte, error)
}
