package binary

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"tidemark/abi"
	"tidemark/internal/fault"
)

// What the reader takes, so that a hostile file costs no more than its own size in
// memory. A plug-in's limits are far lower (Check); these are for inspect.
const (
	maxFileBytes     = 256 << 20
	maxNameBytes     = 64 << 10
	maxSections      = 10_000
	maxTypeValues    = 1_000                        // parameters or results of a function
	maxEntries       = 1_000_000                    // of which a number is kept, or nothing
	maxKept          = 100_000                      // types, imports, exports and the like: some hundred bytes each
	maxMarkerBytes   = abi.MaxManifestBytes + 4 + 1 // one more shows that it is too long
	maxNotUnderstood = 16
)

// Read reads a core WebAssembly file to its end. An error of class fault.ErrUser says
// that the bytes are no such file, or a damaged one; an error of r is passed on as it
// is.
func Read(r io.Reader) (*Module, error) {
	sum := sha256.New()
	// The digest is taken below the buffer, so it covers every byte once the reader
	// has met the end of the file.
	in := io.TeeReader(io.LimitReader(r, maxFileBytes+1), sum)
	d := &reader{in: bufio.NewReaderSize(in, 64<<10), m: &Module{}}
	err := d.file()
	var own *malformed
	switch {
	case err == nil:
	case errors.As(err, &own):
		return nil, fault.As(fault.ErrUser, err)
	default:
		return nil, fmt.Errorf("read module: %w", err)
	}
	d.m.Size = d.at
	d.m.Digest = hex.EncodeToString(sum.Sum(nil))
	return d.m, nil
}

// malformed is an error in the file, as opposed to one in reading it.
type malformed struct{ text string }

func (m *malformed) Error() string { return m.text }

func badf(format string, args ...any) error { return &malformed{fmt.Sprintf(format, args...)} }

// errEnd: the section ends before what it announced.
var errEnd = badf("ends too early")

// reader goes through the file once. Inside a section, end is where it ends.
type reader struct {
	in  *bufio.Reader
	at  int64
	end int64
	m   *Module

	types     []abi.FuncType
	functions []uint32 // type of each function, imports first
	imported  int      // functions
	pending   string   // what the section reader met that it does not know
}

// file reads header and sections.
func (d *reader) file() error {
	head, err := d.in.Peek(64)
	if err != nil && err != io.EOF {
		return err
	}
	if err := checkHeader(head); err != nil {
		return err
	}
	d.end = 8
	if err := d.skip(8); err != nil {
		return err
	}
	var code bool
	var last int
	for {
		start := d.at
		d.end = start + 1
		id, err := d.byte()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if len(d.m.Sections) == maxSections {
			return badf("more than %d sections", maxSections)
		}
		d.end = d.at + 5
		size, err := d.u32()
		if err != nil {
			return d.inFile(err, fmt.Sprintf("the size of the section at byte %d", start))
		}
		s := Section{ID: id, Name: sectionName(id), Custom: id == 0, Offset: d.at, Size: int64(size)}
		d.end = d.at + int64(size)
		if d.end > maxFileBytes {
			return badf("larger than %d MiB", maxFileBytes>>20)
		}
		if place := sectionOrder(id); place > 0 {
			if place <= last {
				return badf("damaged: section %s at byte %d is out of order or there twice", s.Name, start)
			}
			last = place
		}
		d.pending = ""
		err = d.section(&s)
		if d.pending != "" {
			if len(d.m.NotUnderstood) < maxNotUnderstood {
				d.m.NotUnderstood = append(d.m.NotUnderstood, "section "+s.Name+": "+d.pending)
			}
			err = nil
		}
		if err == nil {
			err = d.skip(d.end - d.at)
		}
		if err != nil {
			return d.inFile(err, fmt.Sprintf("section %s at byte %d, %d bytes long", s.Name, s.Offset, s.Size))
		}
		d.m.Sections = append(d.m.Sections, s)
		code = code || id == 10
	}
	d.m.Functions = len(d.functions) - d.imported
	if d.m.Functions > 0 && !code {
		return badf("truncated: %d functions are declared, and the section code is missing", d.m.Functions)
	}
	for i := range d.m.Exports {
		e := &d.m.Exports[i]
		if e.Kind != Func {
			continue
		}
		if int64(e.Index) >= int64(len(d.functions)) {
			if len(d.m.NotUnderstood) > 0 {
				continue
			}
			return badf("export %q is function %d, and there are %d", e.Name, e.Index, len(d.functions))
		}
		e.Type, _ = d.typeOf(d.functions[e.Index])
	}
	for i := range d.m.Imports {
		if imp := &d.m.Imports[i]; imp.Kind == Func {
			imp.Type, _ = d.typeOf(imp.index)
		}
	}
	return nil
}

// inFile says where an error is. The end of the input inside a section is a
// truncated file.
func (d *reader) inFile(err error, where string) error {
	var own *malformed
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return badf("truncated: the file ends after %d bytes, inside %s", d.at, where)
	case errors.As(err, &own):
		return badf("damaged: %s: %s", where, own.text)
	}
	return err
}

// checkHeader says what a file is that is not a core module of version 1.
func checkHeader(head []byte) error {
	const magic = "\x00asm"
	switch {
	case len(head) == 0:
		return badf("not a WebAssembly file: it is empty")
	case len(head) < 8 && string(head[:min(4, len(head))]) == magic[:min(4, len(head))]:
		return badf("truncated: the file ends after %d bytes, inside its header", len(head))
	case string(head[:min(4, len(head))]) != magic:
		return badf("not a WebAssembly file: it starts with % x%s", head[:min(4, len(head))], looksLike(head))
	}
	switch v := head[4:8]; {
	case v[0] == 1 && v[1] == 0 && v[2] == 0 && v[3] == 0:
		return nil
	case v[2] == 1 && v[3] == 0:
		return badf("a WebAssembly component: only core modules are taken")
	default:
		return badf("WebAssembly of version % x: only core modules of version 1 (01 00 00 00) are taken", v)
	}
}

func looksLike(head []byte) string {
	for _, k := range []struct{ prefix, what string }{
		{"\x7fELF", "an ELF file, a program for Linux"},
		{"MZ", "a program for Windows"},
		{"\xcf\xfa\xed\xfe", "a program for macOS"},
		{"\xca\xfe\xba\xbe", "a program for macOS or a Java class"},
		{"\x1f\x8b", "a gzip file"},
		{"PK\x03\x04", "a zip file"},
		{"!<arch>\n", "an archive of object files: build with -buildmode=c-shared"},
		{"BC\xc0\xde", "LLVM bitcode"},
		{"#!", "a script"},
		{"package ", "Go source"},
	} {
		if bytes.HasPrefix(head, []byte(k.prefix)) {
			return ": " + k.what
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("(module")):
		return ": WebAssembly as text"
	case bytes.HasPrefix(text, []byte("{")):
		return ": JSON or the like"
	}
	for _, c := range head {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return ""
		}
	}
	return ": text"
}

func sectionName(id byte) string {
	names := [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start",
		"element", "code", "data", "data count", "tag"}
	if int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprintf("%d", id)
}

// sectionOrder gives the place of a section among those that come once and in order;
// 0 for the others.
func sectionOrder(id byte) int {
	return bytes.IndexByte([]byte{0, 1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11}, id)
}

// section reads what is kept of a section; the caller skips the rest.
func (d *reader) section(s *Section) error {
	switch s.ID {
	case 0:
		return d.custom(s)
	case 1:
		return d.list(maxKept, d.funcType)
	case 2:
		return d.list(maxKept, d.importEntry)
	case 3:
		return d.list(maxEntries, d.function)
	case 4:
		return d.list(maxKept, d.table)
	case 5:
		return d.list(maxKept, d.memory)
	case 6:
		n, err := d.u32() // initial values are code: the compiler checks them
		d.m.Globals += int(min(n, maxEntries))
		return err
	case 7:
		return d.list(maxKept, d.exportEntry)
	case 8:
		d.m.Start = true
	case 10:
		return d.list(maxEntries, d.code)
	case 9, 11:
		if s.ID == 11 {
			d.m.DataBytes += s.Size
		}
		n, err := d.u32()
		d.m.Segments += int(min(n, maxEntries))
		return err
	case 12:
	default:
		d.unknown("section of a newer proposal")
	}
	return nil
}

// unknown gives up on the section: it holds something that is not core WebAssembly.
func (d *reader) unknown(format string, args ...any) error {
	d.pending = fmt.Sprintf(format, args...)
	return errEnd
}

func (d *reader) custom(s *Section) error {
	name, err := d.name()
	if err != nil {
		return err
	}
	s.Name = name
	if name != abi.SectionName {
		return nil
	}
	if d.m.HasMarker {
		d.m.ExtraMarkers++
		return nil
	}
	d.m.HasMarker = true
	d.m.Marker, err = d.bytes(min(d.end-d.at, maxMarkerBytes))
	return err
}

// list reads a count and as many entries.
func (d *reader) list(most uint32, entry func() error) error {
	n, err := d.u32()
	if err != nil {
		return err
	}
	if n > most {
		return badf("%d entries, more than the %d that are read", n, most)
	}
	for i := range n {
		if err := entry(); err != nil {
			var own *malformed
			if errors.As(err, &own) {
				return badf("entry %d: %s", i, own.text)
			}
			return err
		}
	}
	if d.at != d.end {
		return badf("%d bytes follow the last entry", d.end-d.at)
	}
	return nil
}

func (d *reader) funcType() error {
	form, err := d.byte()
	if err != nil {
		return err
	}
	if form != 0x60 {
		return d.unknown("type form 0x%02x", form)
	}
	var t abi.FuncType
	if t.Params, err = d.valTypes(); err != nil {
		return err
	}
	if t.Results, err = d.valTypes(); err != nil {
		return err
	}
	d.types = append(d.types, t)
	d.m.Types++
	d.m.TypeValues += len(t.Params) + len(t.Results)
	return nil
}

func (d *reader) valTypes() ([]abi.ValType, error) {
	n, err := d.u32()
	if err != nil || n == 0 {
		return nil, err
	}
	if n > maxTypeValues {
		return nil, badf("a function type with %d values, at most %d are read", n, maxTypeValues)
	}
	raw, err := d.bytes(int64(n))
	if err != nil {
		return nil, err
	}
	ts := make([]abi.ValType, n)
	for i, b := range raw {
		if ts[i] = abi.ValType(b); !known(ts[i]) {
			return nil, d.unknown("value type 0x%02x", b)
		}
	}
	return ts, nil
}

func known(t abi.ValType) bool {
	switch t {
	case abi.I32, abi.I64, abi.F32, abi.F64, abi.V128, abi.FuncRef, abi.ExternRef:
		return true
	}
	return false
}

func (d *reader) typeOf(i uint32) (abi.FuncType, error) {
	if int64(i) >= int64(len(d.types)) {
		if len(d.m.NotUnderstood) > 0 { // the type section was left half-way
			return abi.FuncType{}, nil
		}
		return abi.FuncType{}, badf("type %d, and there are %d", i, len(d.types))
	}
	return d.types[i], nil
}

func (d *reader) importEntry() error {
	var imp Import
	var err error
	if imp.Module, err = d.name(); err != nil {
		return err
	}
	if imp.Name, err = d.name(); err != nil {
		return err
	}
	kind, err := d.byte()
	if err != nil {
		return err
	}
	imp.Kind = External(kind)
	switch imp.Kind {
	case Func:
		if imp.index, err = d.u32(); err == nil {
			_, err = d.typeOf(imp.index)
		}
		d.functions = append(d.functions, imp.index)
		d.imported++
	case Table:
		err = d.table()
	case Memory:
		err = d.memory()
	case Global:
		if err = d.valType(); err == nil {
			_, err = d.byte()
		}
	case Tag:
		if _, err = d.byte(); err == nil {
			_, err = d.u32()
		}
	default:
		return d.unknown("import of kind %d", kind)
	}
	d.m.Imports = append(d.m.Imports, imp)
	return err
}

func (d *reader) valType() error {
	b, err := d.byte()
	if err == nil && !known(abi.ValType(b)) {
		return d.unknown("value type 0x%02x", b)
	}
	return err
}

func (d *reader) function() error {
	t, err := d.u32()
	if err == nil {
		_, err = d.typeOf(t)
	}
	d.functions = append(d.functions, t)
	return err
}

func (d *reader) table() error {
	if err := d.valType(); err != nil {
		return err
	}
	l, err := d.limits()
	d.m.Tables = append(d.m.Tables, l)
	return err
}

func (d *reader) memory() error {
	l, err := d.limits()
	d.m.Memories = append(d.m.Memories, l)
	return err
}

func (d *reader) limits() (Limits, error) {
	flags, err := d.byte()
	if err != nil {
		return Limits{}, err
	}
	if flags > 7 {
		return Limits{}, d.unknown("limits with flags 0x%02x", flags)
	}
	l := Limits{HasMax: flags&1 != 0, Shared: flags&2 != 0, Is64: flags&4 != 0}
	size := 32
	if l.Is64 {
		size = 64
	}
	if l.Min, err = d.uint(size); err == nil && l.HasMax {
		l.Max, err = d.uint(size)
	}
	return l, err
}

func (d *reader) exportEntry() error {
	var e Export
	var err error
	if e.Name, err = d.name(); err != nil {
		return err
	}
	kind, err := d.byte()
	if err != nil {
		return err
	}
	e.Kind = External(kind)
	if e.Index, err = d.u32(); err != nil {
		return err
	}
	d.m.Exports = append(d.m.Exports, e)
	return nil
}

func (d *reader) code() error {
	n, err := d.u32()
	if err != nil {
		return err
	}
	d.m.CodeBytes += int64(n)
	d.m.LargestCode = max(d.m.LargestCode, int64(n))
	return d.skip(int64(n))
}

// byte reads one byte of the section; io.EOF is the end of the file.
func (d *reader) byte() (byte, error) {
	if d.at >= d.end {
		return 0, errEnd
	}
	b, err := d.in.ReadByte()
	if err != nil {
		return 0, err
	}
	d.at++
	return b, nil
}

func (d *reader) u32() (uint32, error) {
	v, err := d.uint(32)
	return uint32(v), err
}

// uint reads an unsigned LEB128 number of at most size bits.
func (d *reader) uint(size int) (uint64, error) {
	var v uint64
	for shift := 0; ; shift += 7 {
		b, err := d.byte()
		if err != nil {
			return 0, err
		}
		if left := size - shift; left < 7 && (left <= 0 || b>>left != 0) {
			return 0, badf("a number at byte %d does not fit into %d bits", d.at-1, size)
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
}

func (d *reader) name() (string, error) {
	n, err := d.u32()
	if err != nil {
		return "", err
	}
	if n > maxNameBytes {
		return "", badf("a name of %d bytes, at most %d are read", n, maxNameBytes)
	}
	b, err := d.bytes(int64(n))
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", badf("a name is not UTF-8")
	}
	return string(b), nil
}

// bytes reads n bytes; n is bounded by the caller.
func (d *reader) bytes(n int64) ([]byte, error) {
	if n > d.end-d.at {
		return nil, errEnd
	}
	b := make([]byte, n)
	k, err := io.ReadFull(d.in, b)
	d.at += int64(k)
	return b, err
}

// skip passes n bytes of the section by.
func (d *reader) skip(n int64) error {
	if n > d.end-d.at {
		return errEnd
	}
	k, err := d.in.Discard(int(n))
	d.at += int64(k)
	return err
}
