package env

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// holder names, in the environment of a child process, the lock that it is to hold.
const holder = "TIDEMARK_TEST_LOCK"

func TestMain(m *testing.M) {
	name := os.Getenv(holder)
	if name == "" {
		os.Exit(m.Run())
	}
	if _, err := Real().FS.Lock(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent has gone
}

func TestALockHasOneHolder(t *testing.T) {
	needLocks(t)
	files, name := Real().FS, filepath.Join(t.TempDir(), "lock")
	held, err := files.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Lock(name); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	held, err = files.Lock(name)
	if err != nil {
		t.Fatalf("the lock was given back: %v", err)
	}
	_ = held.Close()
}

func TestALockEndsWithItsProcess(t *testing.T) {
	needLocks(t)
	name := filepath.Join(t.TempDir(), "lock")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), holder+"="+name)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe() // held open: its end would end the child
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("locked"))); err != nil {
		t.Fatal(err)
	}
	if _, err := Real().FS.Lock(name); !errors.Is(err, ErrLocked) {
		t.Errorf("another process has the lock: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	held, err := Real().FS.Lock(name)
	if err != nil {
		t.Fatalf("its holder was killed: %v", err)
	}
	_ = held.Close()
}

func needLocks(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("locks keep nobody out here")
	}
}

func TestALinkTakesNoNameThatIsTaken(t *testing.T) {
	files, dir := Real().FS, t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(a, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := files.Link(a, b); err != nil {
		t.Fatal(err)
	}
	if err := files.Link(a, b); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	ia, err := files.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	ib, err := files.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	if !SameFile(ia, ib) {
		t.Error("two names of a file are said to be of two")
	}
}
