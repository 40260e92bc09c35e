package udf

import "tidemark/engine/stream"

// Process is a function that is shown each firing of a window: what the aggregates of
// the step made of it, its records, or both (S90). It gives any number of rows, to the
// step's results and to side outputs, and keeps state for each key and each window. The
// state is the host's; a Process keeps nothing between calls.
//
// Order of calls: Info any time; Call in any number; Close once, last. All calls come
// from the goroutine of the task that owns the Process. No argument is kept beyond the
// call that passes it.
//
// A call is all or nothing: after an error the caller drops the states and the rows that
// it passed and goes on with its own copies. Errors are of class *Failure when user code
// refused or broke down, with the firing in Op; anything else ends the job.
//
// What it gives for a firing depends on that firing and the two states alone, so a call
// may be cut between any two firings.
type Process interface {
	Info() ProcessInfo
	// Call takes firings in the order in which they happened. It appends rows to out[0],
	// the results, and to out[n], side output n of Info().Side counted from 1; all come
	// in empty. State that it puts is what later firings of the call find.
	Call(in *Firings, out []Emitted) error
	Close() error
}

// ProcessInfo describes a process function. It never changes during the life of an
// instance.
type ProcessInfo struct {
	// Inputs are columns with one row for each firing: results of aggregates and fields of
	// the key. A firing with a null in one that is not Nullable is not shown to the
	// function and gives no rows.
	Inputs []Input
	// Lists are the columns that it reads of the records of a firing: none if it does not
	// look at records, one entry for all of them, two for the sides of a coGroup. An
	// entry may be empty, for a function that only wants their number and times. Records
	// with a null in a column that is not Nullable are left out.
	Lists   [][]Input
	Outputs []stream.Field
	Side    []SideOutput
	// KeyState and WindowState: it keeps state of that sort (S91, S92).
	KeyState, WindowState bool
}

// SideOutput is a further output, by the name that sinks know it under.
type SideOutput struct {
	Name    string
	Outputs []stream.Field
}

// Firings are what a call carries, a row for each. Their number is N of Inputs.
type Firings struct {
	Inputs stream.Columns
	Window []stream.Window
	// Watermark and Now are event time and processing time as the firing saw them (S92).
	Watermark, Now []stream.Time
	// Revision counts the earlier firings of the window with contents (S70).
	Revision []uint32
	Lists    []FiringList
	// Keys and Windows are the states; two firings of one key or window share a slot.
	Keys, Windows States
}

// FiringList is the records of all firings of a call, one after the other: firing i has
// rows Off[i] to Off[i+1], in order of arrival.
type FiringList struct {
	stream.Columns
	Time []stream.Time // stream.MinTime for a record without one (S2)
	Off  []uint32
}

// States are the states of one sort that a call reads and writes. No state and a state
// of no bytes are the same.
type States struct {
	Slot []uint32 // of each firing; empty if the function keeps no such state
	Data [][]byte // by slot; nil: none
	Put  []bool   // by slot: Set was called
	// Keep: Past receives every Set, in order.
	Keep bool
	Past []StateSet
}

// StateSet is a state that an item of a call has left.
type StateSet struct {
	Item int
	Data []byte // nil: none
}

// Get returns the state that firing i finds. It must not be changed.
func (s *States) Get(i int) []byte { return s.Data[s.Slot[i]] }

// Set replaces it. data is the callee's from here on; nil removes the state.
func (s *States) Set(i int, data []byte) {
	if len(data) == 0 {
		data = nil
	}
	s.Data[s.Slot[i]], s.Put[s.Slot[i]] = data, true
	if s.Keep {
		s.Past = append(s.Past, StateSet{i, data})
	}
}

// Reset empties the states for reuse.
func (s *States) Reset() {
	clear(s.Data)
	s.Slot, s.Data, s.Put, s.Past = s.Slot[:0], s.Data[:0], s.Put[:0], s.Past[:0]
}

// Add appends a slot with a state and returns its number.
func (s *States) Add(data []byte) uint32 {
	s.Data, s.Put = append(s.Data, data), append(s.Put, false)
	return uint32(len(s.Data) - 1)
}
