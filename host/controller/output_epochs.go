package controller

import (
	"errors"
	"io"
	"io/fs"
	"slices"

	"tidemark/engine/sink"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// lookTries is how often the files of a job are looked at before a request fails because
// they do not stay as they are. A look takes milliseconds, an epoch mostly seconds.
const lookTries = 20

// errMoved says that a job has ended an epoch while somebody looked at its files.
var errMoved = errors.New("the files of the job have changed")

// openEpochs opens the rows of a sink that makes a file for each epoch: those of all
// epochs, in order, and of the open one its whole lines. As a file keeps its rows while it
// moves on to its last name, a position stays what it is.
func openEpochs(files env.FS, path string, from int64, ended bool) (*Rows, error) {
	for range lookTries {
		rows, err := lookAtEpochs(files, path, from, ended)
		if !errors.Is(err, errMoved) {
			return rows, err
		}
	}
	return nil, fault.Externalf("%s: the job ends epochs faster than its files can be looked at; ask again", path)
}

func lookAtEpochs(files env.FS, path string, from int64, ended bool) (rows *Rows, err error) {
	before, err := sink.ListParts(files, path)
	if err != nil {
		return nil, fault.As(fault.ErrExternal, err)
	}
	r := &epochReader{files: files, path: path}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	end := int64(0)
	for _, e := range epochs(before) {
		info, err := stat(files, path, e)
		if err != nil {
			return nil, err
		}
		r.pieces = append(r.pieces, piece{epoch: e, bytes: info.Size()})
		end += info.Size()
	}
	if before.Open != "" {
		if r.open, err = files.Open(before.Open); err != nil {
			return nil, moved(err)
		}
		n, err := wholeLines(r.open)
		if err != nil {
			return nil, err
		}
		r.pieces = append(r.pieces, piece{bytes: n})
		end += n
	}
	// What was opened last is the open epoch's if none has ended meanwhile.
	after, err := sink.ListParts(files, path)
	if err != nil {
		return nil, fault.As(fault.ErrExternal, err)
	}
	if !slices.Equal(epochs(before), epochs(after)) || before.Open != "" && after.Open == "" {
		return nil, errMoved
	}
	if from > 0 && end == 0 {
		return nil, fault.Userf("from: nothing has been written yet, so there is nothing at %d", from)
	}
	if from < 0 || from > end {
		return nil, fault.Userf("from: must be between 0 and %d, is %d", end, from)
	}
	r.skip(from)
	return &Rows{Reader: r, Next: end, Complete: ended && before.Open == "" && len(before.Prepared) == 0, file: r}, nil
}

// epochs are the numbers of all files, each once: one may be seen under two names while it
// moves.
func epochs(p sink.Parts) []uint64 {
	all := slices.Concat(p.Published, p.Prepared)
	slices.Sort(all)
	return slices.Compact(all)
}

// stat looks at the file of an epoch under either of its names.
func stat(files env.FS, path string, epoch uint64) (info fs.FileInfo, err error) {
	for _, name := range sink.EpochNames(path, epoch) {
		if info, err = files.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return info, fault.As(fault.ErrExternal, err)
		}
	}
	return nil, moved(err)
}

// moved tells a file that is gone, by its name, from one that cannot be read.
func moved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	return fault.As(fault.ErrExternal, err)
}

// piece is the rows of an epoch that have still to be read.
type piece struct {
	epoch uint64 // 0: the open one
	from  int64
	bytes int64
}

// epochReader reads pieces one after the other, and has one file open at a time beside
// the one of the open epoch.
type epochReader struct {
	files  env.FS
	path   string
	pieces []piece
	file   env.File // of the first piece; nil: not opened yet
	open   env.File // of the open epoch, whose name will be another's
}

// skip leaves out the first n bytes.
func (r *epochReader) skip(n int64) {
	for n > 0 {
		first := &r.pieces[0]
		if n < first.bytes {
			first.from, first.bytes = n, first.bytes-n
			return
		}
		n -= first.bytes
		r.pieces = r.pieces[1:]
	}
}

func (r *epochReader) Read(p []byte) (int, error) {
	for len(r.pieces) > 0 && r.pieces[0].bytes == 0 {
		if err := r.shut(); err != nil {
			return 0, err
		}
		r.pieces = r.pieces[1:]
	}
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	first := &r.pieces[0]
	if r.file == nil {
		if err := r.begin(*first); err != nil {
			return 0, err
		}
	}
	n, err := r.file.Read(p[:min(int64(len(p)), first.bytes)])
	first.bytes -= int64(n)
	if errors.Is(err, io.EOF) && first.bytes > 0 {
		err = io.ErrUnexpectedEOF // cut back by a restart
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, fault.As(fault.ErrExternal, err)
}

// begin opens the file of a piece, which may have been published since it was found.
func (r *epochReader) begin(p piece) (err error) {
	if p.epoch == 0 {
		r.file, r.open = r.open, nil
	} else {
		for _, name := range sink.EpochNames(r.path, p.epoch) {
			if r.file, err = r.files.Open(name); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		if err != nil {
			r.file = nil
			return fault.As(fault.ErrExternal, err)
		}
	}
	_, err = r.file.Seek(p.from, io.SeekStart)
	return fault.As(fault.ErrExternal, err)
}

// shut closes the file of the first piece.
func (r *epochReader) shut() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return fault.As(fault.ErrExternal, err)
}

// Close closes what is open.
func (r *epochReader) Close() error {
	err := r.shut()
	if r.open != nil {
		err = errors.Join(err, r.open.Close())
		r.open = nil
	}
	return err
}
