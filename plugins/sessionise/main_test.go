//go:build !wasip1

package main

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	tidemark "tidemark/sdk/go"
)

const (
	gapMS = 100
	size  = 1000
)

// window is window i of ann's; records are pairs of a time and a page.
func window(i int, records ...any) tidemark.Fired {
	start := tidemark.Timestamp(i * size)
	f := tidemark.Fired{Key: "ann", Start: start, End: start + size, Watermark: start + size - 1}
	for j := 0; j < len(records); j += 2 {
		f.Records = append(f.Records, tidemark.Record{Time: tidemark.Timestamp(records[j].(int)), Values: tidemark.Values{"page": records[j+1]}})
	}
	return f
}

func revised(revision int, f tidemark.Fired) tidemark.Fired {
	f.Revision = revision
	return f
}

func rows(all ...tidemark.Values) []tidemark.Values { return all }

// told is the row of a session; a text that is empty is null.
func told(start, end, events int, entry, exit string, open bool) tidemark.Values {
	v := tidemark.Values{"start": tidemark.Timestamp(start), "end": tidemark.Timestamp(end), "events": int64(events), "open": open}
	if entry != "" {
		v["entry"] = entry
	}
	if exit != "" {
		v["exit"] = exit
	}
	return v
}

func bounced(at int, page string) tidemark.Values {
	v := tidemark.Values{"at": tidemark.Timestamp(at)}
	if page != "" {
		v["page"] = page
	}
	return v
}

func newTwin(t *testing.T) *tidemark.ProcessTwin {
	t.Helper()
	twin, err := tidemark.NewProcessTwin(plugin, tidemark.Values{"gap_ms": gapMS})
	if err != nil {
		t.Fatal(err)
	}
	return twin
}

func TestSessions(t *testing.T) {
	noTime := int(tidemark.NoTime)
	type step struct {
		what    string
		f       tidemark.Fired
		rows    []tidemark.Values
		bounces []tidemark.Values
	}
	for name, steps := range map[string][]step{
		"within a window": {
			{"a pause of the gap still belongs to it", window(0, 10, "a", 110, "b"), rows(told(10, 110, 2, "a", "b", false)), nil},
			{"one more does not", window(1, 1010, "a", 1111, "b"), nil, rows(bounced(1010, "a"), bounced(1111, "b"))},
			{"records come in any order", window(2, 2300, "d", 2050, "b", 2010, "a", 2310, "e"),
				rows(told(2010, 2050, 2, "a", "b", false), told(2300, 2310, 2, "d", "e", false)), nil},
			{"equal times in order of arrival", window(3, 3020, "x", 3010, "a", 3010, "b", 3010, "c", 3020, "y"), rows(told(3010, 3020, 5, "a", "y", false)), nil},
			{"no page", window(4, 4010, nil, 4020, "", 4300, nil), rows(told(4010, 4020, 2, "", "", false)), rows(bounced(4300, ""))},
			{"no time", window(5, noTime, "a", 5010, "b", noTime, "c", 5020, "d"), rows(told(5010, 5020, 2, "b", "d", false)), nil},
			{"nothing with a time", window(6, noTime, "a"), nil, nil},
		},
		"over windows": {
			{"open where a record of the next window can join", window(0, 10, "a", 890, "b", 900, "c"), rows(told(890, 900, 2, "b", "c", true)), rows(bounced(10, "a"))},
			{"goes on, and is closed", window(1, 1000, "d", 1050, "e", 1200, "f"), rows(told(890, 1050, 4, "b", "e", false)), rows(bounced(1200, "f"))},
			{"a single record too", window(2, 2950, "g"), rows(told(2950, 2950, 1, "g", "g", true)), nil},
			{"over before the first record", window(3, 3051, "h", 3990, nil), rows(told(3990, 3990, 1, "", "", true)), rows(bounced(2950, "g"), bounced(3051, "h"))},
			{"a window without times closes it", window(4, noTime, "i"), nil, rows(bounced(3990, ""))},
			{"once", window(5, noTime, "i"), nil, nil},
		},
		"updates": {
			{"open", window(0, 899, "a", 950, "b"), rows(told(899, 950, 2, "a", "b", true)), nil},
			{"a late record joins it; the next window may have it as it was", revised(1, window(0, 899, "a", 950, "b", 990, "c")), rows(told(899, 990, 3, "a", "c", true)), nil},
			{"as it was", window(1, 1040, "d"), rows(told(899, 1040, 3, "a", "d", false)), nil},
			{"an update begins with what its first firing had", revised(1, window(1, 1040, "d", 1045, "e")), rows(told(899, 1045, 4, "a", "e", false)), nil},
			{"and again", revised(2, window(1, 1040, "d", 1045, "e", 1500, "f")), rows(told(899, 1045, 4, "a", "e", false)), rows(bounced(1500, "f"))},
			{"what it leaves open is handed on by nobody", revised(3, window(1, 1950, "g")), rows(told(899, 950, 2, "a", "b", false), told(1950, 1950, 1, "g", "g", true)), nil},
		},
		"a window that comes after a later one": {
			{"open", window(5, 5950, "a"), rows(told(5950, 5950, 1, "a", "a", true)), nil},
			{"begins with nothing, and takes its place", window(2, 2010, "b", 2020, "c"), rows(told(2010, 2020, 2, "b", "c", false)), nil},
			{"so that it is gone", window(6, 6010, "d", 6020, "e"), rows(told(6010, 6020, 2, "d", "e", false)), nil},
		},
	} {
		twin := newTwin(t)
		for _, s := range steps {
			got, err := twin.Fire(s.f)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, s.what, err)
			}
			if !reflect.DeepEqual(got.Rows, s.rows) || !reflect.DeepEqual(got.Side["bounces"], s.bounces) {
				t.Errorf("%s, %s: got %v and %v, want %v and %v", name, s.what, got.Rows, got.Side, s.rows, s.bounces)
			}
		}
	}
}

// A session handed over within one call, and what a cleanup takes away.
func TestStatesOfKeysAndWindows(t *testing.T) {
	twin := newTwin(t)
	bob := window(1, 1500, "x")
	bob.Key = "bob"
	got, err := twin.Fire(window(0, 950, "a"), bob, window(1, 1010, "b"))
	if err != nil {
		t.Fatal(err)
	}
	if want := rows(told(950, 950, 1, "a", "a", true), told(950, 1010, 2, "a", "b", false)); !reflect.DeepEqual(got.Rows, want) {
		t.Errorf("got %v, want %v", got.Rows, want)
	}
	if want := rows(bounced(1500, "x")); !reflect.DeepEqual(got.Side["bounces"], want) {
		t.Errorf("got %v, want %v", got.Side, want)
	}
	twin.Clean("ann", 1000, 2000)
	got, err = twin.Fire(revised(1, window(1, 1010, "b", 1020, "c")))
	if want := rows(told(1010, 1020, 2, "b", "c", false)); err != nil || !reflect.DeepEqual(got.Rows, want) {
		t.Errorf("without the window's state: got %v, %v, want %v", got.Rows, err, want)
	}
	if _, err := twin.Fire(window(2, 2950, "d")); err != nil {
		t.Fatal(err)
	}
	twin.Expire("ann")
	got, err = twin.Fire(window(3, 3010, "e", 3020, "f"))
	if want := rows(told(3010, 3020, 2, "e", "f", false)); err != nil || !reflect.DeepEqual(got.Rows, want) {
		t.Errorf("without the key's state: got %v, %v, want %v", got.Rows, err, want)
	}
}

// At the end of time nothing overflows: a global window never closes what could go on.
func TestTheEndOfTime(t *testing.T) {
	const last = 1<<63 - 1
	got, err := newTwin(t).Fire(tidemark.Fired{Start: -1 << 63, End: last, Records: []tidemark.Record{
		{Time: last - 10, Values: tidemark.Values{"page": "a"}}, {Time: -1<<63 + 1, Values: tidemark.Values{"page": "b"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := rows(told(last-10, last-10, 1, "a", "a", true)); !reflect.DeepEqual(got.Rows, want) {
		t.Errorf("got %v, want %v", got.Rows, want)
	}
	if want := rows(bounced(-1<<63+1, "b")); !reflect.DeepEqual(got.Side["bounces"], want) {
		t.Errorf("got %v, want %v", got.Side, want)
	}
}

// The layout of what is kept, which other languages write too.
func TestLayout(t *testing.T) {
	long := strings.Repeat("x", 200)
	s := session{start: 1, end: 258, events: 3, entry: []byte("ab"), exit: []byte(long)}
	got := s.append(nil)
	want := "0100000000000000" + "0201000000000000" + "0300000000000000" + "02" + "6162" + "c801" + hex.EncodeToString([]byte(long))
	if hex.EncodeToString(got) != want {
		t.Errorf("got %x", got)
	}
	if back, err := parse(got); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("got %v, %v", back, err)
	}
	for _, bad := range [][]byte{got[:23], got[:24], got[:26], got[:len(got)-1], append(bytes.Clone(got), 0), make([]byte, 26)} {
		if _, err := parse(bad); err != errState {
			t.Errorf("%x: got %v", bad, err)
		}
	}
}

func TestArguments(t *testing.T) {
	if _, err := tidemark.NewProcessTwin(plugin, tidemark.Values{"gap_ms": 0}); err == nil || err.Error() != "gap_ms must be at least 1" {
		t.Errorf("got %v", err)
	}
	if _, err := tidemark.NewProcessTwin(plugin, nil); err != nil {
		t.Error(err)
	}
}
