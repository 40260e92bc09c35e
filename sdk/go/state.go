package tidemark

import (
	"reflect"
	"unsafe"
)

// stateBytes is the longest state of a key or a window (abi/SPEC.md, section 2).
const stateBytes = 1 << 20

// State is what a function keeps: what FixedState and BytesState declare.
type State interface{ state() *slots }

// Stateful is what has states: a Firing, a Timed, or a Pane.
type Stateful interface {
	// slot is the number, in the frame, of the state of a sort that an entry has.
	slot(what uint32) uint32
	entries() *answer
}

// slots are the states of one sort that the firings of a frame find and leave behind.
type slots struct {
	what uint32   // of an entry with a new state
	now  [][]byte // by slot
	next []byte   // what the current firing has set
	set  bool     // it has set one
	of   uint32   // the slot that it has set
}

// open takes the states of a frame.
func (s *slots) open(f frame, at uint32, n int) bool {
	if n > maxCount {
		return false
	}
	off, good := slice[uint32](f, at, n+1)
	if !good {
		return false
	}
	data, good := slice[byte](f, at+uint32(4*(n+1)+7)&^7, int(off[n]))
	if !good {
		return false
	}
	s.now, s.set = s.now[:0], false
	for i := range n {
		s.now = append(s.now, data[off[i]:off[i+1]:off[i+1]])
	}
	return true
}

func (s *slots) get(f Stateful) []byte {
	if s.what == 0 {
		panic("tidemark: the state belongs to no function; name it in its spec")
	}
	if now := s.now[f.slot(s.what)]; !s.set || s.of != f.slot(s.what) {
		return now
	}
	return s.next
}

// replace makes room for a new state of n bytes, for the caller to fill in.
func (s *slots) replace(f Stateful, n int) []byte {
	if f.entries() == nil {
		panic("tidemark: the state of a window that was merged into another is read only")
	}
	if n > stateBytes {
		panic("tidemark: a state is longer than 1 MiB")
	}
	if cap(s.next) < n {
		s.next = make([]byte, n)
	}
	s.next, s.set, s.of = s.next[:n], true, f.slot(s.what)
	return s.next
}

// leave puts what has been set into the output area, where what comes later in the frame
// finds it.
func (s *slots) leave(of Stateful) {
	if !s.set {
		return
	}
	s.set = false
	f := of.entries()
	at, room := f.entry(s.what, len(s.next))
	if !room {
		return
	}
	body := f.f.out[at:f.f.outUsed:f.f.outUsed]
	copy(body, s.next)
	s.now[of.slot(s.what)] = body
	f.pad()
}

// Fixed is a state that is a plain struct (or number or array) without pointers.
type Fixed[T any] struct {
	slots
	gaps []gap
}

// FixedState declares a state whose memory is what the host keeps, of at most 4,096 bytes:
// a changed layout needs a new ProcessSpec.Schema.
func FixedState[T any]() *Fixed[T] {
	t := reflect.TypeFor[T]()
	if field := pointerIn(t); field != "" {
		panic("tidemark: state " + t.String() + " holds " + field + ": a fixed state has no pointers, strings, slices, maps or interfaces; use BytesState")
	}
	if t.Size() == 0 || t.Size() > maxWidth {
		panic("tidemark: state " + t.String() + " has no bytes or more than 4,096")
	}
	return &Fixed[T]{gaps: gapsIn(t, t.Size())}
}

func (s *Fixed[T]) state() *slots { return &s.slots }

// Get returns the state; without one, and if the one that is there has another size, it is
// the zero value and there is false.
func (s *Fixed[T]) Get(f Stateful) (v T, there bool) {
	b := s.get(f)
	if uintptr(len(b)) != unsafe.Sizeof(v) {
		return v, false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), len(b)), b)
	return v, true
}

// Set replaces the state.
func (s *Fixed[T]) Set(f Stateful, v T) {
	n := int(unsafe.Sizeof(v))
	b := s.replace(f, n)
	copy(b, unsafe.Slice((*byte)(unsafe.Pointer(&v)), n))
	clearGaps(b, s.gaps)
}

// Clear removes the state.
func (s *Fixed[T]) Clear(f Stateful) { s.replace(f, 0) }

// Bytes is a state that varies in size.
type Bytes struct{ slots }

// BytesState declares a state that the function encodes itself, of at most 1 MiB.
func BytesState() *Bytes { return &Bytes{} }

func (s *Bytes) state() *slots { return &s.slots }

// Get returns the state, nothing if there is none. It is valid until the next Set and until
// the function returns, and must not be changed.
func (s *Bytes) Get(f Stateful) []byte { return s.get(f) }

// Set replaces the state with a copy of b; one of no bytes is removed.
func (s *Bytes) Set(f Stateful, b []byte) { copy(s.replace(f, len(b)), b) }
