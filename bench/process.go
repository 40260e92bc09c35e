package main

import (
	"bytes"
	"fmt"
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
}

// Cost is what one run of a process took.
type Cost struct {
	CPU  time.Duration // user and system, all threads
	Peak int64         // largest resident memory in bytes; 0 where the system does not tell
}

// maxMessage bounds how much of a failed child's messages is shown.
const maxMessage = 4 << 10

// Run runs p with its standard output in the file out and returns its cost. The
// child inherits the core that the calling thread is pinned to.
//
// On Linux a child's peak includes what the harness occupied when it started it, so
// the harness holds no data itself: whatever needs memory is a process too.
func (p Process) Run(out string) (Cost, error) {
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	if p.Stdin != "" {
		in, err := os.Open(p.Stdin)
		if err != nil {
			return Cost{}, err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	rows, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return Cost{}, err
	}
	defer rows.Close()
	var messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = rows, &messages
	if err := cmd.Run(); err != nil {
		text := messages.Bytes()
		return Cost{}, fmt.Errorf("%v: %w\n%s", p.Args, err, text[max(0, len(text)-maxMessage):])
	}
	return Cost{
		CPU:  cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Peak: peakOf(cmd.ProcessState),
	}, nil
}

// median returns the middle of the values, the mean of the middle two for an even
// number of them.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
