package join

import (
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// Stored state must load for ever. testdata/state/v1.txt has a cut that the first version of
// the layout wrote, as hexadecimal:
//
//	task <hex> | group <number> <floor> <hex>
//
// A new version of the layout adds a file, and this one stays as it is.

// goldenBatches leave something of everything: records with partners and without, of equal
// times, of one side only, nulls, a record that was late, failures, a key that is gone.
func goldenBatches() []*stream.Batch {
	type record struct {
		key, value string // "-" is null
		flag       bool
		ts, wm     stream.Time
	}
	var all []*stream.Batch
	pos := int64(0)
	for n, records := range [][]record{
		{{"a", "one", true, 100, 90}, {"b", "", false, 101, 90}, {"gone", "x", true, 91, 90}, {"a", "-", true, 100, 95}},
		{{"a", "two", false, 95, 95}, {"a", "three", true, 99, 95}, {"-", "no key", true, 99, 96}, {"c", "-", false, 97, 97}, {"b", "four", true, 96, 97}},
		{{"a", "ä", true, 130, 112}, {"d", "five", true, 125, 120}, {"d", "six", true, 124, 120}},
		{{"a", "seven", false, 118, 120}, {"a", "eight", false, 128, 120}, {"a", "nine", false, 131, 121}, {"d", "ten", true, 123, 122}},
	} {
		b := new(stream.Batch)
		b.Reset([]stream.Kind{stream.String, stream.String, stream.Bool})
		b.Input = uint8(n % 2)
		for _, r := range records {
			for c, text := range []string{r.key, r.value} {
				if text == "-" {
					b.Cols[c].AppendNull()
					continue
				}
				b.Cols[c].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
				b.Blob = append(b.Blob, text...)
			}
			b.Cols[2].AppendBool(r.flag)
			b.Time, b.WM = append(b.Time, r.ts), append(b.WM, r.wm)
			b.Split, b.Pos = append(b.Split, stream.SplitID(pos%3)), append(b.Pos, pos)
			b.N++
			pos++
		}
		b.Trailing = b.WM[b.N-1]
		b.SetKeys([]int{0})
		all = append(all, b)
	}
	return all
}

func TestStoredStateLoads(t *testing.T) {
	text, err := os.ReadFile("testdata/state/v1.txt")
	if err != nil {
		t.Fatal(err)
	}
	var p state.Pieces
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		b, err := hex.DecodeString(words[len(words)-1])
		if err != nil {
			t.Fatal(err)
		}
		if words[0] == "task" {
			p.Task = b
			continue
		}
		g := state.GroupCut{State: b}
		if _, err := fmt.Sscan(words[1]+" "+words[2], &g.Group, &g.Floor); err != nil {
			t.Fatal(err)
		}
		p.Groups = append(p.Groups, g)
	}
	j := cutJoin(t, 4)
	if err := j.Restore(p.AsItWas()); err != nil {
		t.Fatal(err)
	}
	if got := written(t, j); got != string(text) {
		t.Errorf("got\n%swant\n%s", got, text)
	}
	var kept []string
	j.Each(func(side uint8, key []byte, ts stream.Time) { kept = append(kept, fmt.Sprint(side, ts)) })
	slices.Sort(kept)
	if got, want := strings.Join(kept, ", "), "0 124, 0 125, 0 130, 1 123, 1 128, 1 131, 1 95, 1 97, 1 99"; got != want {
		t.Errorf("kept are %s, want %s", got, want)
	}
	// What the same records leave today is the same, too.
	today := cutJoin(t, 4)
	for _, b := range goldenBatches() {
		if err := today.Process(b); err != nil {
			t.Fatal(err)
		}
	}
	if got := written(t, today); got != string(text) {
		t.Errorf("today they leave\n%s", got)
	}
}

// written is a cut as lines of the file.
func written(t *testing.T, j *Interval) string {
	t.Helper()
	p, err := j.Freeze().Read()
	if err != nil {
		t.Fatal(err)
	}
	s := fmt.Sprintf("task %x\n", p.Task)
	for _, g := range p.Groups {
		s += fmt.Sprintf("group %d %d %x\n", g.Group, g.Floor, g.State)
	}
	return s
}
