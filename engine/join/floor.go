package join

import "tidemark/engine/stream"

// A subtask that takes key groups over from several others stands where the one stood that
// is furthest behind. A group whose task stood further ahead has its time as a floor until
// the watermark has passed it (S105): its records are judged by that, and what was there
// when the floor was reached goes with the next step of time, as it would have (S67).

// floor is that of a key group; MinTime where it has none.
func (j *Interval) floor(group int) stream.Time {
	if f, ok := j.floors[group]; ok {
		return f
	}
	return stream.MinTime
}

func (j *Interval) setFloor(group int, t stream.Time) {
	if j.floors == nil {
		j.floors = map[int]stream.Time{}
	}
	j.floors[group] = t
	j.highest = max(j.highest, t)
}

// time is the event time that a key with a hash stands at. Called per record.
func (j *Interval) time(hash uint64) stream.Time {
	if j.floors == nil {
		return j.wm
	}
	return max(j.wm, j.floor(j.groupOf(hash)))
}

// passFloors forgets the floors once the watermark has passed all of them.
func (j *Interval) passFloors() {
	if j.floors != nil && j.wm >= j.highest {
		j.floors = nil
	}
}

func (j *Interval) groupOf(hash uint64) int { return stream.KeyGroup(hash, max(j.cfg.Groups, 1)) }
