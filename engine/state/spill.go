package state

import (
	"encoding/binary"

	"tidemark/engine/stream"
)

// Spill is where an operator leaves the state that has no room in memory: what was not asked
// for in the longest time, until it is. It is the operator's alone.
//
// What is on disk is not in memory and the other way round: what comes back is deleted
// there, and written again when its turn to leave comes. Nobody can tell where a piece of
// state was but by the time that it takes.
type Spill struct {
	// Open makes a backing that is empty.
	Open func() Backing
	// Memory in bytes is what the operator may hold. It is kept to between batches: what one
	// batch brings comes on top.
	Memory int64
}

// Spilled tells what an operator has on disk.
type Spilled struct {
	Pieces int64
	Bytes  int64 // of names and values
}

// Plus adds up.
func (s Spilled) Plus(t Spilled) Spilled {
	return Spilled{Pieces: s.Pieces + t.Pieces, Bytes: s.Bytes + t.Bytes}
}

const (
	// roomShare of the memory is what is still taken when room has been made.
	roomShare = 0.875
	// SpillBatch is how many bytes are written at once.
	SpillBatch = 256 << 10
)

// Room is what may be held when room has been made.
func (s *Spill) Room() int64 { return int64(roomShare * float64(s.Memory)) }

// AppendTime appends a time to a name so that names come in order of times.
func AppendTime(name []byte, t stream.Time) []byte {
	return binary.BigEndian.AppendUint64(name, uint64(t)^1<<63)
}

// TimeIn is the time that a name begins with.
func TimeIn(name []byte) stream.Time {
	return stream.Time(binary.BigEndian.Uint64(name) ^ 1<<63)
}

// Behind is the first name behind all that begin with a prefix, of which some byte is not
// 0xff.
func Behind(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; ; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
}
