package decode

import (
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
)

func TestCut(t *testing.T) {
	const longest = 4
	for _, c := range []struct {
		name          string
		d             string
		within, final bool
		n             int
		open          bool
	}{
		{"whole lines", "ab\ncd\n", false, false, 6, false},
		{"the last one goes on", "ab\ncd", false, false, 3, false},
		{"no line end yet", "abcd", false, false, 0, false},
		{"as long as one with a mark and a carriage return", "\xef\xbb\xbfabcd\r", false, false, 0, false},
		{"longer than that", "abcdefghi", false, false, 9, true},
		{"the end", "ab\ncd", false, true, 5, false},
		{"the end of a long one", "abcdefghi", false, true, 9, false},
		{"inside a long one", "ab", true, false, 2, true},
		{"behind it", "ab\ncd", true, false, 3, false},
		{"nothing", "", false, false, 0, false},
		{"nothing inside a long one", "", true, false, 0, false},
		{"nothing at the end", "", true, true, 0, false},
	} {
		if n, open := Cut([]byte(c.d), c.within, c.final, longest); n != c.n || open != c.open {
			t.Errorf("%s: %d, open %v, want %d, %v", c.name, n, open, c.n, c.open)
		}
	}
}

// sideBySide decodes in with several decoders, each of which gets any of the runs that Cut
// makes of pieces of in.
func sideBySide(t *testing.T, r *rand.Rand, f job.Format, fields []job.Field, in string, maxRows int) result {
	t.Helper()
	var crew [3]Lines
	for i := range crew {
		d, err := New(f, fields)
		if err != nil {
			t.Fatal(err)
		}
		crew[i] = d.(Lines)
	}
	var out result
	line, from, to, within := int64(1), 0, 0, false
	for from < len(in) {
		to = min(len(in), to+1+r.IntN(40))
		n, open := Cut([]byte(in[from:to]), within, to == len(in), f.MaxRecord)
		if n == 0 {
			continue
		}
		d := crew[r.IntN(len(crew))]
		d.Resume(int64(from), line, within)
		for rest := in[from : from+n]; rest != ""; {
			var b stream.Batch
			b.Reset(kindsOf(fields))
			b.Blob = append(b.Blob, rest...)
			done, err := d.Decode(&b, 0, to == len(in), maxRows)
			if err != nil || done == 0 {
				t.Fatalf("%d bytes of %q, %v", done, rest, err)
			}
			out.add(&b)
			out.bad = append(out.bad, d.TakeBad()...)
			rest = rest[done:]
		}
		line, from, within = d.Mark().Line, from+n, open
	}
	return out
}

// Runs of lines can be decoded by anybody: the rows and the bad records, their lines and
// offsets are those of one decoder that sees everything at once.
func TestLinesSideBySide(t *testing.T) {
	format := job.Format{Kind: "json", MaxRecord: 20, MaxDepth: 4}
	fields := []job.Field{field("a", stream.String)}
	parts := []string{`{"a":"x"}`, `{"a":"\n"}`, `{"a":null}`, `{"a":1}`, "rubbish", "  ", "", "\r", "\n", "\n", "\r\n", strings.Repeat("y", 19), strings.Repeat("z", 30), strings.Repeat(" ", 25), "\xff", "\xef\xbb\xbf"}
	for seed := uint64(1); seed <= 3000; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(parts[r.IntN(len(parts))])
			if r.IntN(3) > 0 {
				b.WriteString("\n")
			}
		}
		in := b.String()
		want, err := feed(t, format, fields, in, len(in)+1, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if got := sideBySide(t, r, format, fields, in, 1+r.IntN(4)); got.text() != want.text() {
			t.Fatalf("seed %d: %q gives\n%s\nat once:\n%s", seed, in, got.text(), want.text())
		}
	}
}

// Quotes go over line ends, so that a run of lines of CSV means nothing by itself.
func TestCSVIsNotDecodedSideBySide(t *testing.T) {
	d, err := New(job.Format{Kind: "csv", MaxRecord: 20}, []job.Field{field("c1", stream.String)})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := d.(Lines); ok {
		t.Error("CSV says that its lines are records")
	}
}
