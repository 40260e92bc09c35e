package timestamp

import (
	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// Guard keeps one bad clock from moving the time of all. It is a pure decision.
type Guard struct {
	// MaxFuture is how far ahead of its arrival a record may be, in milliseconds; 0
	// is off.
	MaxFuture stream.Time
	// MaxJump is how far ahead of the highest time of its split a record may be; 0 is
	// off. It is not on by default: an honest gap looks the same.
	MaxJump stream.Time
}

// NewGuard takes the limits of a job.
func NewGuard(spec job.TimeSpec) Guard {
	return Guard{MaxFuture: stream.Time(spec.MaxFuture.Milliseconds()), MaxJump: stream.Time(spec.MaxJump.Milliseconds())}
}

// Check judges a record with time t. arrival is when it came, MinTime if nobody
// knows; high is the highest time that its split has passed on so far, MinTime
// before the first record. ok is true for a record that may pass. Otherwise reason
// is Future or Jump, and ahead says by how many milliseconds the record is ahead of
// arrival or high; it must be set aside and must not raise high.
func (g Guard) Check(t, arrival, high stream.Time) (reason Reason, ahead stream.Time, ok bool) {
	if g.MaxFuture > 0 && arrival != stream.MinTime && t > arrival.Add(g.MaxFuture) {
		return Future, t.Sub(arrival), false
	}
	if g.MaxJump > 0 && high != stream.MinTime && t > high.Add(g.MaxJump) {
		return Jump, t.Sub(high), false
	}
	return "", 0, true
}
