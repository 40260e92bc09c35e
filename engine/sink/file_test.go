package sink_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/sink"
	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

var perEpoch = sink.FileOptions{PerEpoch: true}

// Sinks whose names look like each other's files, in one directory: each finds its own.
func TestSinksShareADirectory(t *testing.T) {
	d := t.TempDir()
	paths := []string{"rows.jsonl", "rows", "rows-late.jsonl", "rows.jsonl.gz", "rows-000001.jsonl.gz", ".rows.jsonl", "rows-.jsonl", "row.jsonl"}
	sinks, epochs := map[string]sink.Sink{}, map[string]sink.Restored{}
	for _, p := range paths {
		sinks[p] = open(t, filepath.Join(d, p), perEpoch, sink.Restored{})
	}
	for _, p := range paths {
		commit(t, sinks[p], epoch(t, sinks[p], 1, p+" one\n", false))
		epochs[p] = epoch(t, sinks[p], 2, p+" two\n", false)
		if err := sinks[p].Write([]byte(p + " three\n")); err != nil {
			t.Fatal(err)
		}
		if err := sinks[p].Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range paths {
		parts, err := sink.ListParts(disk, filepath.Join(d, p))
		if err != nil {
			t.Fatal(err)
		}
		var rows strings.Builder
		for _, f := range parts.Files() {
			rows.WriteString(read(t, f))
		}
		if want := p + " one\n" + p + " two\n" + p + " three\n"; rows.String() != want {
			t.Errorf("%s: %q, want %q", p, rows.String(), want)
		}
	}
	for _, p := range paths { // goes on, and takes nothing from the others
		open(t, filepath.Join(d, p), perEpoch, epochs[p])
	}
	for _, p := range paths {
		for n, row := range map[uint64]string{1: " one\n", 2: " two\n"} {
			if got := read(t, filepath.Join(d, job.EpochFile(p, n))); got != p+row {
				t.Errorf("%s, epoch %d: %q", p, n, got)
			}
		}
	}
	if got := strings.Count(names(t, d)+" ", ".inprogress "); got != 0 {
		t.Errorf("%d files are still in progress: %s", got, names(t, d))
	}
}

// Numbers that an epoch's file would be given otherwise are somebody else's.
func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	d := t.TempDir()
	others := []string{"rows-1.jsonl", "rows-0000012.jsonl", "rows-000000.jsonl", "rows-00001x.jsonl", "rows-+00001.jsonl", "rows-000001.csv",
		".rows-000001.csv.inprogress", "rows-000001.jsonl.inprogress", ".rows.inprogress", "rows-99999999999999999999.jsonl", "rows.jsonl"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(d, name), []byte("theirs\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, filepath.Join(d, "rows.jsonl"), perEpoch, sink.Restored{})
	commit(t, s, epoch(t, s, 1, "ours\n", false))
	for _, name := range others {
		if got := read(t, filepath.Join(d, name)); got != "theirs\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAFreshStart(t *testing.T) {
	t.Run("one file replaces that of an earlier run when it is complete", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		old := open(t, path, sink.FileOptions{}, sink.Restored{})
		commit(t, old, epoch(t, old, 1, "old\n", true))
		killed := open(t, path, sink.FileOptions{}, sink.Restored{})
		epoch(t, killed, 1, "a long row of a run that was killed\n", false)
		s := open(t, path, sink.FileOptions{}, sink.Restored{})
		from := epoch(t, s, 1, "new\n", true)
		if got := read(t, path); got != "old\n" {
			t.Errorf("meanwhile: %q", got)
		}
		commit(t, s, from)
		if got := read(t, path); got != "new\n" || names(t, filepath.Dir(path)) != "rows.jsonl" {
			t.Errorf("then: %q in %s", got, names(t, filepath.Dir(path)))
		}
	})
	t.Run("what no reader has seen is removed", func(t *testing.T) {
		d := t.TempDir()
		killed := open(t, filepath.Join(d, "rows.jsonl"), perEpoch, sink.Restored{})
		epoch(t, killed, 1, "one\n", false)
		if err := killed.Write([]byte("two\n")); err != nil {
			t.Fatal(err)
		}
		if got := names(t, d); got != ".rows-000001.jsonl.inprogress .rows-open.jsonl.inprogress" {
			t.Errorf("in progress: %s", got)
		}
		s := open(t, filepath.Join(d, "rows.jsonl"), perEpoch, sink.Restored{})
		if got := names(t, d); got != "" {
			t.Errorf("then: %s", got)
		}
		commit(t, s, epoch(t, s, 1, "new\n", false))
		if got := names(t, d); got != "rows-000001.jsonl" {
			t.Errorf("then: %s", got)
		}
	})
	t.Run("what readers have seen is neither overwritten nor mixed", func(t *testing.T) {
		d := t.TempDir()
		old := open(t, filepath.Join(d, "rows.jsonl"), perEpoch, sink.Restored{})
		commit(t, old, epoch(t, old, 7, "one\n", false))
		commit(t, old, epoch(t, old, 9, "two\n", false))
		epoch(t, old, 11, "three\n", false)
		_, err := sink.OpenFile(disk, filepath.Join(d, "rows.jsonl"), perEpoch, sink.Restored{})
		refused(t, err, fault.ErrUser, "rows-*.jsonl anew", "rows-000009.jsonl is there", "1 more file", "move them away")
		if got := names(t, d); got != ".rows-000011.jsonl.inprogress rows-000007.jsonl rows-000009.jsonl" {
			t.Errorf("an opening that is refused has left %s", got)
		}
	})
}

func TestDamageIsFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		options sink.FileOptions
		last    bool
		file    string // that is damaged
		content string // what it is then; "-" no file
		class   error
		says    []string
	}{
		{"in progress, cut short", sink.FileOptions{}, false, "rows.jsonl.inprogress", "on", fault.ErrCorrupt, []string{"rows.jsonl.inprogress has 2 bytes", "4 were written"}},
		{"in progress, empty", sink.FileOptions{}, false, "rows.jsonl.inprogress", "", fault.ErrCorrupt, []string{"has 0 bytes", "4 were written"}},
		{"in progress, gone", sink.FileOptions{}, false, "rows.jsonl.inprogress", "-", fault.ErrCorrupt, []string{"rows.jsonl.inprogress is gone", "4 bytes"}},
		{"in progress, of another run", sink.FileOptions{}, false, "rows.jsonl.inprogress", "two\nthree\n", fault.ErrCorrupt, []string{"rows.jsonl.inprogress is not the file", "byte 4"}},
		{"complete, of another run", sink.FileOptions{}, true, "rows.jsonl.inprogress", "two\n", fault.ErrCorrupt, []string{"rows.jsonl.inprogress is not the file", "byte 4"}},
		{"complete, longer", sink.FileOptions{}, true, "rows.jsonl.inprogress", "one\ntwo\n", fault.ErrCorrupt, []string{"has 8 bytes", "4 were written"}},
		{"complete, cut short", sink.FileOptions{}, true, "rows.jsonl.inprogress", "one", fault.ErrCorrupt, []string{"rows.jsonl.inprogress has 3 bytes", "4 were written"}},
		{"complete, gone", sink.FileOptions{}, true, "rows.jsonl.inprogress", "-", fault.ErrCorrupt, []string{"rows.jsonl is gone", "rows.jsonl.inprogress", "4 bytes"}},
		{"an epoch, cut short", perEpoch, false, ".rows-000001.jsonl.inprogress", "one", fault.ErrCorrupt, []string{".rows-000001.jsonl.inprogress has 3 bytes", "4 were written"}},
		{"an epoch, longer", perEpoch, false, ".rows-000001.jsonl.inprogress", "one\ntwo\n", fault.ErrCorrupt, []string{"has 8 bytes", "4 were written"}},
		{"somebody's file in place of an epoch's", perEpoch, false, "rows-000001.jsonl", "theirs\n", fault.ErrExternal, []string{"rows-000001.jsonl: there is a file of that name", "move it away"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rows.jsonl")
			from := epoch(t, open(t, path, c.options, sink.Restored{}), 1, "one\n", c.last)
			file := filepath.Join(filepath.Dir(path), c.file)
			if c.content == "-" {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			before := names(t, filepath.Dir(path))
			_, err := sink.OpenFile(disk, path, c.options, from)
			refused(t, err, c.class, c.says...)
			if got := names(t, filepath.Dir(path)); got != before {
				t.Errorf("it has changed %s to %s", before, got)
			}
		})
	}
}

// A run of a job that has renamed its only file is found complete, but not one that lies
// there from another run.
func TestAnotherRunsFileIsNotTakenForTheResult(t *testing.T) {
	for theirs, says := range map[string]string{
		"two\n":      "rows.jsonl is not the file",
		"one\ntwo\n": "rows.jsonl has 8 bytes, and 4 were written",
		"one":        "rows.jsonl has 3 bytes, and 4 were written",
	} {
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		if err := os.WriteFile(path, []byte(theirs), 0o600); err != nil {
			t.Fatal(err)
		}
		from := epoch(t, open(t, path, sink.FileOptions{}, sink.Restored{}), 1, "one\n", true)
		if err := os.Remove(path + ".inprogress"); err != nil {
			t.Fatal(err)
		}
		_, err := sink.OpenFile(disk, path, sink.FileOptions{}, from)
		refused(t, err, fault.ErrCorrupt, says)
	}
}

// A job that has been complete since cannot go on from an older checkpoint by itself: its
// rows are readers' now. The message says where they are.
func TestAnOlderCheckpointOfACompleteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	s := open(t, path, sink.FileOptions{}, sink.Restored{})
	older := epoch(t, s, 1, "one\n", false)
	commit(t, s, epoch(t, s, 2, "two\n", true))
	_, err := sink.OpenFile(disk, path, sink.FileOptions{}, older)
	refused(t, err, fault.ErrCorrupt, "rows.jsonl.inprogress is gone", "its first 4 bytes are those of "+path)
	if got := read(t, path); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
	if err := os.WriteFile(path+".inprogress", []byte(read(t, path)[:4]), 0o600); err != nil { // as it says
		t.Fatal(err)
	}
	s = open(t, path, sink.FileOptions{}, older)
	commit(t, s, epoch(t, s, 3, "three\n", true))
	if got := read(t, path); got != "one\nthree\n" {
		t.Errorf("%q", got)
	}
}

// A file is known again by the last 4 KiB before the cut, across restarts.
func TestTails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	var from sink.Restored
	s := open(t, path, sink.FileOptions{}, from)
	for n, size := range []int{1, 100, 4095, 4096, 4097, 0, 3, 300 << 10, 10, 5000} {
		from = epoch(t, s, uint64(n+1), strings.Repeat(fmt.Sprintf("%d", n), size), false)
		content := read(t, path+".inprogress")
		want := crc32.Checksum([]byte(content[max(0, len(content)-4096):]), crc32.MakeTable(crc32.Castagnoli))
		if !strings.Contains(string(from.Pending), fmt.Sprintf(`"tail":%d}`, want)) {
			t.Fatalf("epoch %d: %s, want %d", n+1, from.Pending, want)
		}
		if n%2 == 0 {
			s = open(t, path, sink.FileOptions{}, from)
		}
	}
	// One byte of it is another.
	content := []byte(read(t, path+".inprogress"))
	content[len(content)-4096] ^= 1
	if err := os.WriteFile(path+".inprogress", append(content, "more\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sink.OpenFile(disk, path, sink.FileOptions{}, from)
	refused(t, err, fault.ErrCorrupt, "is not the file")
}

func TestAFileThatAReaderHasTakenAwayIsCommitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	s := open(t, path, perEpoch, sink.Restored{})
	from := epoch(t, s, 1, "one\n", false)
	commit(t, s, from)
	if err := os.Remove(job.EpochFile(path, 1)); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, perEpoch, from)
	commit(t, s, epoch(t, s, 2, "two\n", false))
	if got := names(t, filepath.Dir(path)); got != "rows-000002.jsonl" {
		t.Error(got)
	}
}

func TestRowsBehindTheLastEpoch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	from := epoch(t, open(t, path, sink.FileOptions{}, sink.Restored{}), 1, "one\n", true)
	s := open(t, path, sink.FileOptions{}, from)
	refused(t, s.Write([]byte("two\n")), fault.ErrUser, "rows.jsonl", "complete")

	// Without any, the job may well end once more.
	s = open(t, path, sink.FileOptions{}, from)
	commit(t, s, epoch(t, s, 2, "", true))
	if got := read(t, path); got != "one\n" || names(t, filepath.Dir(path)) != "rows.jsonl" {
		t.Errorf("%q in %s", got, names(t, filepath.Dir(path)))
	}
}

// A job that is set back to an older checkpoint writes epochs again that readers have
// seen: what they see then has each row once.
func TestEpochsBehindAnOlderCheckpointAreSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	s := open(t, path, perEpoch, sink.Restored{})
	from := epoch(t, s, 1, "one\n", false)
	commit(t, s, from)
	commit(t, s, epoch(t, s, 2, "two\n", false))
	epoch(t, s, 3, "three\n", false)
	s = open(t, path, perEpoch, from)
	if got := names(t, filepath.Dir(path)); got != ".rows-000002.jsonl.superseded rows-000001.jsonl" {
		t.Errorf("at first: %s", got)
	}
	commit(t, s, epoch(t, s, 2, "two again\n", false))
	if got := names(t, filepath.Dir(path)); got != ".rows-000002.jsonl.superseded rows-000001.jsonl rows-000002.jsonl" {
		t.Errorf("then: %s", got)
	}
	if got := read(t, job.EpochFile(path, 2)); got != "two again\n" {
		t.Errorf("%q", got)
	}
}

func TestACheckpointOfAnotherSink(t *testing.T) {
	d := t.TempDir()
	one := epoch(t, open(t, filepath.Join(d, "rows.jsonl"), sink.FileOptions{}, sink.Restored{}), 1, "one\n", false)
	many := epoch(t, open(t, filepath.Join(d, "many.jsonl"), perEpoch, sink.Restored{}), 1, "one\n", false)
	for _, c := range []struct {
		path    string
		options sink.FileOptions
		from    sink.Restored
		class   error
		says    []string
	}{
		{"other.jsonl", sink.FileOptions{}, one, fault.ErrUser, []string{"the sink wrote rows.jsonl, not other.jsonl"}},
		{"other.jsonl", perEpoch, many, fault.ErrUser, []string{"the sink wrote many.jsonl, not other.jsonl"}},
		{"rows.jsonl", perEpoch, one, fault.ErrUser, []string{"wrote one file, complete at the end", "one file for each checkpoint"}},
		{"many.jsonl", sink.FileOptions{}, many, fault.ErrUser, []string{"wrote one file for each checkpoint", "one file, complete at the end"}},
		{"rows.jsonl", sink.FileOptions{}, sink.Restored{Epoch: 1, Pending: []byte(`{"version":2}`)}, fault.ErrUser, []string{"version 2", "knows 1"}},
		{"rows.jsonl", sink.FileOptions{}, sink.Restored{Epoch: 1, Pending: []byte(`{"ver`)}, fault.ErrCorrupt, []string{"rows.jsonl cannot be read"}},
		{"rows.jsonl", sink.FileOptions{}, sink.Restored{Epoch: 1, Pending: []byte(`{"version":1,"kind":"file","file":"rows.jsonl","epoch":1,"bytes":-4}`)}, fault.ErrCorrupt, []string{"rows.jsonl cannot be"}},
		{"rows.jsonl", sink.FileOptions{}, sink.Restored{Epoch: 1, Pending: []byte(`{"version":1,"kind":"x","file":"rows.jsonl","epoch":1,"bytes":4}`)}, fault.ErrCorrupt, []string{"rows.jsonl cannot be"}},
		{"many.jsonl", perEpoch, sink.Restored{Epoch: 1, Pending: []byte(`{"version":1,"kind":"file_per_epoch","file":"many.jsonl","epoch":1,"parts":[{"epoch":2,"bytes":4}]}`)}, fault.ErrCorrupt, []string{"many.jsonl cannot be"}},
		{"many.jsonl", perEpoch, sink.Restored{Epoch: 2, Pending: []byte(`{"version":1,"kind":"file_per_epoch","file":"many.jsonl","epoch":2,"parts":[{"epoch":2,"bytes":4},{"epoch":1,"bytes":4}]}`)}, fault.ErrCorrupt, []string{"many.jsonl cannot be"}},
		{"many.jsonl", perEpoch, sink.Restored{Epoch: 1, Pending: []byte(`{"version":1,"kind":"file_per_epoch","file":"many.jsonl","epoch":1,"parts":[{"epoch":1,"bytes":0}]}`)}, fault.ErrCorrupt, []string{"many.jsonl cannot be"}},
	} {
		before := names(t, d)
		_, err := sink.OpenFile(disk, filepath.Join(d, c.path), c.options, c.from)
		refused(t, err, c.class, c.says...)
		if got := names(t, d); got != before {
			t.Errorf("it has changed %s to %s", before, got)
		}
	}
}

// What Prepare returns is stored: programs of later versions read it.
func TestStoredPending(t *testing.T) {
	d := t.TempDir()
	s := open(t, filepath.Join(d, "rows.jsonl"), sink.FileOptions{}, sink.Restored{})
	if got := string(epoch(t, s, 12, "one\n", true).Pending); got != `{"version":1,"kind":"file","file":"rows.jsonl","epoch":12,"last":true,"bytes":4,"tail":2721553421}` {
		t.Error(got)
	}
	s = open(t, filepath.Join(d, "many.jsonl"), perEpoch, sink.Restored{})
	epoch(t, s, 11, "one\n", false)
	if got := string(epoch(t, s, 12, "more\n", false).Pending); got != `{"version":1,"kind":"file_per_epoch","file":"many.jsonl","epoch":12,"bytes":0,"parts":[{"epoch":11,"bytes":4},{"epoch":12,"bytes":5}]}` {
		t.Error(got)
	}
	fourth := epoch(t, s, 14, "still more\n", false)
	commit(t, s, fourth)
	commit(t, s, fourth)
	if got := string(epoch(t, s, 15, "x\n", true).Pending); got != `{"version":1,"kind":"file_per_epoch","file":"many.jsonl","epoch":15,"last":true,"bytes":0,"parts":[{"epoch":15,"bytes":2}]}` {
		t.Errorf("after a commit: %s", got)
	}
}

// Whether a job may try again is in the class of the error.
func TestErrorsOfAnOpening(t *testing.T) {
	for err, class := range map[error]error{
		syscall.EIO: fault.ErrExternal, syscall.ENOSPC: fault.ErrExternal, syscall.EMFILE: fault.ErrExternal,
		syscall.EACCES: fault.ErrUser, syscall.EROFS: fault.ErrUser, syscall.ENOTDIR: fault.ErrUser, syscall.ENAMETOOLONG: fault.ErrUser,
	} {
		for _, o := range []sink.FileOptions{{}, perEpoch} {
			for n := 1; ; n++ {
				fs := newDisk()
				fs.Inject(sim.FailNth(n, err, sim.OpMkdirAll, sim.OpSyncDir, sim.OpCreate, sim.OpReadDir))
				s, got := sink.OpenFile(fs, "/out/rows.jsonl", o, sink.Restored{})
				if got == nil {
					if n < 4 {
						t.Errorf("only %d calls", n-1)
					}
					break
				}
				refused(t, got, class, "cannot write /out/rows.jsonl", err.Error())
				if s != nil {
					t.Errorf("call %d, %v: there is a sink", n, err)
				}
			}
		}
	}
}

func TestEpochsThatNobodyDecidesAreBounded(t *testing.T) {
	s, err := sink.OpenFile(newDisk(), "/rows.jsonl", perEpoch, sink.Restored{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(1000) {
		epoch(t, s, n+1, "row\n", false)
	}
	if err := s.Write([]byte("row\n")); err != nil {
		t.Fatal(err)
	}
	_, err = s.Prepare(1001, false)
	refused(t, err, fault.ErrExternal, "rows-*.jsonl", "1000 epochs")
}

// A process that was taken for dead goes on writing: what it does to the files of its
// successor is found before it is decided about them.
func TestAnotherWriterIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	zombie := open(t, path, sink.FileOptions{}, sink.Restored{})
	from := epoch(t, zombie, 1, "one\n", false)
	s := open(t, path, sink.FileOptions{}, from)
	epoch(t, zombie, 2, "of a zombie\n", false)
	if err := s.Write([]byte("two\n")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Prepare(3, false)
	refused(t, err, fault.ErrExternal, "rows.jsonl.inprogress has 16 bytes", "written 8", "another process")
	_, again := s.Prepare(4, false)
	if again == nil || again.Error() != err.Error() {
		t.Errorf("then: %v", again)
	}

	path = filepath.Join(t.TempDir(), "rows.jsonl")
	zombie = open(t, path, perEpoch, sink.Restored{})
	from = epoch(t, zombie, 1, "one\n", false)
	if err := zombie.Write([]byte("of a zombie\n")); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, perEpoch, from)
	if err := s.Write([]byte("two\n")); err != nil {
		t.Fatal(err)
	}
	_, err = zombie.Prepare(2, false) // what it holds open has no name any more
	refused(t, err, fault.ErrExternal, "another process")
	commit(t, s, epoch(t, s, 3, "three\n", false))
	if got := read(t, job.EpochFile(path, 1)) + read(t, job.EpochFile(path, 3)); got != "one\ntwo\nthree\n" {
		t.Errorf("%q", got)
	}

	path = filepath.Join(t.TempDir(), "rows.jsonl")
	zombie = open(t, path, perEpoch, sink.Restored{})
	s = open(t, path, perEpoch, sink.Restored{})
	if err := zombie.Write([]byte("of a zombie\n")); err != nil {
		t.Fatal(err)
	}
	refused(t, s.Write([]byte("one\n")), fault.ErrExternal, "write", "rows-*.jsonl", "exists")
}

func TestWhatIsNoFile(t *testing.T) {
	t.Run("/dev/null", func(t *testing.T) {
		for _, o := range []sink.FileOptions{{}, perEpoch} {
			s := open(t, os.DevNull, o, sink.Restored{})
			commit(t, s, epoch(t, s, 1, "one\n", false))
			s = open(t, os.DevNull, o, sink.Restored{Epoch: 1})
			commit(t, s, epoch(t, s, 2, "two\n", true))
			if _, is := s.(sink.InFile); is || s.Target() != os.DevNull {
				t.Errorf("target %s, in a file: %v", s.Target(), is)
			}
		}
	})
	t.Run("a named pipe", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		got := make(chan string)
		go func() {
			f, err := os.Open(path)
			if err != nil {
				got <- err.Error()
				return
			}
			b, err := io.ReadAll(f)
			if err := errors.Join(err, f.Close()); err != nil {
				got <- err.Error()
				return
			}
			got <- string(b)
		}()
		s := open(t, path, perEpoch, sink.Restored{})
		commit(t, s, epoch(t, s, 1, "one\n", false))
		commit(t, s, epoch(t, s, 2, "two\n", true))
		if rows := <-got; rows != "one\ntwo\n" {
			t.Errorf("%q", rows)
		}
	})
	t.Run("a directory", func(t *testing.T) {
		_, err := sink.OpenFile(disk, t.TempDir(), perEpoch, sink.Restored{})
		refused(t, err, fault.ErrUser, "is a directory")
	})
	t.Run("below a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sink.OpenFile(disk, filepath.Join(file, "rows.jsonl"), sink.FileOptions{}, sink.Restored{})
		refused(t, err, fault.ErrUser, "cannot write", "rows.jsonl", "not a directory")
	})
}
