package job

import (
	"fmt"
	"strings"
)

// maxListed bounds how many names a message lists when none of them is close.
const maxListed = 12

// hint says what may have been meant by name: the closest of known, or else all of
// them. It returns text to append to a message, or "".
func hint(name string, known []string) string {
	if best := closest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	switch {
	case len(known) == 0:
		return ""
	case len(known) > maxListed:
		return fmt.Sprintf("; known: %s and %d more", strings.Join(known[:maxListed], ", "), len(known)-maxListed)
	}
	return "; known: " + strings.Join(known, ", ")
}

// closest returns the entry of known that is within a few typing errors of name,
// or "": one error for each four letters, so that short names do not match
// everything. A name that was cut short is close too (float, float64).
func closest(name string, known []string) string {
	const maxName = 64 // what is longer is no typing error
	best, least := "", max(1, (len(name)+1)/4)
	if len(name) > maxName {
		return ""
	}
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
		if len(k) > maxName {
			continue
		}
		d := distance(name, k)
		if len(name) >= 3 && strings.HasPrefix(k, name) {
			d = min(d, 1)
		}
		if d <= least && d < max(len(k), len(name)) && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with a neighbour
// to make b of a (optimal string alignment).
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
