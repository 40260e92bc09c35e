package turns

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, atOnce int) *Turns {
	t.Helper()
	turns, err := New(Options{AtOnce: atOnce, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return turns
}

// waiting waits until so many tasks wait for a turn.
func waiting(turns *Turns, n int) {
	for {
		turns.mu.Lock()
		asking := turns.queue.root.asking
		turns.mu.Unlock()
		if asking == n {
			return
		}
		runtime.Gosched()
	}
}

func TestAJobThatEndsWhileItWaitsGetsOut(t *testing.T) {
	turns := open(t, 1)
	holder, waiter, third := turns.Job("a"), turns.Job("b"), turns.Job("c")
	if err := holder.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, got := make(chan error), make(chan error)
	go func() { out <- waiter.Acquire(ctx) }()
	waiting(turns, 1)
	go func() { got <- third.Acquire(t.Context()) }()
	waiting(turns, 2)
	cancel()
	if err := <-out; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that has ended got %v", err)
	}
	waiter.Close()
	holder.Release(time.Millisecond, 5)
	if err := <-got; err != nil {
		t.Errorf("the next one got %v", err)
	}
	third.Release(0, 0)
	if a := waiter.Account(); a.Turns != 0 || a.Waited <= 0 {
		t.Errorf("the one that has ended: %+v", a)
	}
	if a := holder.Account(); a.Turns != 1 || a.Time != time.Millisecond || a.Fuel != 5 {
		t.Errorf("the holder: %+v", a)
	}
	if err := waiter.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("behind its end: %v", err)
	}
}

// A turn that comes in the moment in which its job ends goes to the next one.
func TestNoTurnIsLostWhereATurnAndAnEndMeet(t *testing.T) {
	turns := open(t, 1)
	a, b := turns.Job("a"), turns.Job("b")
	for range 2000 {
		if err := a.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		out := make(chan error)
		go func() { out <- b.Acquire(ctx) }()
		waiting(turns, 1)
		go cancel()
		a.Release(0, 0)
		if err := <-out; err == nil {
			b.Release(0, 0)
		}
		cancel()
	}
	a.Close() // panics if one is still held
	b.Close()
	if turns.queue.root.held != 0 || turns.queue.root.asking != 0 {
		t.Errorf("%d held, %d wait", turns.queue.root.held, turns.queue.root.asking)
	}
}

func TestAHolderGivesWayAtAYield(t *testing.T) {
	turns := open(t, 1)
	hostile, other := turns.Job("a"), turns.Job("b")
	if err := hostile.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := hostile.Yield(t.Context(), time.Hour, 1); err != nil { // nobody waits
		t.Fatal(err)
	}
	order := make(chan string, 2)
	var done sync.WaitGroup
	done.Go(func() {
		if err := other.Acquire(t.Context()); err != nil {
			t.Error(err)
		}
		order <- "other"
		other.Release(time.Millisecond, 0)
	})
	waiting(turns, 1)
	if err := hostile.Yield(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	order <- "hostile"
	hostile.Release(0, 1)
	done.Wait()
	if first := <-order; first != "other" {
		t.Errorf("%s was first", first)
	}
	if a := turns.Tenants()["a"]; a.Turns != 2 || a.Fuel != 3 || a.Time != time.Hour {
		t.Errorf("the one that gave way: %+v", a)
	}

	// One that ends while it has given way gets out, without a turn.
	if err := hostile.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	held := make(chan struct{})
	done.Go(func() {
		if err := other.Acquire(t.Context()); err != nil {
			t.Error(err)
		}
		close(held)
	})
	waiting(turns, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-held
		waiting(turns, 1)
		cancel()
	}()
	if err := hostile.Yield(ctx, time.Hour, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	done.Wait()
	hostile.Close()
	other.Release(0, 0)
	other.Close()
}

func TestOptions(t *testing.T) {
	turns := open(t, 0)
	if got, want := turns.queue.limit, runtime.GOMAXPROCS(0); got != want {
		t.Errorf("%d turns at once, want %d", got, want)
	}
	for _, o := range []Options{{AtOnce: -1}, {Weights: map[string]int{"a": 0}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
