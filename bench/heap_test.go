package main

import (
	"testing"

	"tidemark/engine/stream"
)

// What is weighed is what is said: as many windows with as many keys, one record each.
func TestOpenCells(t *testing.T) {
	const windows, keys = 3, 1000
	op, err := openCells(windows, keys)
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	seen := map[stream.Window]map[string]int{}
	op.Each(func(key []byte, w stream.Window) {
		if seen[w] == nil {
			seen[w] = map[string]int{}
		}
		seen[w][string(key)]++
	})
	if len(seen) != windows || op.Panes() != windows*keys || op.Ledger().Counted != windows*keys {
		t.Errorf("%d windows, %d cells, %+v", len(seen), op.Panes(), op.Ledger())
	}
	for w, cells := range seen {
		if len(cells) != keys || w.Start < stream.Time(firstTime) || w.End-w.Start != heapSize {
			t.Errorf("window %v has %d keys", w, len(cells))
		}
	}
}
