package checkpoint

import "slices"

// Without is the checkpoint as it would be if some operators had had no state: what a
// restore sees that gives theirs up.
func (c *Checkpoint) Without(operators []string) *Checkpoint {
	if len(operators) == 0 {
		return c
	}
	less := *c
	less.index = nil
	for _, ref := range c.index {
		if !slices.Contains(operators, ref.Operator) {
			less.index = append(less.index, ref)
		}
	}
	return &less
}

// IsManifest reports whether name is what a manifest is called in its store.
func IsManifest(name string) bool {
	_, ok := parseLogName(name)
	return ok
}

// Above gives the checkpoints that this claim begins ids above id: those of a job that goes on
// from a checkpoint of another log, since epochs of its sinks are numbered by them.
func (l *Log) Above(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID = max(l.lastID, id)
}
