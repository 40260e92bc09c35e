package window

import "tidemark/engine/stream"

// localSlice is what a Local has added up of the records of one split in one slice: for
// windows over all keys one sum; for others one for each of the first keys that came, up
// to a number. If some key has a great part of all records it is among them: one with a
// tenth misses the first 64 once in a thousand slices. Which keys they are follows from
// the records of the split in the slice alone, and so do the sums.
type localSlice struct {
	slice
	time   stream.Time    // of its first record
	sums   []localSum     // in order of their first records
	places map[string]int // of keys in sums; nil: there is but one
}

// localSum is the records of a key in a slice.
type localSum struct {
	key  string // encoded; "" for windows over all keys
	slot int    // in Local.cells
}

// maxPartials bounds the rows of a batch of partials, as that of a batch of records is.
const maxPartials = 1024

// find returns the sum of a key. Called per record.
func (s *localSlice) find(key []byte) (sum *localSum, ok bool) {
	n, ok := 0, len(s.sums) > 0
	if s.places != nil {
		n, ok = s.places[string(key)]
	}
	if !ok {
		return nil, false
	}
	return &s.sums[n], true
}

// add adds the sum of a key that has none.
func (s *localSlice) add(x localSum) {
	if s.places != nil {
		s.places[x.key] = len(s.sums)
	}
	s.sums = append(s.sums, x)
}
