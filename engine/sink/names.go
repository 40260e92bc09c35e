package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/env"
)

// InProgress is what the name of a file ends in until it is complete. Stored; never
// change.
const InProgress = ".inprogress"

// Superseded is what the name of an epoch's file ends in after its job was set back to a
// checkpoint from before that epoch. Stored; never change.
const Superseded = ".superseded"

// epochDigits is how many digits an epoch has in the name of its file, at least: so many
// that a listing in order of names is one in order of epochs, up to a million of them.
// Stored; never change.
const epochDigits = 6

// hidden is what the names of files begin with that lie beside an epoch's file and that
// nobody shall take for one: patterns of a shell and tools that read whole directories
// leave out such names.
const hidden = "."

// packed are the suffixes that stand behind another one: rows.jsonl.gz.
var packed = []string{".gz", ".zst", ".bz2", ".xz", ".lz4"}

// splitName parts a file's name before its suffix. What a name begins with is no suffix.
func splitName(name string) (stem, suffix string) {
	stem = name
	if slices.Contains(packed, filepath.Ext(stem)) {
		stem = stem[:len(stem)-len(filepath.Ext(stem))]
	}
	stem = stem[:len(stem)-len(filepath.Ext(stem))]
	if stem == "" { // .rows: a hidden file without a suffix
		return name, ""
	}
	return stem, name[len(stem):]
}

// EpochFile is the file of one epoch of a sink with this path: the number stands before
// the suffix, rows-000012.jsonl.
func EpochFile(path string, epoch uint64) string {
	return insert(path, fmt.Sprintf("%0*d", epochDigits, epoch))
}

// EpochFiles is a pattern that shows people where a sink's files are.
func EpochFiles(path string) string { return insert(path, "*") }

// insert puts a word before the suffix.
func insert(path, word string) string {
	stem, suffix := splitName(filepath.Base(path))
	return filepath.Join(filepath.Dir(path), stem+"-"+word+suffix)
}

// beside is the hidden name of a file with an ending of its own.
func beside(path, ending string) string {
	return filepath.Join(filepath.Dir(path), hidden+filepath.Base(path)+ending)
}

// preparedFile is where the rows of an epoch are until it is decided.
func preparedFile(path string, epoch uint64) string {
	return beside(EpochFile(path, epoch), InProgress)
}

// EpochNames are the names that the file of an epoch can have. It goes from the second to
// the first, so that who looks for it under all of them, in this order, and under the
// first once more, finds it.
func EpochNames(path string, epoch uint64) [3]string {
	name := EpochFile(path, epoch)
	return [3]string{name, preparedFile(path, epoch), name}
}

// openFile is where the rows of the open epoch are, whose number is not known yet. No
// other sink has a file of that name, even if it is called rows-000012.jsonl.
func openFile(path string) string { return beside(insert(path, "open"), InProgress) }

// Parts are the files of a sink that makes one for each epoch, as a directory shows
// them. The rows are in Published, then Prepared, each in order, then in Open: a file
// moves on through these three and is never changed once it has left Open.
type Parts struct {
	Path      string // of the sink
	Published []uint64
	Prepared  []uint64
	Open      string // path of the file; "" there is none
}

// Files are the paths in order of their rows.
func (p Parts) Files() []string {
	var out []string
	for _, e := range p.Published {
		out = append(out, EpochFile(p.Path, e))
	}
	for _, e := range p.Prepared {
		out = append(out, preparedFile(p.Path, e))
	}
	if p.Open != "" {
		out = append(out, p.Open)
	}
	return out
}

// ListParts looks for the files of a sink with this path. Files of other sinks in the
// same directory are left out, whatever they are called. A directory that does not exist
// holds none.
func ListParts(fsys env.FS, path string) (Parts, error) {
	p := Parts{Path: path}
	entries, err := fsys.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	for _, e := range entries {
		name := e.Name()
		if name == filepath.Base(openFile(path)) {
			p.Open = openFile(path)
		} else if n, ok := epochOf(path, name); ok {
			p.Published = append(p.Published, n)
		} else if n, ok := epochOf(path, strings.TrimSuffix(strings.TrimPrefix(name, hidden), InProgress)); ok && name == filepath.Base(preparedFile(path, n)) {
			p.Prepared = append(p.Prepared, n)
		}
	}
	slices.Sort(p.Published)
	slices.Sort(p.Prepared)
	return p, nil
}

// epochOf reads the number in the name of an epoch's file. A number that EpochFile would
// write otherwise is none: such a file is somebody else's.
func epochOf(path, name string) (epoch uint64, ok bool) {
	stem, suffix := splitName(filepath.Base(path))
	digits, found := strings.CutPrefix(name, stem+"-")
	if digits, ok = strings.CutSuffix(digits, suffix); !found || !ok {
		return 0, false
	}
	epoch, err := strconv.ParseUint(digits, 10, 64)
	return epoch, err == nil && epoch > 0 && name == filepath.Base(EpochFile(path, epoch))
}
