package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// maxFirstStartBytes: a number and two names; more is not ours.
const maxFirstStartBytes = 16 << 10

// FirstStart returns when `run` first started a job, and remembers now if it is the
// first time, so that a re-run judges records from the future as the first run did.
// A job is the absolute path of its file and its name; stateDir holds one small file
// for each. Files that cannot be read or written are of class ErrExternal.
func FirstStart(e env.Env, stateDir, jobFile, jobName string) (time.Time, error) {
	// Whole milliseconds, as they are kept: the first run and the next see the same.
	now := time.UnixMilli(e.Clock.Now().UnixMilli())
	path := placeOf(stateDir, "first-start", jobFile, jobName)
	t, err := readFirstStart(e.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		t, err = now, writeFirstStart(e.FS, filepath.Dir(path), path, fmt.Sprintf("%d\n%s\n%s\n", now.UnixMilli(), jobFile, jobName))
	}
	if err != nil {
		return time.Time{}, fault.As(fault.ErrExternal, fmt.Errorf("first start of job %s: %w", jobName, err))
	}
	return t, nil
}

// placeOf is where something of a job of `run` is kept: by the absolute path of its file and
// its name. Stored; never change.
func placeOf(stateDir, what, jobFile, jobName string) string {
	sum := sha256.Sum256([]byte(jobFile + "\n" + jobName))
	return filepath.Join(stateDir, what, hex.EncodeToString(sum[:16]))
}

func readFirstStart(files env.FS, path string) (time.Time, error) {
	f, err := files.Open(path)
	if err != nil {
		return time.Time{}, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFirstStartBytes))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return time.Time{}, err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	ms, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: the first line is not a time in milliseconds; remove the file to start anew", path)
	}
	return time.UnixMilli(ms), nil
}

// writeFirstStart makes the file whole or not at all.
func writeFirstStart(files env.FS, dir, path, text string) error {
	if err := files.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp := path + ".tmp"
	f, err := files.Create(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, files.Remove(temp))
	}
	return files.Rename(temp, path)
}
