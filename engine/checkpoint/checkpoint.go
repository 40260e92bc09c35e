package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sort"

	"tidemark/internal/fault"
)

// Checkpoint is a published checkpoint: what it is, and where its sections are. It holds
// no file open and does not change; safe for concurrent use.
type Checkpoint struct {
	Meta  Meta
	store Store
	name  string // of its entry
	files []*dataFile
	index []Ref
}

func newCheckpoint(s Store, name string, m *manifest) *Checkpoint {
	return &Checkpoint{Meta: m.meta, store: s, name: name, files: m.files, index: m.index}
}

// Path is what people call its manifest.
func (c *Checkpoint) Path() string { return c.store.Path(c.name) }

// Size is the number of bytes of all sections.
func (c *Checkpoint) Size() int64 {
	var n int64
	for _, r := range c.index {
		n += r.length
	}
	return n
}

// Reused is the number of bytes of sections that are in files of earlier checkpoints.
func (c *Checkpoint) Reused() int64 {
	earlier := map[*dataFile]bool{}
	for _, f := range c.files {
		_, generation, id, _, _ := parseDataName(f.name)
		earlier[f] = id != c.Meta.ID || generation != c.Meta.Generation
	}
	var n int64
	for _, r := range c.index {
		if earlier[r.file] {
			n += r.length
		}
	}
	return n
}

// Refs returns the index of all sections, in order of operator, kind and number. The
// caller does not change it.
func (c *Checkpoint) Refs() []Ref { return c.index }

// Find returns the index of an operator's sections of one kind, in order of their
// numbers. The caller does not change it.
func (c *Checkpoint) Find(operator, kind string) []Ref {
	want := Ref{Operator: operator, Kind: kind}
	from := sort.Search(len(c.index), func(i int) bool { return c.index[i].compare(want) >= 0 })
	to := from
	for to < len(c.index) && c.index[to].Operator == operator && c.index[to].Kind == kind {
		to++
	}
	return c.index[from:to]
}

// Sections reads an operator's sections of one kind, one after the other, in order of
// their numbers, and nothing else. Bodies belong to the caller. After an error there are
// no more: fault.ErrCorrupt names the file that is damaged.
func (c *Checkpoint) Sections(ctx context.Context, operator, kind string) iter.Seq2[Section, error] {
	return c.Read(ctx, c.Find(operator, kind))
}

// Read reads the sections of some of Refs, in their order, like Sections.
func (c *Checkpoint) Read(ctx context.Context, refs []Ref) iter.Seq2[Section, error] {
	return func(yield func(Section, error) bool) {
		r := reader{store: c.store}
		defer r.close()
		for _, ref := range refs {
			s, err := r.section(ctx, ref)
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// Verify reads all that the checkpoint consists of: fault.ErrCorrupt, with the file's
// name, if any byte is not as it was written.
func (c *Checkpoint) Verify(ctx context.Context) error {
	inFiles := slices.Clone(c.index)
	slices.SortFunc(inFiles, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.file.name, b.file.name), cmp.Compare(a.offset, b.offset))
	})
	r := reader{store: c.store, reuse: true}
	defer r.close()
	for _, ref := range inFiles {
		if _, err := r.section(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

// reader reads sections, keeping the file of the last one open.
type reader struct {
	store Store
	file  *dataFile
	blob  Blob
	pos   int64

	reuse bool // a section need not outlive the next one
	buf   []byte
}

func (r *reader) close() {
	if r.blob != nil {
		r.blob.Close() // nothing was written
		r.blob, r.file = nil, nil
	}
}

// open opens a data file, unless it is, and checks that it is as long as the manifest
// says: all of its sections lie inside.
func (r *reader) open(ctx context.Context, file *dataFile) error {
	if r.blob != nil && r.file == file {
		return nil
	}
	r.close()
	name := file.name
	b, err := r.store.Open(ctx, name)
	if errors.Is(err, ErrMissing) {
		return missing(r.store, name)
	}
	if err != nil {
		return err
	}
	if b.Size() != file.size {
		b.Close() // nothing was written
		return fault.Corruptf("checkpoint file %s has %d bytes, %d were written: it was cut off or added to", r.store.Path(name), b.Size(), file.size)
	}
	var head [dataHeader]byte
	if _, err = io.ReadFull(b, head[:]); err != nil {
		err = readError(r.store, name, err)
	} else {
		err = checkDataHeader(r.store.Path(name), name, head[:])
	}
	if err != nil {
		b.Close() // nothing was written
		return err
	}
	r.blob, r.file, r.pos = b, file, dataHeader
	return nil
}

// section reads a section. Its memory is asked for when the file is known to have as
// many bytes.
func (r *reader) section(ctx context.Context, ref Ref) (Section, error) {
	if err := ctx.Err(); err != nil {
		return Section{}, err
	}
	if err := r.open(ctx, ref.file); err != nil {
		return Section{}, err
	}
	if r.pos != ref.offset {
		if _, err := r.blob.Seek(ref.offset, io.SeekStart); err != nil {
			return Section{}, readError(r.store, ref.file.name, err)
		}
		r.pos = ref.offset
	}
	if !r.reuse || int64(cap(r.buf)) < ref.length {
		r.buf = make([]byte, ref.length)
	}
	frame := r.buf[:ref.length]
	n, err := io.ReadFull(r.blob, frame)
	r.pos += int64(n)
	if err != nil {
		return Section{}, readError(r.store, ref.file.name, err)
	}
	return decodeFrame(r.store.Path(ref.file.name), ref, frame)
}
