package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/abi"
	"tidemark/host/controller"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// A host compiles plug-ins of its tenants in a process of their own: there are small
// files that take minutes and gigabytes to rewrite and to compile, and code that is being
// compiled cannot be stopped. The process ends with what it had, and with it nobody but the
// owner of the file.

// What compiling may take. A Go plug-in of 2 MB, the largest kind there is, takes about a
// second and 200 MiB.
const (
	compileMemory = 400 << 20 // bytes
	// compileWait bounds a compilation on a machine that gives it no processor.
	compileWait = 2 * time.Minute
)

// compileCPU is the processor time that a file may take, in seconds: 2 and one for each MiB.
func compileCPU(size int) uint64 { return 2 + uint64(math.Ceil(float64(size)/(1<<20))) }

const compileCommand = "compile-plugin"

// newCompileCommand is what the process runs. People have no use for it.
func newCompileCommand() *cobra.Command {
	return &cobra.Command{
		Use:    compileCommand + " DIRECTORY",
		Short:  "compile a module from standard input into an empty directory, within limits",
		Hidden: true,
		Args:   exactly(1, "a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), abi.MaxModuleBytes+1))
			if err != nil {
				return fault.Externalf("read the module: %w", err)
			}
			if err := limitProcess(compileCPU(len(file)), compileMemory); err != nil {
				return fault.Externalf("limit the compiler's process: %w", err)
			}
			err = controller.CompileInto(cmd.Context(), env.Real(), file, args[0])
			if errors.Is(err, fault.ErrUser) {
				// What is wrong with the module is the command's result. It has no exit code,
				// since the Go runtime takes one of ours when it gives up.
				_, err = fmt.Fprint(cmd.OutOrStdout(), err)
			}
			return err
		},
	}
}

// compileElsewhere has a module compiled by a process of its own.
func compileElsewhere(ctx context.Context, file []byte, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fault.Externalf("start of the compiler's process: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, compileWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, compileCommand, dir)
	var refused, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(file), &refused, &said
	cmd.Env = []string{"HOME=" + os.Getenv("HOME"), "GOMAXPROCS=1", fmt.Sprintf("GOMEMLIMIT=%d", compileMemory*3/4)}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil && refused.Len() == 0:
		return nil
	case err == nil:
		return fault.Userf("%s", refused.String())
	case ctx.Err() == context.DeadlineExceeded:
		return fault.Externalf("the compiler's process had not ended after %s", compileWait)
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &exit):
		return fault.Externalf("start of the compiler's process: %w", err)
	}
	limit := time.Duration(compileCPU(len(file))) * time.Second
	text := said.String()
	switch {
	case exit.UserTime()+exit.SystemTime() >= limit-limit/8: // ended by the kernel, which looks now and then
		return fault.Userf("the code takes more than %s of processor time to compile, which is what a module of %d KiB has; make its functions smaller", limit, len(file)>>10)
	case strings.Contains(text, "cannot allocate memory"), strings.Contains(text, "out of memory"):
		return fault.Userf("the code takes more than %d MiB of memory to compile; make its functions smaller", compileMemory>>20)
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "tidemark: "), "\n")
	return fault.Externalf("the compiler's process: %w: %s", err, text)
}
