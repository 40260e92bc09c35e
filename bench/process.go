package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Process is a command whose cost is measured.
type Process struct {
	Args  []string
	Stdin string   // path of a file; empty: nothing to read
	Env   []string // on top of the harness's own environment
	// EveryCore lets it use all cores that the harness may use, not one.
	EveryCore bool
}

// Cost is what one run of a process took.
type Cost struct {
	CPU  time.Duration // user and system, all threads
	Peak int64         // largest resident memory in bytes; 0 where the system does not tell
}

// maxMessage bounds how much of a failed child's messages is shown.
const maxMessage = 4 << 10

// Run runs p with its standard output in the file out and returns its cost.
//
// On Linux a child's peak includes what the harness occupied when it started it, so
// the harness holds no data itself: whatever needs memory is a process too.
func (p Process) Run(out string) (Cost, error) {
	rows, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return Cost{}, err
	}
	defer rows.Close()
	wait, err := p.start(rows, nil)
	if err != nil {
		return Cost{}, err
	}
	return wait()
}

// into runs p with its standard output as that of reader, whose own it returns.
func (p Process) into(reader Process) ([]byte, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	waitReader, err := reader.start(&out, from)
	from.Close() // the children have their own
	if err != nil {
		to.Close()
		return nil, err
	}
	wait, err := p.start(to, nil)
	to.Close()
	if err == nil {
		_, err = wait()
	}
	// What the reader did not like is why the writer's pipe broke, so it comes first.
	_, readErr := waitReader()
	return out.Bytes(), errors.Join(readErr, err)
}

// start starts p and returns what waits for its end. in is its input if it names no file.
func (p Process) start(out io.Writer, in *os.File) (wait func() (Cost, error), err error) {
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	if p.Stdin != "" {
		file, err := os.Open(p.Stdin)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	if in != nil {
		cmd.Stdin = in
	}
	var messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &messages
	pin := onOneCore
	if p.EveryCore {
		pin = func(start func() error) error { return start() }
	}
	if err := pin(cmd.Start); err != nil {
		return nil, fmt.Errorf("%v: %w", p.Args, err)
	}
	return func() (Cost, error) {
		if err := cmd.Wait(); err != nil {
			text := messages.Bytes()
			return Cost{}, fmt.Errorf("%v: %w\n%s", p.Args, err, text[max(0, len(text)-maxMessage):])
		}
		return Cost{
			CPU:  cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
			Peak: peakOf(cmd.ProcessState),
		}, nil
	}, nil
}

// median returns the middle of the values, the mean of the middle two for an even
// number of them.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
