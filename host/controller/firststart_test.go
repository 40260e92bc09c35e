package controller

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// at is a clock that stands still.
type at struct {
	env.Clock
	now time.Time
}

func (c at) Now() time.Time { return c.now }

func TestFirstStart(t *testing.T) {
	dir := t.TempDir()
	day := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	start := func(now time.Time, file, name string) (time.Time, error) {
		e := env.Real()
		e.Clock = at{now: now}
		return FirstStart(e, dir, file, name)
	}
	for _, c := range []struct {
		name string
		now  time.Time
		file string
		job  string
		want time.Time
	}{
		{"the first run, in whole milliseconds", day, "/a.yaml", "x", day.Truncate(time.Millisecond)},
		{"the same job a day later", day.Add(24 * time.Hour), "/a.yaml", "x", day.Truncate(time.Millisecond)},
		{"another job file", day.Add(time.Hour), "/b.yaml", "x", day.Add(time.Hour).Truncate(time.Millisecond)},
		{"another job in the same file", day.Add(2 * time.Hour), "/a.yaml", "y", day.Add(2 * time.Hour).Truncate(time.Millisecond)},
	} {
		if got, err := start(c.now, c.file, c.job); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "first-start", "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("files: %v, %v", files, err)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte("yesterday\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := start(day, "/a.yaml", "x"); !errors.Is(err, fault.ErrExternal) {
		t.Errorf("a file that someone has written over: %v", err)
	}
}
