package conformance

import (
	"io/fs"
	"strings"
	"testing"
)

// All vectors are read, each plug-in has some, and every status and each kind of answer occurs.
func TestVectorsAreRead(t *testing.T) {
	for _, name := range Plugins() {
		m, vectors, err := load(Vectors, name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name != name {
			t.Errorf("the manifest of %s is that of %s", name, m.Name)
		}
		refusals, answers := 0, 0
		for _, v := range vectors {
			for _, s := range v.calls {
				if s.want.status == refused {
					refusals++
				}
				answers += len(s.want.said)
			}
		}
		if len(vectors) < 5 || answers < 20 || refusals == 0 && name != "distinct" {
			t.Errorf("%s: %d vectors with %d answers and %d refusals", name, len(vectors), answers, refusals)
		}
	}
	folders, err := fs.ReadDir(Vectors, "vectors")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range folders {
		if f.IsDir() {
			n++
		}
	}
	if n != len(Plugins()) {
		t.Errorf("%d folders of vectors for %d plug-ins", n, len(Plugins()))
	}
}

// The example of the README is a vector.
func TestExampleOfTheReadme(t *testing.T) {
	text, err := fs.ReadFile(Vectors, "vectors/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```\n")
	block, _, _ = strings.Cut(block, "```")
	m, _, err := load(Vectors, "distinct")
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := parse(shapeOf(m), "README.md", block)
	if err != nil || len(vectors) != 1 || len(vectors[0].calls) != 2 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	want := "OK|0: accumulator 03016101620163|1: accumulator 010178"
	s := vectors[0].calls[1]
	if got := strings.Join(s.want.lines(s), "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A mistake in a vector is told with its line, and never taken for something else.
func TestMistakesInVectors(t *testing.T) {
	const head = "case a\ntm_configure\n"
	const add = head + "tm_aggregate_add groups=1\n  records  group  value\n"
	const apply = head + "tm_aggregate_apply groups=2\n  records  value\n    5\n  operations\n"
	for _, c := range []struct{ plugin, text, want string }{
		{"stats", "tm_configure\n", "x:1: a file begins with a case"},
		{"stats", head + "tm_aggregate_create groups=1\n", "x:3: the call has no answer"},
		{"stats", "case a\ntm_aggregate_create groups=1\nOK\n", "x:2: a case begins with tm_configure"},
		{"stats", head + "tm_configure\n", "x:3: a case begins with tm_configure, and has one"},
		{"stats", head + "tm_map\nOK\n", "x:3: the plug-in has no tm_map"},
		{"stats", head + "tm_aggregate_creat groups=1\n", "x:3: tm_aggregate_creat is neither a call nor one of"},
		{"stats", head + "tm_aggregate_create group=1\n", "x:3: group=1: a call takes groups=N only"},
		{"stats", add + "    1  5\nOK\n", "x:5: group 1 of 1"},
		{"stats", add + "    0  -\nOK\n", "x:5: value is never null"},
		{"stats", add + "    0  a\nOK\n", `x:5: strconv.ParseFloat: parsing "a"`},
		{"stats", add + "    0  5  6\nOK\n", "x:5: 2 values under 1 names"},
		{"stats", head + "tm_aggregate_add groups=1\n  records  group  valu\n    0  5\nOK\n", "x:5: column 0 is value, not valu"},
		{"stats", add + "    0  5\nOK\n  accumulator 1  none\n", "x:7: 1 is none of 1 items"},
		{"stats", add + "    0  5\nOK\n  accumulator 0  i32:5\n", `x:7: i32:5: "i32" is none of`},
		{"stats", add + "    0  5\nREFUSED op=0 \"no\"\n  accumulator 0  none\n", "x:7: only OK has an answer"},
		{"stats", add + "   0  5\nOK\n", "x:5: an indent of 3"},
		{"stats", apply + "    record 0 0\n    reult 0\nOK\n", "x:8: reult is none of record, result, reset, merge"},
		{"stats", apply + "    record 1 0\nOK\n", "x:7: record 1: there are 1"},
		{"stats", apply + "    record 0 2\nOK\n", "x:7: record 2: there are 2"},
		{"stats", apply + "    record 0\nOK\n", "x:7: record ROW ACCUMULATOR, "},
		{"stats", apply + "    merge 0 1\n    result 1\nOK\n", "x:8: an accumulator that was merged into another is not named again"},
		{"stats", apply + "    merge 0 0\nOK\n", "x:7: an accumulator that was merged into another is not named again"},
		{"stats", apply + "    reset 0\nOK\n  accumulator 2 none\n", "x:9: 2 is none of 2 items"},
		{"stats", apply + "    reset 0\n    result 0\nOK\n  row 0 count=0\n", "x:10: operation 0 gives no row"},
		{"distinct", head + "tm_aggregate_apply groups=1\nOK\n", "x:3: the plug-in has no tm_aggregate_apply"},
		{"probe", "case a\ntm_configure time=1\n", "x:2: one of time=1 is no parameter"},
		{"probe", "case a\ntm_configure times=\"1\"\n", "x:2: strconv.ParseInt"},
		{"probe", head + "tm_map\n  records  time what i f b s t\n    0 - 1 - - \"a - \nOK\n", "a text that does not end"},
		{"probe", head + "tm_map\n  records  time what i f b s t\n    0 - 1 - - \"\\xff\" -\nOK\n", "is not UTF-8"},
		{"probe", head + "tm_map\n  records  time what i f b s t\n    0 - 1 - - - -\nOK\n  row 0 j=1\n", "x:7: j=1 is not known here"},
		{"unpaid", head + "tm_pair\n  left  time due\n    0 1\n  right  time paid\n  pairs\n    0 0 5\nOK\n", "is no pair of these records"},
		{"sessionise", head + "tm_process\n  keys\n    none\n  windows\n    none\n  records  time page\n    0 -\n  firings\n    window=0..9 key=1 slot=0 records=0..1\nOK\n", "key=1: there are 1"},
		{"sessionise", head + "tm_process\n  keys\n    none\n  windows\n    none\n  records  time page\n    0 -\n  firings\n    window=0..9 key=0 slot=0 records=0..2\nOK\n", "records 0..2 of 1, behind 0"},
		{"sessionise", head + "tm_process\n  firings\nOK\n  side bounce 0 at=1\n", "there is no side output bounce"},
		{"count_or_timeout", "case a\ntm_configure n=1 after_ms=1\ntm_trigger\n  records  time\n  operations\n    elemnt row=0\nOK\n", "elemnt is none of element"},
		{"mean", head + "tm_upgrade schema=1\nOK\n", "x:3: tm_upgrade schema=N of="},
		{"mean", head + "tm_upgrade schema=-1 of=accumulators\nOK\n", "x:3: schema=-1: "},
		{"mean", head + "tm_upgrade schema=1 of=groups\nOK\n", "x:3: of=groups: it is of one of accumulators, keys"},
		{"mean", head + "tm_upgrade schema=1 of=accumulators groups=1\nOK\n", "x:3: groups=1 is not known here"},
		{"mean", head + "tm_upgrade schema=1 of=accumulators\n  states\n    i64:1\nOK\n  upgraded 1  none\n", "x:7: 1 is none of 1 items"},
		{"stats", head + "tm_upgrade schema=1 of=accumulators\nOK\n", "x:3: the plug-in has no tm_upgrade"},
	} {
		m, _, err := load(Vectors, c.plugin)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(shapeOf(m), "x", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}
