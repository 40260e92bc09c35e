package turns

import (
	"slices"
	"time"
)

const (
	// slice is how far a holder may get ahead of one that waits before it gives way: a
	// hundred times what changing hands costs, and too short for a neighbour to notice.
	slice = time.Millisecond
	// credit is how far behind the others one may come back that has not wanted the CPU
	// for a while. Without any, whoever pauses for a moment behind each batch, as tasks do
	// that hand batches to each other, would lose its share in that moment; with much, one
	// that comes back would keep the others waiting.
	credit = 50 * time.Millisecond
)

// Queue decides who gets the next turn on the CPU, and who has to give one back: a fair
// queue in two levels, of tenants and of the jobs of a tenant. It is a plain value: no
// clock, no goroutine; Turns puts a lock around it and has tasks wait.
//
// Each share has a sum of what it has used, divided by its weight. The next turn is that
// of the lowest sum among those that wait, so the sums of those that always want the CPU
// stay together, however long or short their turns are. A turn that is held counts as one
// slice until it is charged.
//
// No turn is free while a claim waits, but between Ask or Return and the Grants behind it.
type Queue struct {
	limit int // turns that may be held at once
	root  Share
	tick  uint64 // counts grants
}

// Share is a tenant's part of the CPU, or, below it, that of one of its jobs. A Queue
// makes it and owns it.
type Share struct {
	parent   *Share
	children []*Share
	weight   time.Duration
	used     time.Duration // by its weight, and never less than what it missed by not asking
	floor    time.Duration // lowest sum among its children that want the CPU; never falls
	held     int           // turns, also of its children
	asking   int           // claims that wait, also of its children
	last     uint64        // grant that was the last of this share
	claims   []*Claim      // of a job: those that wait, in order of arrival
	account  Account
}

// Claim is a task of a job that waits for a turn.
type Claim struct {
	job   *Share
	since time.Time
	ready chan struct{} // the shell's: closed when the claim has its turn
}

// Account is what a tenant or a job has had of the CPU.
type Account struct {
	Turns  int64         `json:"turns"`     // that it was given
	Time   time.Duration `json:"time_ns"`   // for which it held them
	Fuel   int64         `json:"fuel"`      // that its plug-ins burnt in them
	Waited time.Duration `json:"waited_ns"` // for turns, by all of its tasks together
}

// NewQueue makes a queue that gives so many turns at once, at least one.
func NewQueue(limit int) Queue { return Queue{limit: limit} }

// Tenant adds a tenant with a weight of at least 1: of two that always want the CPU, one
// with twice the weight gets twice as much.
func (q *Queue) Tenant(weight int) *Share { return q.root.add(time.Duration(weight)) }

// Job adds a job of a tenant. The jobs of a tenant have equal parts of what it gets.
func (q *Queue) Job(tenant *Share) *Share { return tenant.add(1) }

func (s *Share) add(weight time.Duration) *Share {
	child := &Share{parent: s, weight: weight}
	s.children = append(s.children, child)
	return child
}

// Remove takes a job out that has ended: it holds no turn and waits for none. What it had
// stays in its tenant's account, and in its own.
func (q *Queue) Remove(job *Share) {
	if job.active() {
		panic("BUG: a job that has ended holds a turn or waits for one")
	}
	i := slices.Index(job.parent.children, job)
	job.parent.children = slices.Delete(job.parent.children, i, i+1)
}

// Take gives a job a turn if one is free and nobody else is to have it.
func (q *Queue) Take(job *Share) bool {
	if q.root.held == q.limit || q.root.asking > 0 {
		return false
	}
	job.wants()
	q.give(job)
	return true
}

// Ask has a job wait for a turn, from a point in time on.
func (q *Queue) Ask(job *Share, at time.Time) *Claim {
	job.wants()
	c := &Claim{job: job, since: at}
	job.claims = append(job.claims, c)
	for s := job; s != nil; s = s.parent {
		s.asking++
	}
	return c
}

// Grant gives a free turn to the claim that is next, which it returns; nil: no turn is
// free, or nobody waits.
func (q *Queue) Grant(at time.Time) *Claim {
	if q.root.held == q.limit || q.root.asking == 0 {
		return nil
	}
	c := q.root.next(nil).next(nil).claims[0]
	q.drop(c, at)
	q.give(c.job)
	return c
}

// Withdraw takes back a claim that waits. It reports false for one that has its turn.
func (q *Queue) Withdraw(c *Claim, at time.Time) bool {
	if !slices.Contains(c.job.claims, c) {
		return false
	}
	q.drop(c, at)
	return true
}

// drop ends the waiting of a claim.
func (q *Queue) drop(c *Claim, at time.Time) {
	i := slices.Index(c.job.claims, c)
	c.job.claims = slices.Delete(c.job.claims, i, i+1)
	for s := c.job; s != nil; s = s.parent {
		s.asking--
		s.account.Waited += at.Sub(c.since)
	}
}

func (q *Queue) give(job *Share) {
	q.tick++
	for s := job; s != nil; s = s.parent {
		s.held++
		s.last = q.tick
		s.account.Turns++
	}
}

// Charge charges what a turn that a job holds has used since it was last charged.
func (q *Queue) Charge(job *Share, cpu time.Duration, fuel int64) {
	cpu = max(cpu, 0)
	for s := job; s != nil; s = s.parent {
		s.account.Time += cpu
		s.account.Fuel += fuel
		if s.parent == nil {
			break
		}
		s.used += cpu / s.weight
		lowest := s.used
		for _, o := range s.parent.children {
			if o.active() {
				lowest = min(lowest, o.used)
			}
		}
		s.parent.floor = max(s.parent.floor, lowest)
	}
}

// Return takes a turn back.
func (q *Queue) Return(job *Share) {
	if job.held == 0 {
		panic("BUG: a job returns a turn that it does not hold")
	}
	for s := job; s != nil; s = s.parent {
		s.held--
	}
}

// GiveWay reports whether a job that holds a turn is to return it, because a tenant or a
// job of its own tenant that waits has used less by a slice. Tasks of one job wait for
// each other.
func (q *Queue) GiveWay(job *Share) bool {
	for mine := job; mine.parent != nil && q.root.asking > 0; mine = mine.parent {
		if other := mine.parent.next(mine); other != nil && other.ahead()+slice <= mine.ahead()-slice { // without the turn that it would return
			return true
		}
	}
	return false
}

// next is the child whose turn is next, of those that wait and are not but; nil: there is
// none. Of equals, the one that has had none for longest.
func (s *Share) next(but *Share) *Share {
	var best *Share
	for _, c := range s.children {
		if c.asking == 0 || c == but {
			continue
		}
		if best == nil || c.ahead() < best.ahead() || c.ahead() == best.ahead() && c.last < best.last {
			best = c
		}
	}
	return best
}

// ahead is the sum that the order goes by.
func (s *Share) ahead() time.Duration { return s.used + time.Duration(s.held)*slice }

func (s *Share) active() bool { return s.held+s.asking > 0 }

// wants notes that a job asks for the CPU: if it has not for a while, it does not get back
// what it missed, but for its credit.
func (s *Share) wants() {
	for ; s.parent != nil && !s.active(); s = s.parent {
		s.used = max(s.used, s.parent.floor-credit)
	}
}

// Account is what the share has had until now.
func (s *Share) Account() Account { return s.account }
