package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var epoch = time.UnixMilli(1704067200000)

// scheduler makes one whose time passes until the test ends.
func scheduler(t *testing.T, seed uint64) *Scheduler {
	t.Helper()
	s := NewScheduler(seed, epoch)
	t.Cleanup(s.Stop)
	return s
}

func TestTicksFireWhileAllSleep(t *testing.T) {
	s := scheduler(t, 1)
	s.Jitter = 0
	var mu sync.Mutex
	var at []time.Duration
	stop := s.Tick(10*time.Millisecond, func() {
		mu.Lock()
		defer mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		at = append(at, s.now.Sub(epoch))
	})
	if err := s.Sleep(t.Context(), 95*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := s.Sleep(t.Context(), time.Hour); err != nil { // no tick after stop
		t.Fatal(err)
	}
	if fmt.Sprint(at) != "[10ms 20ms 30ms 40ms 50ms 60ms 70ms 80ms 90ms]" {
		t.Errorf("ticked at %v", at)
	}
	if got := s.Now().Sub(epoch); got != time.Hour+95*time.Millisecond {
		t.Errorf("%v have passed", got)
	}
}

// Time does not pass while somebody works on what another has sent, nor is a mutex in the
// way of those who sleep with it.
func TestTimeWaitsForWork(t *testing.T) {
	for seed := range uint64(20) {
		s := NewScheduler(seed, epoch)
		var mu sync.Mutex
		work, done := make(chan int, 20), make(chan int)
		go func() {
			total := 0
			for n := range work {
				mu.Lock() // held by the sender, who sleeps
				for range n {
					total++
				}
				mu.Unlock()
			}
			done <- total
		}()
		for range 20 {
			mu.Lock()
			work <- 1000
			if err := s.sleep(t.Context(), time.Millisecond); err != nil {
				t.Fatal(err)
			}
			mu.Unlock()
		}
		close(work)
		if got := <-done; got != 20000 {
			t.Errorf("worked %d", got)
		}
		s.mu.Lock()
		if got := s.now.Sub(epoch); got != 20*time.Millisecond {
			t.Errorf("%v have passed", got)
		}
		s.mu.Unlock()
		s.Stop()
	}
}

func TestASleepEndsWithItsContext(t *testing.T) {
	s := scheduler(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	stop := s.Tick(time.Minute, cancel)
	defer stop()
	if err := s.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := s.Now().Sub(epoch); got > 2*time.Minute {
		t.Errorf("slept %v", got)
	}
}

// order runs workers who write what they do to one file, and returns what it was.
func order(seed uint64) string {
	s := NewScheduler(seed, epoch)
	defer s.Stop()
	machine := s.Env(NewFS(s))
	var all sync.WaitGroup
	w := must(machine.FS.Create("/log", os.O_WRONLY|os.O_CREATE, 0o644))
	for _, who := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			for range 5 {
				check(machine.Clock.Sleep(context.Background(), 10*time.Millisecond))
				must(machine.FS.Stat("/log"))
				must(w.Write([]byte(who)))
			}
		})
	}
	all.Wait()
	return string(must(machine.FS.(*FS).Get("/log")))
}

func TestSeedsGiveOrders(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(12) {
		got := order(seed)
		for _, who := range []string{"a", "b", "c", "d"} {
			if strings.Count(got, who) != 5 {
				t.Fatalf("seed %d: %q", seed, got)
			}
		}
		orders[got] = true
	}
	if len(orders) < 8 {
		t.Errorf("12 seeds give %d orders", len(orders))
	}
}

func TestRandFollowsFromTheSeed(t *testing.T) {
	read := func(seed uint64) string {
		p := make([]byte, 20)
		must(NewRand(seed).Read(p))
		return string(p)
	}
	for seed, want := range []string{read(0), read(1)} {
		if read(uint64(seed)) != want {
			t.Errorf("seed %d gives two things", seed)
		}
	}
	if read(0) == read(1) {
		t.Error("two seeds give the same")
	}
}
