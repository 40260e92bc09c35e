package agg

// grouping sorts the rows of an Add by the accumulator that they go to and keeps their
// order otherwise. Its memory is reused.
type grouping struct {
	order []uint32 // places in Rows.Sel, group by group
	end   []uint32 // where each group ends in order
}

// sort takes Rows.Group and Rows.Groups.
func (g *grouping) sort(group []uint32, groups int) {
	g.end = append(g.end[:0], make([]uint32, groups)...)
	for _, n := range group {
		g.end[n]++
	}
	sum := uint32(0)
	for n, c := range g.end { // for now where each group starts
		g.end[n] = sum
		sum += c
	}
	g.order = append(g.order[:0], make([]uint32, len(group))...)
	for i, n := range group {
		g.order[g.end[n]] = uint32(i)
		g.end[n]++
	}
}

// of returns the places of group n, in their order.
func (g *grouping) of(n int) []uint32 {
	start := uint32(0)
	if n > 0 {
		start = g.end[n-1]
	}
	return g.order[start:g.end[n]]
}
