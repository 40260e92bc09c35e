package sink

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/engine/job"
	"tidemark/internal/env"
)

// InProgress is what the name of a file ends in until it is complete. Stored; never
// change.
const InProgress = ".inprogress"

// Superseded is what the name of an epoch's file ends in after its job was set back to a
// checkpoint from before that epoch. Stored; never change.
const Superseded = ".superseded"

// hidden is what the names of files begin with that lie beside an epoch's file and that
// nobody shall take for one: patterns of a shell and tools that read whole directories
// leave out such names.
const hidden = "."

// beside is the hidden name of a file with an ending of its own.
func beside(path, ending string) string {
	return filepath.Join(filepath.Dir(path), hidden+filepath.Base(path)+ending)
}

// preparedFile is where the rows of an epoch are until it is decided.
func preparedFile(path string, epoch uint64) string {
	return beside(job.EpochFile(path, epoch), InProgress)
}

// EpochNames are the names that the file of an epoch can have. It goes from the second to
// the first, so that who looks for it under all of them, in this order, and under the
// first once more, finds it.
func EpochNames(path string, epoch uint64) [3]string {
	name := job.EpochFile(path, epoch)
	return [3]string{name, preparedFile(path, epoch), name}
}

// openFile is where the rows of the open epoch are, whose number is not known yet. No
// other sink has a file of that name, even if it is called rows-000012.jsonl.
func openFile(path string) string { return beside(job.FileWith(path, "open"), InProgress) }

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
		out = append(out, job.EpochFile(p.Path, e))
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
		} else if n, ok := job.EpochOf(path, name); ok {
			p.Published = append(p.Published, n)
		} else if n, ok := job.EpochOf(path, strings.TrimSuffix(strings.TrimPrefix(name, hidden), InProgress)); ok && name == filepath.Base(preparedFile(path, n)) {
			p.Prepared = append(p.Prepared, n)
		}
	}
	slices.Sort(p.Published)
	slices.Sort(p.Prepared)
	return p, nil
}
