package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"tidemark/internal/fault"
)

// A job with plug-ins runs in a process of its own. A call of a plug-in ends with its
// job, but a compilation only between two functions, and one crafted function can take
// minutes and all the memory there is. The process that was started by the user only
// waits, and ends the other one whatever it does.
//
// The two share standard input and output. The supervisor holds the writing end of a
// pipe and closes it to say stop; its death closes it, too.

const (
	supervisedEnv = "TIDEMARK_SUPERVISED" // set for the process that runs the job
	stopFile      = 3                     // the reading end of the pipe, in that process
)

func supervised() bool { return os.Getenv(supervisedEnv) != "" }

// waitForSupervisor returns when the supervisor says stop, or is gone.
func waitForSupervisor() {
	f := os.NewFile(stopFile, "supervisor")
	_, _ = f.Read(make([]byte, 1)) // nothing is ever written
}

// supervise runs this command line again and watches over it.
func supervise(ctx context.Context) error {
	// The kernel ends the child with the thread that started it, where it can.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return fault.Externalf("start of the job's process: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fault.Externalf("start of the job's process: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{r}
	cmd.Env = append(os.Environ(), supervisedEnv+"=1")
	cmd.SysProcAttr = endWithParent()
	err = cmd.Start()
	_ = r.Close() // the child has its own
	if err != nil {
		_ = w.Close()
		return fault.Externalf("start of the job's process: %w", err)
	}
	beforeEnding(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended meanwhile
	unhook := context.AfterFunc(ctx, func() { _ = w.Close() })
	err = cmd.Wait()
	if unhook() {
		_ = w.Close()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return fault.Externalf("the job's process: %w", err)
	case exit.Exited():
		return &quietError{exit.ExitCode()}
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		if status.Signal() == syscall.SIGPIPE { // whoever read the results has seen enough
			return &quietError{128 + int(syscall.SIGPIPE)}
		}
		return failedError{fmt.Errorf("the job's process was ended by signal %d (%s)", status.Signal(), status.Signal())}
	}
	return failedError{fmt.Errorf("the job's process: %w", err)}
}
