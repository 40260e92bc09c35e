package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// The bytes of FORMAT.md, which explains them: entries of the log, the header of a data
// file, the frame of a section. Pure functions. Stored; never change what is here but by
// a new version.

const (
	entryMagic = "TMCPLOG\n"
	dataMagic  = "TMCPDAT\n"
	version    = 1 // of both

	entryHeader = 24 // magic, version, type, length
	checksumLen = 8
	dataHeader  = 40
	frameHeader = 32

	typeClaim      = 1
	typeCheckpoint = 2
)

// token tells the entries of one claim from those of any other, also where two processes
// claim the same number at the same moment.
type token [16]byte

// entry is an entry of the log: a claim, or a checkpoint's manifest.
type entry struct {
	number     uint64
	generation uint64
	owner      token
	claim      *claim // one of the two
	manifest   *manifest
}

// claim is what the entry of a claim says.
type claim struct {
	// anew: this start did not go on from the newest checkpoint, but from the one with
	// the id base; 0 for none.
	anew bool
	base uint64
}

// manifest is what the entry of a checkpoint says of it.
type manifest struct {
	meta  Meta
	files []*dataFile
	index []Ref // in order of compare
}

// logName, dataName and savedName name the objects. Data of savepoints has names of its
// own, so that it can be told from the rest when its manifest is damaged. Stored.
func logName(number uint64) string { return fmt.Sprintf(logPrefix+"%012d", number) }

func dataName(k Kind, generation, id uint64, n uint32) string {
	prefix := dataPrefix
	if k == Savepoint {
		prefix = savedPrefix
	}
	return fmt.Sprintf("%s%012d-%012d-%04d", prefix, generation, id, n)
}

const (
	logPrefix   = "log-"
	dataPrefix  = "data-"
	savedPrefix = "save-"
)

// parseLogName returns the number of an entry.
func parseLogName(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, logPrefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil && logName(n) == name
}

// parseDataName returns what is in the name of a data file.
func parseDataName(name string) (k Kind, generation, id uint64, n uint32, ok bool) {
	f := strings.Split(name, "-")
	if len(f) != 4 {
		return "", 0, 0, 0, false
	}
	var err1, err2, err3 error
	generation, err1 = strconv.ParseUint(f[1], 10, 64)
	id, err2 = strconv.ParseUint(f[2], 10, 64)
	number, err3 := strconv.ParseUint(f[3], 10, 32)
	n = uint32(number)
	if f[0]+"-" == savedPrefix {
		k = Savepoint
	}
	return k, generation, id, n, err1 == nil && err2 == nil && err3 == nil && dataName(k, generation, id, n) == name
}

// encodeEntry returns an entry's bytes.
func encodeEntry(e *entry) []byte {
	typ := uint32(typeClaim)
	if e.manifest != nil {
		typ = typeCheckpoint
	}
	w := state.Writer{Buf: append(make([]byte, 0, 1<<10), entryMagic...)}
	w.U32(version)
	w.U32(typ)
	w.U64(0) // the length, below
	w.U64(e.number)
	w.U64(e.generation)
	w.Buf = append(w.Buf, e.owner[:]...)
	if e.manifest != nil {
		e.manifest.encode(&w)
	} else {
		w.Bool(e.claim.anew)
		w.U64(e.claim.base)
	}
	binary.LittleEndian.PutUint64(w.Buf[16:], uint64(len(w.Buf)-entryHeader))
	w.U64(xxhash.Sum64(w.Buf))
	return w.Buf
}

func (m *manifest) encode(w *state.Writer) {
	text := func(s string) { w.Bytes([]byte(s)) }
	w.U64(m.meta.ID)
	text(string(m.meta.Kind))
	text(m.meta.Job)
	text(m.meta.Plan)
	w.I64(int64(m.meta.Taken))
	w.I64(int64(m.meta.FirstStart))
	w.U32(uint32(m.meta.MaxParallelism))
	w.Len(len(m.meta.Operators))
	for _, o := range m.meta.Operators {
		text(o.ID)
		text(o.Kind)
		w.U32(uint32(o.Parallelism))
		text(o.Description)
	}
	w.Len(len(m.meta.Plugins))
	for _, p := range m.meta.Plugins {
		text(p.Name)
		text(p.Digest)
		w.U32(p.Schema)
	}
	w.Len(len(m.meta.Summary))
	for _, s := range m.meta.Summary {
		text(s.Key)
		text(s.Value)
	}
	w.Len(len(m.files))
	numbers := make(map[*dataFile]uint32, len(m.files))
	for i, f := range m.files {
		text(f.name)
		w.U64(uint64(f.size))
		numbers[f] = uint32(i)
	}
	// Sections in runs of one operator and kind, as the index is sorted.
	var runs [][]Ref
	for rest := m.index; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Operator == rest[0].Operator && rest[n].Kind == rest[0].Kind {
			n++
		}
		runs, rest = append(runs, rest[:n]), rest[n:]
	}
	w.Len(len(runs))
	for _, run := range runs {
		text(run[0].Operator)
		text(run[0].Kind)
		w.Len(len(run))
		for _, r := range run {
			w.U32(r.Number)
			w.U32(uint32(r.Version))
			w.U32(numbers[r.file])
			w.U64(uint64(r.offset))
			w.U64(uint64(r.length))
			w.U64(r.checksum)
		}
	}
}

// decodeEntry reads an entry; path is what messages call it. What it returns shares
// nothing with data, and takes no more memory than a small multiple of data's length.
// fault.ErrCorrupt if the bytes are not those that were written, fault.ErrUser if a later
// version of Tidemark wrote them.
func decodeEntry(path string, number uint64, data []byte) (*entry, error) {
	if len(data) < entryHeader+checksumLen {
		return nil, fault.Corruptf("checkpoint file %s has %d bytes, at least %d are expected: it was cut off", path, len(data), entryHeader+checksumLen)
	}
	if string(data[:8]) != entryMagic {
		return nil, fault.Corruptf("checkpoint file %s does not begin as an entry of the log does: it is damaged, or another kind of file", path)
	}
	body, sum := data[:len(data)-checksumLen], binary.LittleEndian.Uint64(data[len(data)-checksumLen:])
	if xxhash.Sum64(body) != sum {
		return nil, fault.Corruptf("checkpoint file %s: its checksum differs: it was damaged or cut off after it was written", path)
	}
	if v := binary.LittleEndian.Uint32(body[8:]); v != version {
		return nil, fault.Userf("checkpoint file %s has format %d, this Tidemark reads up to %d: use the one that wrote it, or a later one", path, v, version)
	}
	r := state.NewReader(body[16:])
	if n := r.U64(); n != uint64(len(body)-entryHeader) {
		r.Fail(fault.Corruptf("its length is said to be %d and is %d", n, len(body)-entryHeader))
	}
	e := &entry{number: r.U64(), generation: r.U64()}
	if e.number != number {
		r.Fail(fault.Corruptf("it is entry %d under the name of %d", e.number, number))
	}
	for i := range e.owner {
		e.owner[i] = r.U8()
	}
	switch typ := binary.LittleEndian.Uint32(body[12:]); typ {
	case typeClaim:
		e.claim = &claim{anew: r.Bool(), base: r.U64()}
	case typeCheckpoint:
		e.manifest = decodeManifest(r)
		e.manifest.meta.Generation = e.generation
	default:
		r.Fail(fault.Corruptf("entries have no type %d", typ))
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("checkpoint file %s: %w", path, err)
	}
	return e, nil
}

// decodeManifest notes what is wrong in r.
func decodeManifest(r *state.Reader) *manifest {
	text := func() string { return string(r.Bytes()) }
	m := &manifest{meta: Meta{
		ID: r.U64(), Kind: Kind(text()), Job: text(), Plan: text(),
		Taken: stream.Time(r.I64()), FirstStart: stream.Time(r.I64()), MaxParallelism: int(r.U32()),
	}}
	// Lists grow as they are read: a number alone asks for no memory.
	each(r, func() {
		m.meta.Operators = append(m.meta.Operators, OperatorInfo{ID: text(), Kind: text(), Parallelism: int(r.U32()), Description: text()})
	})
	each(r, func() {
		m.meta.Plugins = append(m.meta.Plugins, PluginInfo{Name: text(), Digest: text(), Schema: r.U32()})
	})
	each(r, func() {
		m.meta.Summary = append(m.meta.Summary, KeyValue{text(), text()})
	})
	each(r, func() {
		f := &dataFile{name: text(), size: int64(r.U64())}
		if _, _, _, _, ok := parseDataName(f.name); !ok || f.size < dataHeader {
			r.Fail(fault.Corruptf("a data file is called %q and has %d bytes", f.name, f.size))
		}
		m.files = append(m.files, f)
	})
	each(r, func() {
		operator, kind := text(), text()
		each(r, func() {
			ref := Ref{Operator: operator, Kind: kind, Number: r.U32()}
			v, file := r.U32(), r.U32()
			ref.Version = uint16(v)
			ref.offset, ref.length, ref.checksum = int64(r.U64()), int64(r.U64()), r.U64()
			if int64(file) >= int64(len(m.files)) {
				r.Fail(fault.Corruptf("section %s is in data file %d of %d", ref, file, len(m.files)))
				return
			}
			ref.file = m.files[file]
			if ref.offset < dataHeader || ref.length < frameHeader || ref.offset > ref.file.size || ref.length > ref.file.size-ref.offset {
				r.Fail(fault.Corruptf("section %s has %d bytes from %d of the %d of %s", ref, ref.length, ref.offset, ref.file.size, ref.file.name))
			}
			if v > math.MaxUint16 {
				r.Fail(fault.Corruptf("section %s has version %d, at most %d are possible", ref, v, math.MaxUint16))
			}
			if n := len(m.index); n > 0 && m.index[n-1].compare(ref) >= 0 {
				r.Fail(fault.Corruptf("section %s stands behind %s", ref, m.index[n-1]))
			}
			m.index = append(m.index, ref)
		})
	})
	return m
}

// each calls f for each element of a list, until something is wrong.
func each(r *state.Reader, f func()) {
	for n := r.Len(); n > 0; n-- {
		if r.Done() {
			r.Fail(fault.Corruptf("a list ends too early"))
			return
		}
		f()
	}
}

// String names a section in messages.
func (r Ref) String() string { return sectionName(r.Operator, r.Kind, r.Number) }

func sectionName(operator, kind string, number uint32) string {
	if operator == "" {
		return fmt.Sprintf("%s %d", kind, number)
	}
	return fmt.Sprintf("%s %d of %s", kind, number, operator)
}

// encodeDataHeader returns the first bytes of a data file.
func encodeDataHeader(generation, id uint64, n uint32) []byte {
	w := state.Writer{Buf: append(make([]byte, 0, dataHeader), dataMagic...)}
	w.U32(version)
	w.U32(n)
	w.U64(generation)
	w.U64(id)
	w.U64(xxhash.Sum64(w.Buf))
	return w.Buf
}

// checkDataHeader reads the first bytes of the data file of that name.
func checkDataHeader(path, name string, h []byte) error {
	if string(h[:8]) != dataMagic {
		return fault.Corruptf("checkpoint file %s does not begin as a data file does: it is damaged, or another kind of file", path)
	}
	if xxhash.Sum64(h[:dataHeader-checksumLen]) != binary.LittleEndian.Uint64(h[dataHeader-checksumLen:]) {
		return fault.Corruptf("checkpoint file %s: the checksum of its header differs: it was damaged after it was written", path)
	}
	if v := binary.LittleEndian.Uint32(h[8:]); v != version {
		return fault.Userf("checkpoint file %s has format %d, this Tidemark reads up to %d: use the one that wrote it, or a later one", path, v, version)
	}
	n, generation, id := binary.LittleEndian.Uint32(h[12:]), binary.LittleEndian.Uint64(h[16:]), binary.LittleEndian.Uint64(h[24:])
	if k, _, _, _, _ := parseDataName(name); dataName(k, generation, id, n) != name {
		return fault.Corruptf("checkpoint file %s was written as %s: somebody has renamed it", path, dataName(k, generation, id, n))
	}
	return nil
}

// encodeFrame returns what stands before a section's body, and the checksum of the frame.
func encodeFrame(s *Section) (head []byte, sum uint64) {
	w := state.Writer{Buf: make([]byte, 8, frameHeader+len(s.Kind)+len(s.Operator))}
	w.U64(uint64(len(s.Body)))
	w.U32(s.Number)
	w.Buf = binary.LittleEndian.AppendUint16(w.Buf, s.Version)
	w.Buf = binary.LittleEndian.AppendUint16(w.Buf, uint16(len(s.Kind)))
	w.Buf = binary.LittleEndian.AppendUint16(w.Buf, uint16(len(s.Operator)))
	w.Buf = append(w.Buf, 0, 0, 0, 0, 0, 0)
	w.Buf = append(w.Buf, s.Kind...)
	w.Buf = append(w.Buf, s.Operator...)
	d := xxhash.New()
	d.Write(w.Buf[checksumLen:])
	d.Write(s.Body)
	sum = d.Sum64()
	binary.LittleEndian.PutUint64(w.Buf, sum)
	return w.Buf, sum
}

// decodeFrame returns the section in a frame, whose body is a part of frame, if it is the
// one that ref names.
func decodeFrame(path string, ref Ref, frame []byte) (Section, error) {
	if got := xxhash.Sum64(frame[checksumLen:]); got != ref.checksum || binary.LittleEndian.Uint64(frame) != ref.checksum {
		return Section{}, fault.Corruptf("checkpoint file %s: the checksum of section %s, %d bytes from %d, differs: it was damaged after it was written", path, ref, ref.length, ref.offset)
	}
	le := binary.LittleEndian
	size := le.Uint64(frame[8:])
	kind, operator := int(le.Uint16(frame[22:])), int(le.Uint16(frame[24:]))
	names := frame[frameHeader:]
	if kind+operator > len(names) || size != uint64(len(names)-kind-operator) {
		return Section{}, fault.Corruptf("checkpoint file %s: section %s at %d says that it has %d bytes, there are %d", path, ref, ref.offset, size, len(names)-kind-operator)
	}
	s := Section{Operator: string(names[kind : kind+operator]), Kind: string(names[:kind]), Number: le.Uint32(frame[16:]), Version: le.Uint16(frame[20:]), Body: names[kind+operator:]}
	if s.Operator != ref.Operator || s.Kind != ref.Kind || s.Number != ref.Number || s.Version != ref.Version {
		return Section{}, fault.Corruptf("checkpoint file %s: at %d there should be section %s, there is %s", path, ref.offset, ref, sectionName(s.Operator, s.Kind, s.Number))
	}
	return s, nil
}
