package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"tidemark/internal/fault"
)

// runForm is one that puts a byte before each value.
var runForm = RunForm{Header: []byte("header"), Value: func(w *Writer, _, value []byte) error {
	w.U8('=')
	w.Buf = append(w.Buf, value...)
	return nil
}}

// merged is what runs come to, as MergeRuns says.
func merged(t *testing.T, runs [][]byte) map[string]string {
	t.Helper()
	got, last := map[string]string{}, ""
	header, err := MergeRuns(runs, func(name, value []byte) error {
		if len(got) > 0 && string(name) <= last {
			t.Fatalf("name %q behind %q", name, last)
		}
		last = string(name)
		got[last] = string(value)
		return nil
	})
	if err != nil || len(runs) > 0 && string(header) != "header" {
		t.Fatalf("header %q, error %v", header, err)
	}
	return got
}

// group is what a map of names has of a key group, as runs say it.
func group(all map[string]string, g int) map[string]string {
	out, prefix := map[string]string{}, string(binary.BigEndian.AppendUint16([]byte{'k'}, uint16(g)))
	for name, value := range all {
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			out[name[len(prefix):]] = "=" + value
		}
	}
	return out
}

// What is read of a cut, run 0 and changes since, is what was there when it was taken:
// whichever cuts before it were published, whatever was done meanwhile, and whenever it is
// read. A map is what it is compared with.
func TestChangesOfAJournal(t *testing.T) {
	const groups = 3
	written, none, unknown, ranges := 0, 0, 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		ram := NewRAM()
		j := NewJournal(ram, 'k')
		is := map[string]string{}
		var runs [groups][][]byte // of the checkpoint that was published last
		name := func() []byte {
			n := binary.BigEndian.AppendUint16([]byte{'k'}, uint16(r.IntN(groups)))
			return append(n, fmt.Sprint(r.IntN(20))...)
		}
		change := func() {
			b := j.Batch()
			for range r.IntN(8) {
				switch n := name(); r.IntN(6) {
				case 0, 1:
					value := fmt.Sprint(r.IntN(1000))
					b.Put(n, []byte(value))
					is[string(n)] = value
				case 2, 3:
					b.Delete(n)
					delete(is, string(n))
				case 4: // what is of another kind is nobody's business
					b.Put(append([]byte{'t'}, n...), nil)
					b.DeleteRange([]byte{'t', 'l'}, []byte{'u'})
				default:
					to := append(bytes.Clone(n[:groupBytes]), fmt.Sprint(r.IntN(20))...)
					b.DeleteRange(n, to)
					maps.DeleteFunc(is, func(name string, _ string) bool { return name >= string(n) && name < string(to) })
				}
			}
			if err := errors.Join(b.Commit(), b.Close()); err != nil {
				t.Fatal(err)
			}
		}
		for step := range 12 {
			what := fmt.Sprintf("seed %d, cut %d", seed, step)
			for range r.IntN(4) {
				change()
			}
			cut, was := j.Cut(), maps.Clone(is)
			if r.IntN(2) == 0 {
				change()
			}
			next := runs
			for g := range groups {
				var w Writer
				w.Buf = []byte("before")
				c, err := cut.Changes(g, 10_000, runForm, &w)
				if err != nil {
					t.Fatal(err)
				}
				switch c {
				case None:
					none++
				case Written:
					written++
					ranges += int(binary.LittleEndian.Uint32(w.Buf[len("before")+4+len("header"):]))
					next[g] = append(next[g][:len(next[g]):len(next[g])], w.Buf[len("before"):])
				default:
					unknown++
					w.Buf = nil
					some, err := cut.Whole(g, runForm, &w)
					if err != nil || some != (len(group(was, g)) > 0) {
						t.Fatalf("%s: whole: %v, %v", what, some, err)
					}
					next[g] = [][]byte{w.Buf}
				}
				if got, want := merged(t, next[g]), group(was, g); !maps.Equal(got, want) {
					t.Fatalf("%s: group %d: got %v, want %v", what, g, got, want)
				}
				if c == None && !maps.Equal(merged(t, runs[g]), group(was, g)) {
					t.Fatalf("%s: group %d has changed, and there are no changes", what, g)
				}
				var small Writer
				if c, err := cut.Changes(g, 0, runForm, &small); c == Written || err != nil {
					t.Fatalf("%s: changes of no bytes are written: %v, %v", what, c, err)
				}
			}
			if r.IntN(3) > 0 {
				cut.Published()
				runs = next
			}
			if err := cut.Close(); err != nil {
				t.Fatal(err)
			}
		}
		notes := 0
		for n := range ram.values {
			if n[0] == journalName {
				if epoch := binary.BigEndian.Uint64([]byte(n[1:])); epoch < j.kept {
					t.Fatalf("seed %d: %q is noted of an epoch before %d", seed, n, j.kept)
				}
				notes++
			}
		}
		if j.Cut().Published(); notes == 0 {
			continue
		}
		j.Cut()
		for n := range ram.values {
			if n[0] == journalName {
				t.Fatalf("seed %d: %q is noted, and nothing was changed since the last cut", seed, n)
			}
		}
	}
	if written < 500 || none < 100 || unknown < 500 || ranges < 100 {
		t.Errorf("%d runs of changes with %d ranges, %d of none, %d unknown: they show too little", written, ranges, none, unknown)
	}
}

// Without cuts nothing is noted.
func TestAJournalNotesNothingBeforeACut(t *testing.T) {
	ram := NewRAM()
	j := NewJournal(ram, 'k')
	b := j.Batch()
	b.Put([]byte("k--a"), nil)
	b.DeleteRange([]byte("k--b"), []byte("k--c"))
	if err := b.Commit(); err != nil || len(ram.values) != 1 {
		t.Errorf("%d names, %v", len(ram.values), err)
	}
}

// aRun writes a run: pairs of a name and a value, "" for one that went.
func aRun(header string, gone [][2]string, pairs ...[2]string) []byte {
	var w Writer
	var ranges []nameRange
	for _, g := range gone {
		ranges = append(ranges, nameRange{[]byte(g[0]), []byte(g[1])})
	}
	r := beginRun(&w, []byte(header), ranges)
	for _, p := range pairs {
		add := func(w *Writer) error { w.Buf = append(w.Buf, p[1]...); return nil }
		if p[1] == "" {
			add = nil
		}
		_ = r.put([]byte(p[0]), add) // add does not fail
	}
	return w.Buf
}

type pairs = [][2]string

func TestRunsThatAreDamaged(t *testing.T) {
	good := aRun("h", nil, [2]string{"a", "1"}, [2]string{"b", "2"})
	for name, runs := range map[string][][]byte{
		"another header":                    {good, aRun("i", nil)},
		"run 0 has a name that went":        {aRun("h", nil, [2]string{"a", ""})},
		"run 0 has a range":                 {aRun("h", pairs{{"a", "b"}})},
		"names out of order":                {good, aRun("h", nil, [2]string{"b", "1"}, [2]string{"a", ""})},
		"a name twice":                      {good, aRun("h", nil, [2]string{"b", "1"}, [2]string{"b", ""})},
		"ranges out of order":               {good, aRun("h", pairs{{"c", "d"}, {"a", "b"}})},
		"ranges that touch":                 {good, aRun("h", pairs{{"a", "b"}, {"b", "c"}})},
		"an empty range":                    {good, aRun("h", pairs{{"a", "a"}})},
		"bytes behind the end":              {append(bytes.Clone(good), 0)},
		"cut short":                         {good[:len(good)-1]},
		"a later run without its beginning": {good, nil},
	} {
		if _, err := MergeRuns(runs, func(_, _ []byte) error { return nil }); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := merged(t, [][]byte{aRun("header", nil, [2]string{"a", "1"}, [2]string{"b", "2"}, [2]string{"c", "3"}), aRun("header", pairs{{"a", "bb"}}, [2]string{"b", "4"}), aRun("header", pairs{{"c", "d"}})}); !maps.Equal(got, map[string]string{"b": "4"}) {
		t.Errorf("got %v", got)
	}
}

// Whatever the bytes are, reading them ends, in order, or with an error.
func FuzzRuns(f *testing.F) {
	f.Add(aRun("h", nil, [2]string{"a", "1"}, [2]string{"b", "2"}), aRun("h", pairs{{"a", "b"}}, [2]string{"b", ""}))
	f.Add([]byte{}, []byte{1})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		last, n := "", 0
		_, err := MergeRuns([][]byte{a, b}, func(name, _ []byte) error {
			if n++; n > 1 && string(name) <= last {
				t.Fatalf("%q behind %q", name, last)
			}
			last = string(name)
			return nil
		})
		if err != nil && !errors.Is(err, fault.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
