package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interruptible returns a context that ends at the first Ctrl-C (or SIGTERM), with
// errInterrupted as its cause. The second one ends the process at once.
func interruptible(parent context.Context, stderr io.Writer) (ctx context.Context, stop func()) {
	end := &ending{}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, endingKey{}, end))
	signals := make(chan os.Signal, 2) // one that stops, one that ends
	if supervised() {
		// Ctrl-C at a terminal reaches both processes; it is the supervisor's to handle.
		signal.Ignore(os.Interrupt)
		signal.Notify(signals, syscall.SIGTERM)
		go func() { // ends with the process, which nothing else waits for
			waitForSupervisor()
			cancel(errInterrupted)
		}()
	} else {
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	}
	done := make(chan struct{})
	go func() { // ends with stop, or behind an interrupt with the process
		select {
		case <-signals:
		case <-done:
			signal.Stop(signals)
			return
		}
		fmt.Fprintln(stderr, "tidemark: stopping; Ctrl-C again ends at once")
		cancel(errInterrupted)
		<-signals // also behind stop: the Go runtime would answer with an exit code of its own
		end.now()
		os.Exit(exitInterrupted)
	}()
	return ctx, func() {
		close(done)
		cancel(nil)
	}
}

// ending is what has to be done before a second Ctrl-C ends the process.
type ending struct {
	mu sync.Mutex
	do func()
}

type endingKey struct{}

func (e *ending) now() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.do != nil {
		e.do()
	}
}

// beforeEnding has f called when a second Ctrl-C ends the process.
func beforeEnding(ctx context.Context, f func()) {
	if e, ok := ctx.Value(endingKey{}).(*ending); ok {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.do = f
	}
}
