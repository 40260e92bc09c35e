package main

import (
	"errors"
	"os"
	"runtime/pprof"

	"tidemark/internal/fault"
)

// profiled calls f, and writes what the process uses the CPU for meanwhile to a file, for
// go tool pprof; without a name it only calls f. Samples carry labels of the job's tasks:
// see engine/label.go.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return fault.Userf("--cpu-profile: %w", err)
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return errors.Join(fault.Externalf("--cpu-profile: %w", err), out.Close())
	}
	err = f()
	pprof.StopCPUProfile() // writes the rest
	if cerr := out.Close(); cerr != nil {
		err = errors.Join(err, fault.Externalf("--cpu-profile: %w", cerr))
	}
	return err
}
