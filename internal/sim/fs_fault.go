package sim

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"time"
)

// Op is the name of a call of env.FS or env.File.
type Op string

// The calls. Those on open files have the name that the file was opened by.
const (
	OpOpen     Op = "open"
	OpCreate   Op = "create"
	OpStat     Op = "stat"
	OpReadDir  Op = "readdir"
	OpGlob     Op = "glob"
	OpMkdirAll Op = "mkdirall"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpLink     Op = "link"
	OpLock     Op = "lock"
	OpSyncDir  Op = "syncdir"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpSeek     Op = "seek"
	OpFileStat Op = "fstat"
	OpSync     Op = "sync"
	OpTruncate Op = "truncate"
	OpClose    Op = "close"
)

// Changes are the calls that change what is there, or how durable it is.
func Changes() []Op {
	return []Op{OpCreate, OpMkdirAll, OpRename, OpRemove, OpLink, OpLock, OpSyncDir, OpWrite, OpSync, OpTruncate}
}

// Call is a call that is about to be made.
type Call struct {
	Op   Op
	Name string // the path as it was given; of a rename or link, the old one
	Nth  int    // among the calls of Op with Name, from 1
	Size int    // of what is to be read or written, in bytes
}

// Outcome is what becomes of a call. The zero Outcome is that nothing is wrong.
type Outcome struct {
	// Delay is how long the call takes, by the clock of the file system.
	Delay time.Duration
	// Err is what the call returns, in the error that the os package would give.
	Err error
	// Halt ends the process in this call: this one and all that follow return ErrGone.
	Halt bool
	// Done has a call that fails or halts do all the same what it should.
	Done bool
	// Bytes of a read or write that fails or halts are done before that.
	Bytes int
}

// Fault decides what becomes of calls. It is called for one after the other, and must not
// call the file system itself.
type Fault func(Call) Outcome

// Inject replaces the faults of a file system; with none, nothing fails. The first one
// that does not give the zero Outcome decides.
func (f *FS) Inject(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

// Calls is how many calls of these names there were, of all with none. Calls of a process
// that has ended do not count.
func (f *FS) Calls(ops ...Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for op, calls := range f.counts {
		if len(ops) == 0 || slices.Contains(ops, op) {
			n += calls
		}
	}
	return n
}

// call makes a call: it is counted, meets its fault, and otherwise is act, under the mutex.
// act gets the number of bytes that it may read or write.
func (f *FS) call(op Op, name string, size int, act func(size int) error) error {
	f.mu.Lock()
	yield, clock := f.yield, f.clock
	f.mu.Unlock()
	if yield != nil {
		yield(op, name)
	}
	out, err := f.meet(op, name, size)
	if err != nil {
		return err
	}
	if out.Delay > 0 {
		// A call does not end early because a job is to: it has no context.
		_ = clock.Sleep(context.Background(), out.Delay)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone { // meanwhile
		return failed(op, name, ErrGone)
	}
	err = out.Err
	if out.Halt {
		f.gone, err = true, ErrGone
	}
	if err == nil || out.Done {
		if aerr := act(size); err == nil {
			err = aerr
		}
	} else if out.Bytes > 0 && (op == OpRead || op == OpWrite) {
		if aerr := act(min(size, out.Bytes)); aerr != nil && !out.Halt {
			err = aerr
		}
	}
	return failed(op, name, err)
}

// meet counts a call and asks what becomes of it.
func (f *FS) meet(op Op, name string, size int) (Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return Outcome{}, failed(op, name, ErrGone)
	}
	at := target{op, name}
	f.counts[op]++
	f.nth[at]++
	for _, fault := range f.faults {
		if out := fault(Call{Op: op, Name: name, Nth: f.nth[at], Size: size}); out != (Outcome{}) {
			return out, nil
		}
	}
	return Outcome{}, nil
}

// failed is an error as the os package gives it.
func failed(op Op, name string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	var known *fs.PathError
	if errors.As(err, &known) {
		return err
	}
	return &fs.PathError{Op: string(op), Path: name, Err: err}
}

// counter counts the calls of some names, or of all with none.
type counter struct {
	ops []Op
	n   int
}

// counts counts a call, and reports whether it is one of them.
func (c *counter) counts(call Call) bool {
	if len(c.ops) > 0 && !slices.Contains(c.ops, call.Op) {
		return false
	}
	c.n++
	return true
}

// FailNth fails the n-th call of these names, counted from 1 and from now, of all with
// none.
func FailNth(n int, err error, ops ...Op) Fault {
	c := counter{ops: ops}
	return func(call Call) Outcome {
		if c.counts(call) && c.n == n {
			return Outcome{Err: err}
		}
		return Outcome{}
	}
}

// FailFrom fails the n-th call of these names and all that follow.
func FailFrom(n int, err error, ops ...Op) Fault {
	c := counter{ops: ops}
	return func(call Call) Outcome {
		if c.counts(call) && c.n >= n {
			return Outcome{Err: err}
		}
		return Outcome{}
	}
}

// ShortNth lets the n-th write have its first bytes only, and then fail.
func ShortNth(n, bytes int, err error) Fault {
	c := counter{ops: []Op{OpWrite}}
	return func(call Call) Outcome {
		if c.counts(call) && c.n == n {
			return Outcome{Err: err, Bytes: bytes}
		}
		return Outcome{}
	}
}

// HaltNth ends the process in the n-th call of these names, of all with none. Whether that
// call still has its effect, and a write how much, comes from the seed.
func HaltNth(n int, seed uint64, ops ...Op) Fault {
	c := counter{ops: ops}
	return func(call Call) Outcome {
		if !c.counts(call) || c.n != n {
			return Outcome{}
		}
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		return Outcome{Halt: true, Done: r.IntN(2) == 0, Bytes: r.IntN(call.Size + 1)}
	}
}

// Slow has every call of these names, of all with none, take some time.
func Slow(d time.Duration, ops ...Op) Fault {
	c := counter{ops: ops}
	return func(call Call) Outcome {
		if c.counts(call) {
			return Outcome{Delay: d}
		}
		return Outcome{}
	}
}

// Odds say how often what goes wrong, each from 0, never, to 1, always.
type Odds struct {
	Fail  float64 // a call fails
	Short float64 // a write fails after a part
	Slow  float64 // a call takes up to Delay

	Errors []error // what it fails with; at least one where something can
	Delay  time.Duration
	Ops    []Op // these calls only; all with none
}

// Seeded fails calls at random. What becomes of the n-th call of a name on a path follows
// from the seed alone, in whatever order goroutines make their calls.
func Seeded(seed uint64, o Odds) Fault {
	return func(call Call) Outcome {
		if len(o.Ops) > 0 && !slices.Contains(o.Ops, call.Op) {
			return Outcome{}
		}
		r := rand.New(rand.NewPCG(seed, digest(call.Op, call.Name, call.Nth)))
		var out Outcome
		if r.Float64() < o.Slow && o.Delay > 0 {
			out.Delay = 1 + time.Duration(r.Int64N(int64(o.Delay)))
		}
		switch p := r.Float64(); {
		case p < o.Fail:
			out.Err = o.Errors[r.IntN(len(o.Errors))]
		case p < o.Fail+o.Short && call.Op == OpWrite && call.Size > 0:
			out.Err, out.Bytes = o.Errors[r.IntN(len(o.Errors))], r.IntN(call.Size)
		}
		return out
	}
}

// digest makes a number of what a decision is about.
func digest(op Op, name string, nth int) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, string(op)+"\x00"+name+"\x00")
	return h.Sum64() ^ uint64(nth)*0x9e3779b97f4a7c15
}
