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

	object Object    // the data file being written; nil: none yet
	file   *dataFile // the same in the manifest; its size counts what is in buf, too
	buf    []byte

	err       error // of Add or Reuse: nothing can be published any more
	ended     bool
	undecided bool // Publish has failed in a way that leaves open whether it did not happen
	published *Checkpoint
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
	if w.file != nil && w.file.size+length > maxDataFile {
		if err := w.endFile(); err != nil {
			return err
		}
	}
	if w.file == nil {
		if err := w.beginFile(ctx); err != nil {
			return err
		}
	}
	ref := Ref{Operator: s.Operator, Kind: s.Kind, Number: s.Number, Version: s.Version, file: w.file, offset: w.file.size, length: length, checksum: sum}
	if err := w.write(head); err != nil {
		return err
	}
	if err := w.write(s.Body); err != nil {
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

func (w *Writer) beginFile(ctx context.Context) error {
	n := uint32(len(w.m.files))
	name := dataName(w.m.meta.Kind, w.generation, w.m.meta.ID, n)
	object, err := w.log.store.Create(ctx, name)
	if err != nil {
		return err
	}
	w.object, w.file = object, &dataFile{name: name}
	w.m.files = append(w.m.files, w.file)
	return w.write(encodeDataHeader(w.generation, w.m.meta.ID, n))
}

func (w *Writer) endFile() error {
	if w.object == nil {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	object := w.object
	w.object, w.file = nil, nil
	return object.Close()
}

// write adds to the file being written.
func (w *Writer) write(p []byte) error {
	w.file.size += int64(len(p))
	direct := len(p) >= bufferSize/2
	if direct || len(w.buf)+len(p) > bufferSize {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if direct {
		_, err := w.object.Write(p)
		return err
	}
	if w.buf == nil {
		w.buf = make([]byte, 0, bufferSize)
	}
	w.buf = append(w.buf, p...)
	return nil
}

func (w *Writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.object.Write(w.buf)
	w.buf = w.buf[:0]
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
		w.err = w.endFile()
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
	if w.object != nil {
		w.object.Abort()
		w.object = nil
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
