package window

// countGrid numbers the slices of a sliding count window (S82), key by key, from the
// key's first record on. A window ends with every record whose number is a multiple of
// the slide and holds the last size records up to there, so these are the only edges:
//
//	records  |------------ slide -----------|------------ slide -----------|
//	edges    end              start        end              start        end
//	slices   |------ 2k ------|--- 2k+1 ---|------ 2k+2 ----|--- 2k+3 ---|
//
// Where the slide divides the size, windows start where others end: one slice a slide.
// Slices of the greatest common divisor would do as well, but there may be as many of
// them as records: of 1,000 records every 7 there are 1,000, and 285 of these. With a
// slide above the size slice 2k is what no window holds. It is pure.
type countGrid struct {
	slide, rest int64 // rest: from a start to the next end; 0: they are the same
	per         int64 // slices a slide
	count       int64 // slices a window, and a block
}

func newCountGrid(size, slide int64) countGrid {
	g := countGrid{slide: slide, rest: size % slide, per: 1, count: size / slide}
	if g.rest > 0 {
		g.per, g.count = 2, 2*g.count+1
	}
	return g
}

// length is how many records a slice holds.
func (g *countGrid) length(slice int64) int64 {
	switch {
	case g.rest == 0:
		return g.slide
	case slice%2 == 0:
		return g.slide - g.rest
	}
	return g.rest
}

// ends reports whether a window ends with a slice.
func (g *countGrid) ends(slice int64) bool { return slice%g.per == g.per-1 }

// place is where in its block a slice lies. Blocks are runs of as many slices as a
// window has, and the first one begins with the key's first record.
func (g *countGrid) place(slice int64) int64 { return slice % g.count }
