package sim

import (
	"context"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"tidemark/internal/env"
)

// Scheduler is a clock that passes when all goroutines of the process wait, for each other
// or for it, and that moves them against each other by a seed. Ticks fire. At most one of
// those who wait for time goes on at once, also of those whose time has come together, and
// what it sets off comes to rest before the next one does.
//
// At every call of the clock, and of a file system that Env has joined to it, the seed
// decides whether the caller goes on, lets others run, or sleeps for up to Jitter of virtual
// time, which lets everybody else run until they wait.
//
// What follows from the seed: those decisions, each by the kind of call, its path and its
// number among such calls; the order of those whose time comes together; and so much of
// the order of all as the goroutines themselves fix once others wait. What does not: which
// of two goroutines that can both run gets ahead between two such calls, which ready case a
// select takes, in which order a map is walked. The same seed therefore gives a like run,
// nearly always the same one with one core (GOMAXPROCS=1), and no promise. A test under it
// must hold for every order.
//
// "All wait" is what the runtime counts, approximately: time may pass, rarely, while
// somebody can still run, as it does on a busy machine. Goroutines that have nothing to do
// with the test count too, so there should be one Scheduler in a process at a time. A
// system call counts as waiting.
//
// Safe for concurrent use. Stop ends it.
type Scheduler struct {
	// Jitter bounds the sleeps that the seed puts in; 0: none. Not to be changed in use.
	Jitter time.Duration

	seed uint64
	wake chan struct{} // has a value when there is somebody new
	quit chan struct{}
	done chan struct{}

	mu       sync.Mutex
	now      time.Time
	sleepers []*sleeper
	slept    uint64 // sleepers that there have been
	nth      map[target]int
}

// sleeper is one who waits for a time.
type sleeper struct {
	at   time.Time
	tie  uint64 // decides between those of one time
	come chan struct{}
}

// defaultJitter lets a few calls of many fall behind a tick.
const defaultJitter = 3 * time.Millisecond

// NewScheduler starts a clock at a time.
func NewScheduler(seed uint64, start time.Time) *Scheduler {
	s := &Scheduler{
		Jitter: defaultJitter, seed: seed, now: start, nth: map[target]int{},
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go s.drive()
	return s
}

var _ env.Clock = (*Scheduler)(nil)

// Stop ends the passing of time; it is to be called once. Whoever still sleeps does so
// until its context ends.
func (s *Scheduler) Stop() {
	close(s.quit)
	<-s.done
}

// Env is a machine of this clock and a file system, which goes by the clock from now on, and
// whose calls it moves against each other. The random bytes follow from the seed.
func (s *Scheduler) Env(f *FS) env.Env {
	f.mu.Lock()
	f.clock, f.yield = s, s.Yield
	f.mu.Unlock()
	return env.Env{Clock: s, FS: f, Rand: NewRand(s.seed), Cores: runtime.GOMAXPROCS(0)}
}

// Now implements env.Clock.
func (s *Scheduler) Now() time.Time {
	s.Yield("now", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Sleep implements env.Clock.
func (s *Scheduler) Sleep(ctx context.Context, d time.Duration) error {
	s.Yield("sleep", "")
	return s.sleep(ctx, d)
}

func (s *Scheduler) sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	s.mu.Lock()
	s.slept++
	me := &sleeper{at: s.now.Add(d), tie: rand.NewPCG(s.seed, s.slept).Uint64(), come: make(chan struct{})}
	s.sleepers = append(s.sleepers, me)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it is awake, or will be
	}
	select {
	case <-me.come:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(me)
		return ctx.Err()
	}
}

func (s *Scheduler) remove(who *sleeper) {
	for i, o := range s.sleepers {
		if o == who {
			s.sleepers = append(s.sleepers[:i], s.sleepers[i+1:]...)
			return
		}
	}
}

// Tick implements env.Clock.
func (s *Scheduler) Tick(d time.Duration, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.sleep(ctx, d) == nil {
			if ctx.Err() == nil {
				f()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// Yield is where the seed may let others run before the caller goes on: a call of some
// name on a path.
func (s *Scheduler) Yield(op Op, name string) {
	at := target{op, name}
	s.mu.Lock()
	s.nth[at]++
	r := rand.New(rand.NewPCG(s.seed, digest(op, name, s.nth[at])))
	s.mu.Unlock()
	switch r.IntN(8) {
	case 0, 1:
		for range 1 + r.IntN(3) {
			runtime.Gosched()
		}
	case 2:
		if s.Jitter > 0 {
			_ = s.sleep(context.Background(), 1+time.Duration(r.Int64N(int64(s.Jitter))))
		}
	}
}

// drive wakes one sleeper after the other, each when all is quiet.
func (s *Scheduler) drive() {
	defer close(s.done)
	q := newQuiet()
	for {
		s.mu.Lock()
		waiting := len(s.sleepers) > 0
		s.mu.Unlock()
		if !waiting {
			select {
			case <-s.wake:
			case <-s.quit:
				return
			}
			continue
		}
		if !q.await(s.quit) {
			return
		}
		s.next()
	}
}

// next wakes the sleeper whose time comes first.
func (s *Scheduler) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *sleeper
	for _, o := range s.sleepers {
		if first == nil || o.at.Before(first.at) || o.at.Equal(first.at) && o.tie < first.tie {
			first = o
		}
	}
	if first == nil {
		return // meanwhile its context has ended
	}
	s.remove(first)
	if first.at.After(s.now) {
		s.now = first.at
	}
	close(first.come)
}

// quiet tells whether all goroutines but its own wait.
type quiet struct{ samples []metrics.Sample }

func newQuiet() *quiet {
	return &quiet{[]metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"}}}
}

// looks is how often quiet looks in a row before it believes that nobody runs: what it
// sees is put together while others may be passing work on.
const looks = 3

// spins is how often quiet looks again at once before it sleeps in between.
const spins = 50

// await waits until all is quiet, or reports false when quit is closed.
func (q *quiet) await(quit <-chan struct{}) bool {
	for n, seen := 0, 0; ; n++ {
		select {
		case <-quit:
			return false
		default:
		}
		runtime.Gosched()
		metrics.Read(q.samples)
		if q.samples[0].Value.Uint64() <= 1 && q.samples[1].Value.Uint64() == 0 {
			if seen++; seen == looks {
				return true
			}
			continue
		}
		seen = 0
		if n > spins {
			time.Sleep(20 * time.Microsecond) // real time: somebody computes
		}
	}
}

// NewRand returns random bytes that follow from a seed, for env.Env.Rand. Safe for
// concurrent use.
func NewRand(seed uint64) io.Reader {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	return &seeded{r: rand.NewChaCha8(key)}
}

type seeded struct {
	mu sync.Mutex
	r  *rand.ChaCha8
}

func (s *seeded) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(p)
}
