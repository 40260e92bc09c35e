package wasm

import (
	"slices"
	"sync"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// maxImages bounds the images of a module: jobs that run it with other arguments have
// other ones. An image of a plug-in in Go is a MiB or two and a descriptor.
const maxImages = 8

// images are what instances of a module begin from, by their arguments: an instance that
// has started and was configured is kept as an image when a second one is asked for, and
// from then on a start costs a fraction (guest.Image). Safe for concurrent use.
type images struct {
	mu   sync.Mutex
	list []*imageOf // the one that was asked for longest ago first
}

type imageOf struct {
	args   string
	starts int          // without an image
	image  *guest.Image // nil: there is none, yet or ever
}

// find returns the image for some arguments, nil for none.
func (m *images) find(args string) *guest.Image {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(args).image
}

// entry returns what is known of starts with some arguments.
func (m *images) entry(args string) *imageOf {
	e := &imageOf{args: args}
	if i := slices.IndexFunc(m.list, func(e *imageOf) bool { return e.args == args }); i >= 0 {
		e = m.list[i]
		m.list = slices.Delete(m.list, i, i+1)
	} else if len(m.list) == maxImages {
		m.list[0].close()
		m.list = slices.Delete(m.list, 0, 1)
	}
	m.list = append(m.list, e)
	return e
}

// started takes note of an instance that was started and configured with some arguments,
// and has done nothing else.
func (m *images) started(args string, inst *guest.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(args)
	if e.starts++; e.starts == 2 {
		e.image, _ = inst.Capture()
	}
}

func (e *imageOf) close() {
	if e.image != nil {
		e.image.Close()
	}
}

// close frees all images.
func (m *images) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.list {
		e.close()
	}
	m.list = nil
}

// key returns the arguments as one text: the frame that they are handed over in.
func (p *params) key() string {
	row := p.part()
	need := abi.HeaderBytes + row.bytes(p.layout) + abi.MinOutput
	f := newFrame(make([]byte, need), 0)
	f.rows(&row, p.layout)
	f.finish(abi.MinOutput)
	return string(f.buf[:f.h.Out])
}
