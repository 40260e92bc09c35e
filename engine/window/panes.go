package window

import (
	"cmp"
	"slices"
	"sort"

	"tidemark/engine/stream"
)

// paneList is the panes of a key in order of the windows that they began as. A record's
// windows lie next to each other in it, mostly at its end: to find them all costs one
// look for each.
type paneList []*pane

func compareWindows(a, b stream.Window) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
}

// before returns the place among the first n panes of the one that began as w, or where
// it would go.
func (l paneList) before(n int, w stream.Window) (at int, ok bool) {
	for end := max(0, n-near); n > end; n-- {
		if c := compareWindows(l[n-1].id, w); c <= 0 {
			if c == 0 {
				return n - 1, true
			}
			return n, false
		}
	}
	at = sort.Search(n, func(i int) bool { return compareWindows(l[i].id, w) >= 0 })
	return at, at < n && l[at].id == w
}

// get returns the pane that began as w, nil if there is none.
func (l paneList) get(w stream.Window) *pane {
	if at, ok := l.before(len(l), w); ok {
		return l[at]
	}
	return nil
}

// put adds a pane, in place of one that began as the same window.
func (l *paneList) put(p *pane) {
	at, ok := l.before(len(*l), p.id)
	if ok {
		(*l)[at] = p
		return
	}
	*l = slices.Insert(*l, at, p)
}

// remove takes a pane out if it is there.
func (l *paneList) remove(p *pane) {
	if len(*l) > 0 && (*l)[0] == p { // nearly always: panes go in order of their windows
		(*l)[0] = nil
		*l = (*l)[1:] // the rest is moved when the array is full, once for many
		return
	}
	if at, ok := l.before(len(*l), p.id); ok && (*l)[at] == p {
		*l = slices.Delete(*l, at, at+1)
	}
}
