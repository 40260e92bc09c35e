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
