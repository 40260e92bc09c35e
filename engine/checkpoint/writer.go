package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/internal/fault"
)

// bufferSize is what a writer collects of small sections before it writes. Bodies of half
// of it or more go to the file as they are.
const bufferSize = 256 << 10

// Writer writes one checkpoint: Begin, Add and Reuse for each section, then Publish or
// Abandon. One goroutine at a time.
type Writer struct {
	log        *Log
	generation uint64
	m          manifest
	reused     map[string]*dataFile

	// Sections that later checkpoints take over lie in files of their own, so that these hold
	// nothing else for as long as they are needed.
	passing, lasting output

	err       error // of Add or Reuse: nothing can be published any more
	ended     bool
	undecided bool // Publish has failed in a way that leaves open whether it did not happen
	published *Checkpoint
}

// output is a data file being written.
type output struct {
	object Object    // nil: none yet
	file   *dataFile // the same in the manifest; its size counts what is in buf, too
	buf    []byte
}

// Begin starts a checkpoint, which gets the next ID. It does no I/O. One writer at a time:
// it is published or abandoned before the next one begins.
func (l *Log) Begin(meta Meta) *Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.generation == 0 {
		panic("BUG: Begin without Claim")
	}
	if l.open != nil {
		panic(fmt.Sprintf("BUG: checkpoint %d begins before %d has ended", l.lastID+1, l.open.m.meta.ID))
	}
	l.lastID++
	meta.ID, meta.Generation = l.lastID, l.generation
	l.open = &Writer{log: l, generation: l.generation, m: manifest{meta: meta}, reused: map[string]*dataFile{}}
	return l.open
}

// Meta is what the checkpoint will say of itself. All but ID, Generation and Kind may be
// changed until Publish.
func (w *Writer) Meta() *Meta { return &w.m.meta }

// Add writes a section. Its body is borrowed until Add returns. ctx lasts until the
// checkpoint ends: what is written in the background ends with it. After an error only
// Abandon makes sense.
func (w *Writer) Add(ctx context.Context, s Section) error {
	if w.err == nil {
		w.err = w.add(ctx, s)
	}
	return w.err
}

func (w *Writer) add(ctx context.Context, s Section) error {
	name := sectionName(s.Operator, s.Kind, s.Number)
	if len(s.Body) > MaxSection {
		return fault.Userf("checkpoint %d: section %s has %d bytes, at most %d are possible: raise max_parallelism, so that there is less state in each key group", w.m.meta.ID, name, len(s.Body), MaxSection)
	}
	if len(s.Operator) > MaxName || len(s.Kind) > MaxName {
		return fault.Userf("checkpoint %d: section %s: names have at most %d bytes: give the step a shorter one", w.m.meta.ID, name, MaxName)
	}
	head, sum := encodeFrame(&s)
	length := int64(len(head) + len(s.Body))
	out := &w.passing
	if s.Kind == KindDisk {
		out = &w.lasting
	}
	if out.file != nil && out.file.size+length > maxDataFile {
		if err := out.end(); err != nil {
			return err
		}
	}
	if out.file == nil {
		if err := w.beginFile(ctx, out); err != nil {
			return err
		}
	}
	ref := Ref{Operator: s.Operator, Kind: s.Kind, Number: s.Number, Version: s.Version, file: out.file, offset: out.file.size, length: length, checksum: sum}
	if err := out.write(head); err != nil {
		return err
	}
	if err := out.write(s.Body); err != nil {
		return err
	}
	w.m.index = append(w.m.index, ref)
	return nil
}

// Reuse takes over a section of an earlier checkpoint of this log, which Retain has not
// removed. The checkpoint then needs that one's file. Savepoints reuse nothing: they stay
// whole whatever else is deleted.
func (w *Writer) Reuse(ref Ref) error {
	if w.m.meta.Kind == Savepoint {
		panic("BUG: a savepoint reuses section " + ref.String())
	}
	if w.err != nil {
		return w.err
	}
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if !w.log.holds(ref.file.name) {
		w.err = fault.Conflictf("checkpoint %d: section %s cannot be taken over: no checkpoint that is kept has file %s", w.m.meta.ID, ref, ref.file.name)
		return w.err
	}
	if f := w.reused[ref.file.name]; f != nil {
		ref.file = f // the same file, named by another checkpoint
	}
	w.reused[ref.file.name] = ref.file
	w.m.index = append(w.m.index, ref)
	return nil
}

func (w *Writer) beginFile(ctx context.Context, out *output) error {
	n := uint32(len(w.m.files))
	name := dataName(w.m.meta.Kind, w.generation, w.m.meta.ID, n)
	object, err := w.log.store.Create(ctx, name)
	if err != nil {
		return err
	}
	out.object, out.file = object, &dataFile{name: name}
	w.m.files = append(w.m.files, out.file)
	return out.write(encodeDataHeader(w.generation, w.m.meta.ID, n))
}

func (o *output) end() error {
	if o.object == nil {
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	object := o.object
	o.object, o.file = nil, nil
	return object.Close()
}

// write adds to the file being written.
func (o *output) write(p []byte) error {
	o.file.size += int64(len(p))
	direct := len(p) >= bufferSize/2
	if direct || len(o.buf)+len(p) > bufferSize {
		if err := o.flush(); err != nil {
			return err
		}
	}
	if direct {
		_, err := o.object.Write(p)
		return err
	}
	if o.buf == nil {
		o.buf = make([]byte, 0, bufferSize)
	}
	o.buf = append(o.buf, p...)
	return nil
}

func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	_, err := o.object.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}

// Publish makes everything durable and decides: once it has returned nil the checkpoint
// exists, and Checkpoint reads it. If it fails, the caller goes on with the next one, but
// for ErrFenced, after which nothing of this start counts. An attempt that has failed may
// still have been decided, as when the connection broke at the wrong moment: so what was
// prepared for it (rows of sinks) is kept, and committed when a later one is decided.
func (w *Writer) Publish(ctx context.Context) error {
	if w.ended {
		panic(fmt.Sprintf("BUG: checkpoint %d has ended", w.m.meta.ID))
	}
	if w.err == nil {
		w.err = errors.Join(w.passing.end(), w.lasting.end())
	}
	if w.err != nil {
		return w.err
	}
	for _, name := range slices.Sorted(maps.Keys(w.reused)) {
		w.m.files = append(w.m.files, w.reused[name])
	}
	slices.SortFunc(w.m.index, Ref.compare)
	for i := 1; i < len(w.m.index); i++ {
		if w.m.index[i-1].compare(w.m.index[i]) == 0 {
			panic(fmt.Sprintf("BUG: checkpoint %d has section %s twice", w.m.meta.ID, w.m.index[i]))
		}
	}
	number, err := w.log.publish(ctx, w)
	if err != nil {
		w.err, w.undecided = err, !errors.Is(err, ErrFenced)
		return err
	}
	w.ended = true
	w.published = newCheckpoint(w.log.store, logName(number), &w.m)
	return nil
}

// Checkpoint is what was published.
func (w *Writer) Checkpoint() *Checkpoint {
	if w.published == nil {
		panic("BUG: Checkpoint before Publish")
	}
	return w.published
}

// Abandon ends a checkpoint that is not to be, and removes its files as far as that is
// possible and known to be right; Retain removes the rest. After Publish it does nothing.
func (w *Writer) Abandon(ctx context.Context) error {
	if w.ended {
		return nil
	}
	w.ended = true
	for _, o := range []*output{&w.passing, &w.lasting} {
		if o.object != nil {
			o.object.Abort()
			o.object = nil
		}
	}
	w.log.end(w)
	if w.undecided {
		return nil // a manifest may name them
	}
	var names []string
	for _, f := range w.m.files {
		if w.reused[f.name] == nil {
			names = append(names, f.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return w.log.store.Delete(ctx, names...)
}
