package window

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"tidemark/engine/stream"
)

// byGroup deals keys 0 to n-1 out to their key groups, those of a group in order of their
// bytes. A million keys take about as long as writing them: of most pairs the first eight
// bytes decide.
func byGroup(n, groups int, key func(i int) []byte) [][]uint32 {
	type place struct {
		prefix uint64
		i      uint32
	}
	group, count := make([]uint32, n), make([]int, groups+1)
	for i := range n {
		g := stream.KeyGroup(stream.KeyHash(key(i)), groups)
		group[i] = uint32(g)
		count[g+1]++
	}
	for g := range groups {
		count[g+1] += count[g] // where the group begins
	}
	sorted, next := make([]place, n), slices.Clone(count)
	for i, g := range group {
		sorted[next[g]] = place{prefix(key(i)), uint32(i)}
		next[g]++
	}
	list, out := make([]uint32, n), make([][]uint32, groups)
	for g := range groups {
		lo, hi := count[g], count[g+1]
		slices.SortFunc(sorted[lo:hi], func(a, b place) int {
			if a.prefix != b.prefix {
				return cmp.Compare(a.prefix, b.prefix)
			}
			return bytes.Compare(key(int(a.i)), key(int(b.i)))
		})
		for at := lo; at < hi; at++ {
			list[at] = sorted[at].i
		}
		out[g] = list[lo:hi]
	}
	return out
}

// prefix is the first bytes of a key as a number in the same order.
func prefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var p [8]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:])
}
