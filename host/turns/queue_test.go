package turns

import (
	"math/rand"
	"testing"
	"time"
)

// worker is a task of the simulated machine: it computes for stints, waits for a pause
// behind each, and can be interrupted every so often.
type worker struct {
	job   *Share
	stint time.Duration // of work between two pauses; 0: it never pauses
	pause time.Duration
	yield time.Duration // how long it computes until it can be interrupted; 0: until its stint ends

	claim  *Claim
	holds  bool
	until  time.Duration // it computes, or pauses, until then
	work   time.Duration // left of the stint
	active bool          // it computes or wants to
	step   time.Duration // that it computes now
}

// machine runs workers in virtual time, one event after the other.
type machine struct {
	t       *testing.T
	queue   Queue
	now     time.Duration
	workers []*worker
	most    int // turns that were held at once
}

func (m *machine) at() time.Time { return time.Unix(0, int64(m.now)) }

// run lets time pass.
func (m *machine) run(until time.Duration) {
	for {
		next := until
		for _, w := range m.workers {
			if w.claim == nil {
				next = min(next, w.until)
			}
		}
		m.now = next
		if next == until {
			return
		}
		for _, w := range m.workers {
			if w.claim == nil && w.until == next {
				m.event(w)
			}
		}
		m.grant()
	}
}

// event is the end of what a worker does.
func (m *machine) event(w *worker) {
	switch {
	case !w.active: // its pause has ended
		w.active, w.work = true, w.stint
		m.ask(w)
		return
	case w.work > 0:
		w.work -= w.step
	}
	m.queue.Charge(w.job, w.step, int64(w.step))
	switch {
	case w.stint > 0 && w.work == 0:
		m.queue.Return(w.job)
		w.holds, w.active, w.until = false, false, m.now+w.pause
	case m.queue.GiveWay(w.job):
		m.queue.Return(w.job)
		w.holds = false
		m.ask(w)
	default:
		m.compute(w)
	}
}

func (m *machine) ask(w *worker) {
	if m.queue.Take(w.job) {
		m.compute(w)
		return
	}
	w.claim = m.queue.Ask(w.job, m.at())
}

func (m *machine) compute(w *worker) {
	w.holds, w.claim = true, nil
	w.step = w.yield
	if w.stint > 0 && (w.step == 0 || w.step > w.work) {
		w.step = w.work
	}
	w.until = m.now + w.step
	held := 0
	for _, o := range m.workers {
		if o.holds {
			held++
		}
	}
	m.most = max(m.most, held)
}

func (m *machine) grant() {
	for c := m.queue.Grant(m.at()); c != nil; c = m.queue.Grant(m.at()) {
		for _, w := range m.workers {
			if w.claim == c {
				m.compute(w)
			}
		}
	}
	// Nobody waits while a turn is free.
	if m.queue.root.asking > 0 && m.queue.root.held < m.queue.limit {
		m.t.Fatalf("at %v %d wait and only %d turns are held", m.now, m.queue.root.asking, m.queue.root.held)
	}
}

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// hog never ends by itself, as a plug-in that loops; it yields every 30 µs.
func hog(job *Share) *worker { return &worker{job: job, yield: 30 * us, active: true} }

// batches computes for a while and then waits for a moment, as tasks do that hand batches
// to each other; it cannot be interrupted.
func batches(job *Share, stint, pause time.Duration) *worker {
	return &worker{job: job, stint: stint, pause: pause}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		name    string
		atOnce  int
		tenants []int // weights
		// with adds workers; jobs has two for each tenant.
		with func(jobs [][2]*Share) []*worker
		want []float64 // part of each tenant of all that was used
	}{
		{"two that always compute share alike", 1, []int{1, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), hog(j[1][0])}
		}, []float64{.5, .5}},
		{"by their weights", 1, []int{3, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), hog(j[1][0])}
		}, []float64{.75, .25}},
		{"many tasks get no more than one", 1, []int{1, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), hog(j[0][0]), hog(j[0][0]), hog(j[0][0]), hog(j[0][0]), hog(j[1][0])}
		}, []float64{.5, .5}},
		{"nor do two jobs", 1, []int{1, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), hog(j[0][1]), hog(j[1][0])}
		}, []float64{.5, .5}},
		{"short batches beside a plug-in that loops", 1, []int{1, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), batches(j[1][0], 200*us, 20*us)}
		}, []float64{.5, .5}},
		{"long batches beside one", 1, []int{1, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), batches(j[1][0], 20*ms, 100*us)}
		}, []float64{.5, .5}},
		{"what one does not want is the other's", 1, []int{1, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), batches(j[1][0], 1*ms, 9*ms)}
		}, []float64{.9, .1}},
		{"two turns: one task uses one", 2, []int{1, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), hog(j[0][0]), hog(j[0][0]), hog(j[1][0])}
		}, []float64{.5, .5}},
		{"two turns: two tasks against seven", 2, []int{1, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), hog(j[0][0]), hog(j[0][0]), hog(j[0][0]), hog(j[0][0]), hog(j[0][0]), hog(j[0][0]),
				batches(j[1][0], 300*us, 10*us), batches(j[1][0], 700*us, 10*us), batches(j[1][1], 100*us, 10*us)}
		}, []float64{.5, .5}},
		{"three tenants", 1, []int{1, 2, 1}, func(j [][2]*Share) []*worker {
			return []*worker{hog(j[0][0]), hog(j[1][0]), hog(j[1][1]), batches(j[2][0], 2*ms, 10*us)}
		}, []float64{.25, .5, .25}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &machine{t: t, queue: NewQueue(c.atOnce)}
			var tenants []*Share
			var jobs [][2]*Share
			for _, w := range c.tenants {
				tenant := m.queue.Tenant(w)
				tenants = append(tenants, tenant)
				jobs = append(jobs, [2]*Share{m.queue.Job(tenant), m.queue.Job(tenant)})
			}
			m.workers = c.with(jobs)
			for _, w := range m.workers {
				if w.active {
					m.ask(w)
				}
			}
			const span = 10 * time.Second
			m.run(span)
			var sum time.Duration
			for i, tenant := range tenants {
				a := tenant.Account()
				sum += a.Time
				if got := float64(a.Time) / float64(time.Duration(c.atOnce)*span); got < c.want[i]-.01 || got > c.want[i]+.01 {
					t.Errorf("tenant %d has had %.3f, want %.2f", i, got, c.want[i])
				}
				if a.Fuel != int64(a.Time) || a.Turns == 0 {
					t.Errorf("tenant %d: %+v", i, a)
				}
				var ofJobs Account
				for _, j := range jobs[i] {
					b := j.Account()
					ofJobs = Account{ofJobs.Turns + b.Turns, ofJobs.Time + b.Time, ofJobs.Fuel + b.Fuel, ofJobs.Waited + b.Waited}
				}
				if ofJobs != a {
					t.Errorf("tenant %d has %+v, its jobs %+v", i, a, ofJobs)
				}
			}
			if m.most > c.atOnce || float64(sum) < .99*float64(time.Duration(c.atOnce)*span) {
				t.Errorf("%d turns at once; used %v of %v", m.most, sum, time.Duration(c.atOnce)*span)
			}
		})
	}
}

// Two jobs of a tenant share what it gets, whatever another tenant does.
func TestJobsOfATenantShareAlike(t *testing.T) {
	m := &machine{t: t, queue: NewQueue(1)}
	a, b := m.queue.Tenant(1), m.queue.Tenant(1)
	hogs, small, other := m.queue.Job(a), m.queue.Job(a), m.queue.Job(b)
	m.workers = []*worker{hog(hogs), hog(hogs), hog(hogs), batches(small, 200*us, 20*us), hog(other)}
	for _, w := range m.workers {
		if w.active {
			m.ask(w)
		}
	}
	const span = 10 * time.Second
	m.run(span)
	for name, c := range map[string]struct {
		share *Share
		want  float64
	}{"three tasks that loop": {hogs, .25}, "short batches": {small, .25}, "the other tenant": {other, .5}} {
		if got := float64(c.share.Account().Time) / float64(span); got < c.want-.01 || got > c.want+.01 {
			t.Errorf("%s: %.3f, want %.2f", name, got, c.want)
		}
	}
}

// One that comes back after a long time does not get back what it missed, but for its
// credit; one that was alone before it has no debt.
func TestWhatIsNotWantedIsLost(t *testing.T) {
	m := &machine{t: t, queue: NewQueue(1)}
	a, b := m.queue.Job(m.queue.Tenant(1)), m.queue.Job(m.queue.Tenant(1))
	late := hog(b)
	late.active, late.until = false, 10*time.Second // it begins then
	m.workers = []*worker{hog(a), late}
	m.ask(m.workers[0])
	m.run(10 * time.Second)
	before := a.Account().Time
	if before < 9999*ms {
		t.Fatalf("alone it has had %v", before)
	}
	m.run(12 * time.Second)
	for name, got := range map[string]time.Duration{"the one that was there": a.Account().Time - before, "the one that came": b.Account().Time} {
		if got < time.Second-credit || got > time.Second+credit {
			t.Errorf("%s has had %v of the 2 s behind", name, got)
		}
	}
	if got := b.Account().Time; got < time.Second+credit/3 { // half of it is the other's from then on
		t.Errorf("the one that came has had %v: no credit", got)
	}
}

// Whatever jobs do, a turn is never free while somebody waits (machine.grant looks), never
// are more held than there are, and two tenants that always compute never drift apart by
// more than what one turn may take.
func TestAnyMixOfJobs(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewSource(seed))
	for range 30 {
		m := &machine{t: t, queue: NewQueue(1 + r.Intn(3))}
		one, two := m.queue.Tenant(1), m.queue.Tenant(1)
		for _, tenant := range []*Share{one, two} {
			job := m.queue.Job(tenant)
			for range m.queue.limit { // enough to use all turns
				m.workers = append(m.workers, hog(job))
			}
		}
		for range r.Intn(4) {
			tenant := m.queue.Tenant(1 + r.Intn(3))
			for range 1 + r.Intn(2) {
				job := m.queue.Job(tenant)
				for range 1 + r.Intn(3) {
					w := batches(job, time.Duration(1+r.Intn(5000))*us, time.Duration(1+r.Intn(20000))*us)
					w.yield = time.Duration(r.Intn(2)) * 30 * us
					m.workers = append(m.workers, w)
				}
			}
		}
		for _, w := range m.workers {
			if w.active {
				m.ask(w)
			}
		}
		for until := 100 * ms; until <= 2*time.Second; until += 100 * ms {
			m.run(until)
			apart := (one.Account().Time - two.Account().Time).Abs()
			if most := time.Duration(m.queue.limit) * (3*slice + 30*us); apart > most {
				t.Fatalf("at %v two equals are %v apart, at most %v is right; %d turns, %d workers", until, apart, most, m.queue.limit, len(m.workers))
			}
		}
		if m.most > m.queue.limit {
			t.Fatalf("%d turns of %d", m.most, m.queue.limit)
		}
	}
}
