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
	wait, err := p.start(rows)
	if err != nil {
		return Cost{}, err
	}
	return wait()
}

// Pipe runs p with its standard output as what read reads, to its end or to what it does not like.
func (p Process) Pipe(read func(io.Reader) error) error {
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	wait, err := p.start(to)
	to.Close() // the child has its own
	if err != nil {
		from.Close()
		return err
	}
	err = read(from)
	from.Close()
	_, ended := wait()
	return errors.Join(err, ended) // of a process that failed there was too little to read
}

// start starts p and returns what waits for its end.
func (p Process) start(out *os.File) (wait func() (Cost, error), err error) {
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	if p.Stdin != "" {
		in, err := os.Open(p.Stdin)
		if err != nil {
			return nil, err
		}
		defer in.Close()
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
