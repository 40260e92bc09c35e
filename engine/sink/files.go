package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// files makes a file for each epoch that has rows. They are written to a file that is in
// progress; Prepare gives that a hidden name with the epoch's number, Commit the name
// that readers look for.
type files struct {
	fs      env.FS
	path    string
	out     output // has no file while the open epoch has no rows
	epoch   uint64 // the last one that was prepared
	waiting []part // prepared and not committed, in order
}

var _ Sink = (*files)(nil)

func newFiles(fsys env.FS, path string, epoch uint64) (Sink, error) {
	found, err := ListParts(fsys, path)
	if err != nil {
		return nil, cannot(path, err)
	}
	if n := len(found.Published); n > 0 {
		return nil, fault.Userf("cannot start %s anew: %s is there, and %s of an earlier run, which is not overwritten: move them away, name another path, or go on from a checkpoint of that run",
			pattern(path), job.EpochFile(path, found.Published[n-1]), count(n-1, "more file"))
	}
	s := &files{fs: fsys, path: path, epoch: epoch, out: output{target: pattern(path), name: openFile(path)}}
	if err := s.discard(found.Files()); err != nil {
		return nil, err
	}
	return s, nil
}

// pattern shows people where a sink's files are.
func pattern(path string) string { return job.FileWith(path, "*") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func restoreFiles(fsys env.FS, path string, from Restored) (Sink, error) {
	p, err := decodePending(from.Pending, manyFiles, path)
	if err != nil {
		return nil, err
	}
	found, err := ListParts(fsys, path)
	if err != nil {
		return nil, cannot(path, err)
	}
	s := &files{fs: fsys, path: path, epoch: p.Epoch, out: output{target: pattern(path), name: openFile(path)}}
	// An epoch behind the one that is restored can have been published only if a later
	// checkpoint was decided and is not used, since it is damaged or somebody says so. Its
	// rows come again; who has read them already knows them by their ids. One that was set
	// aside under the same name before is given up.
	for _, e := range found.Published {
		if e > p.Epoch {
			name := job.EpochFile(path, e)
			if err := fsys.Rename(name, beside(name, Superseded)); err != nil {
				return nil, cannot(path, err)
			}
		}
	}
	found.Published = nil
	found.Prepared = slices.DeleteFunc(found.Prepared, func(e uint64) bool {
		return slices.ContainsFunc(p.Parts, func(d part) bool { return d.Epoch == e })
	})
	if err := s.discard(found.Files()); err != nil {
		return nil, err
	}
	if err := s.Commit(from.Pending); err != nil {
		return nil, err
	}
	// What was set aside must not come back when later epochs count. A process that was
	// killed may have renamed it and no more, so this does not ask who has.
	if err := fsys.SyncDir(filepath.Dir(path)); err != nil {
		return nil, cannot(path, err)
	}
	return s, nil
}

// discard removes files that nobody has seen.
func (s *files) discard(names []string) error {
	for _, name := range names {
		if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cannot(s.path, fmt.Errorf("remove what an earlier run left in progress: %w", err))
		}
	}
	return nil
}

func (s *files) Target() string { return pattern(s.path) }

func (s *files) Write(lines []byte) error {
	if s.out.err == nil && s.out.f == nil && len(lines) > 0 {
		// What lay under this name was removed by the opening. If it is there again, a
		// process that was taken for dead goes on writing.
		f, err := s.fs.Create(s.out.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return s.out.failed("write", err)
		}
		s.out.f, s.out.length = f, 0
	}
	return s.out.write(lines)
}

func (s *files) Flush() error { return s.out.flush() }

// maxWaiting is how many epochs with rows may be prepared without one of them being
// decided. A job gives up long before.
const maxWaiting = 1000

// Prepare makes the file of the epoch durable, under a name from which Commit, and an
// opening after a crash, know what it is.
func (s *files) Prepare(epoch uint64, last bool) ([]byte, error) {
	if epoch <= s.epoch {
		panic(fmt.Sprintf("BUG: %s: epoch %d after %d", s.path, epoch, s.epoch))
	}
	if s.out.err != nil {
		return nil, s.out.err
	}
	if s.out.f != nil {
		if err := s.shut(epoch); err != nil {
			return nil, err
		}
	}
	s.epoch = epoch
	return pending{Kind: manyFiles, File: filepath.Base(s.path), Epoch: epoch, Last: last, Parts: s.waiting}.encode(), nil
}

// shut completes the open file.
func (s *files) shut(epoch uint64) error {
	if len(s.waiting) == maxWaiting {
		return s.out.failed("prepare", fmt.Errorf("%d epochs with rows have not been decided", maxWaiting))
	}
	if err := s.out.sync(s.fs); err != nil {
		return err
	}
	if err := s.out.close(); err != nil {
		return err
	}
	if err := s.fs.Rename(s.out.name, preparedFile(s.path, epoch)); err != nil {
		return s.out.failed("prepare", err)
	}
	if err := s.fs.SyncDir(filepath.Dir(s.path)); err != nil {
		return s.out.failed("sync", err)
	}
	s.waiting = append(s.waiting, part{epoch, s.out.length})
	return nil
}

// Commit gives the files of the epoch, and of those before it that were not decided,
// their names. One that is found under neither name was published, and whoever reads
// these files has taken it away: what Prepare has made durable does not get lost.
func (s *files) Commit(stored []byte) error {
	p, err := decodePending(stored, manyFiles, s.path)
	if err != nil {
		return err
	}
	for _, d := range p.Parts {
		name := job.EpochFile(s.path, d.Epoch)
		prepared := preparedFile(s.path, d.Epoch)
		if err := s.free(prepared, name); err != nil {
			return err
		}
		if _, err := publish(s.fs, prepared, name, d.Bytes); err != nil {
			return err
		}
	}
	if len(p.Parts) > 0 { // also if another process has renamed them: that one may not have come so far
		if err := s.fs.SyncDir(filepath.Dir(s.path)); err != nil {
			return fault.Externalf("publish %s: %w", s.Target(), err)
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(d part) bool { return d.Epoch <= p.Epoch })
	return nil
}

// free makes sure that publishing a file does not overwrite somebody else's.
func (s *files) free(prepared, name string) error {
	if _, err := s.fs.Stat(prepared); err != nil {
		return nil // nothing to publish, or publish says what is wrong
	}
	_, err := s.fs.Stat(name)
	switch {
	case err == nil:
		return fault.Externalf("publish %s: there is a file of that name, which this job has not written: move it away", name)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fault.Externalf("publish %s: %w", name, reason(err))
}

// Abort writes what it has, so that it can be looked at, and leaves it in progress.
func (s *files) Abort() error { return s.out.abort() }
