package source

import (
	"bufio"
	"io"
	"sync/atomic"
	"time"
)

// A pump reads ahead at most pumpChunks pieces of pumpChunk bytes: enough to keep a
// task busy while its writer is, and nothing for memory.
const (
	pumpChunks = 4
	pumpChunk  = 64 << 10
)

// pump reads an input that may keep its reader waiting, from a goroutine of its own,
// so that the task never waits.
//
// A read from a terminal or a blocking pipe cannot be interrupted. Close then leaves
// the goroutine where it stands; it ends with the next byte, or with the process,
// and touches nothing that anybody else uses.
type pump struct {
	name  string
	input io.Reader
	shut  func() error // closes the input; nil if it is somebody else's

	full  chan []byte   // pieces that were read, in order; closed at the end
	free  chan []byte   // pieces to read into
	err   error         // why full was closed
	ready chan struct{} // see Waker
	quit  chan struct{} // closed by Close
	done  chan struct{} // closed when the goroutine has ended
	// reading: the goroutine is, or may be, inside a read.
	reading atomic.Bool

	piece []byte // the rest of the piece that Read is at
	whole []byte // that piece, to give back
}

var _ Waker = (*pump)(nil)

// newPump starts reading.
func newPump(name string, input io.Reader, shut func() error) *pump {
	p := &pump{name: name, input: input, shut: shut,
		full: make(chan []byte, pumpChunks), free: make(chan []byte, pumpChunks),
		ready: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	for range pumpChunks {
		p.free <- make([]byte, pumpChunk)
	}
	go p.run()
	return p
}

func (p *pump) run() {
	defer close(p.done)
	p.err = p.copy()
	close(p.full)
	p.wake()
}

// copy reads until the end, an error, or Close.
func (p *pump) copy() error {
	defer p.reading.Store(false)
	var r io.Reader
	for {
		var b []byte
		select {
		case b = <-p.free:
		case <-p.quit:
			return io.ErrClosedPipe
		}
		p.reading.Store(true)
		select {
		case <-p.quit: // looked at after reading is set: Close sees one of the two
			return io.ErrClosedPipe
		default:
		}
		if r == nil {
			var free func()
			var err error
			if r, free, err = unpacked(p.input); err != nil {
				return err
			}
			if free != nil {
				defer free()
			}
		}
		n, err := r.Read(b[:cap(b)])
		p.reading.Store(false)
		if n > 0 {
			p.full <- b[:n] // never waits: there are no more pieces than places
			p.wake()
		} else {
			p.free <- b
		}
		if err != nil {
			return err
		}
	}
}

// unpacked returns the bytes of an input that may be compressed. It asks for no
// more bytes than it takes to tell.
func unpacked(input io.Reader) (io.Reader, func(), error) {
	r := bufio.NewReaderSize(input, packedBuffer)
	for n := 1; n <= magicLen; n++ {
		head, err := r.Peek(n)
		if err != nil || !undecided(head) {
			return decompress(compressionOf(head), r)
		}
	}
	return r, nil, nil
}

func (p *pump) wake() {
	select {
	case p.ready <- struct{}{}:
	default: // one is waiting already
	}
}

// Ready implements Waker.
func (p *pump) Ready() <-chan struct{} { return p.ready }

// Read implements Reader.
func (p *pump) Read(b []byte) (int, error) {
	if len(p.piece) == 0 {
		if p.whole != nil {
			p.free <- p.whole
			p.whole = nil
		}
		select {
		case piece, ok := <-p.full:
			if !ok {
				if p.err == io.EOF {
					return 0, io.EOF
				}
				return 0, readError(p.name, p.err)
			}
			p.piece, p.whole = piece, piece
		default:
			return 0, ErrWait
		}
	}
	n := copy(b, p.piece)
	p.piece = p.piece[n:]
	return n, nil
}

// Close implements Reader.
func (p *pump) Close() error {
	close(p.quit)
	interrupted := false
	if d, ok := p.input.(interface{ SetReadDeadline(time.Time) error }); ok {
		interrupted = d.SetReadDeadline(time.Unix(1, 0)) == nil // long past: a waiting read returns
	}
	if interrupted || !p.reading.Load() {
		<-p.done
	}
	if p.shut != nil {
		return p.shut()
	}
	return nil
}
