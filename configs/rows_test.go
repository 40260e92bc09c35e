package configs_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rows is a multiset of result rows or late rows, each in a canonical form: equal
// results are the same multiset, whatever the order of rows and of members.
type rows map[string]int

// expectedRows reads a file of the directory expected, once.
func expectedRows(t *testing.T, name string) rows {
	t.Helper()
	if expected[name] == nil {
		expected[name] = readRowFile(t, "expected/"+name, false)
	}
	return expected[name]
}

// expected is what expectedRows has read. Tests that read it do not run in parallel.
var expected = map[string]rows{}

// known is the canonical form of lines that were read before: a job writes the same ones
// in every shape.
var known = map[string]string{}

// readRows reads one JSON object a line.
func readRows(in io.Reader) (rows, error) {
	all := rows{}
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			text, ok := known[string(line)]
			if !ok {
				var cerr error
				if text, cerr = canonical(line); cerr != nil {
					return nil, fmt.Errorf("line %d: %w", n, cerr)
				}
				known[string(line)] = text
			}
			all[text]++
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readRowFile reads a file of rows, gzip or plain. A missing one is empty if optional.
func readRowFile(t *testing.T, name string, optional bool) rows {
	t.Helper()
	f, err := os.Open(name)
	if optional && os.IsNotExist(err) {
		return rows{}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	all, err := readRows(in)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

// canonical writes an object with its members in order of their names and each
// number in one way, so that 5 and 5.0 are equal but no two different floats are.
func canonical(line []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	if _, err := d.Token(); err != io.EOF {
		return "", fmt.Errorf("more than one value")
	}
	text, err := json.Marshal(plainNumbers(v))
	return string(text), err
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			return v // an integer, exact beyond 2^53 too
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return v
		}
		if f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return v
}

// shown is how many rows a difference shows of each side; one is often not enough to
// see a pattern, and a thousand hide it.
const shown = 3

// differences describes how got differs from want; empty: not at all.
func differences(want, got rows) string {
	var missing, extra []string
	for row, n := range want {
		for range n - got[row] {
			missing = append(missing, row)
		}
	}
	for row, n := range got {
		for range n - want[row] {
			extra = append(extra, row)
		}
	}
	var text strings.Builder
	for _, side := range []struct {
		name string
		rows []string
	}{{"missing", missing}, {"too many", extra}} {
		if len(side.rows) == 0 {
			continue
		}
		slices.Sort(side.rows)
		fmt.Fprintf(&text, "%d rows %s:\n", len(side.rows), side.name)
		for _, row := range side.rows[:min(shown, len(side.rows))] {
			fmt.Fprintf(&text, "  %s\n", row)
		}
	}
	return text.String()
}

func TestDifferences(t *testing.T) {
	for _, row := range []struct{ name, want, got, differ string }{
		{"other order of rows and members", `{"a":1,"b":2}
{"a":3}`, `{"a":3}
{"b":2,"a":1}
`, ""},
		{"an integral float is written as 5 or 5.0", `{"a":5.0}`, `{"a":5}`, ""},
		{"one float in two notations", `{"a":1e-7,"b":0.1}`, `{"a":0.0000001,"b":0.1}`, ""},
		{"the last bit of a float", `{"a":0.3}`, `{"a":0.30000000000000004}`,
			"1 rows missing:\n  {\"a\":0.3}\n1 rows too many:\n  {\"a\":0.30000000000000004}\n"},
		{"an integer above 2^53", `{"a":9007199254740993}`, `{"a":9007199254740992}`,
			"1 rows missing:\n  {\"a\":9007199254740993}\n1 rows too many:\n  {\"a\":9007199254740992}\n"},
		{"a row is there twice", `{"a":1}`, `{"a":1}
{"a":1}`, "1 rows too many:\n  {\"a\":1}\n"},
		{"null is not 0", `{"a":null}`, `{"a":0}`, "1 rows missing:\n  {\"a\":null}\n1 rows too many:\n  {\"a\":0}\n"},
	} {
		want, err := readRows(strings.NewReader(row.want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readRows(strings.NewReader(row.got))
		if err != nil {
			t.Fatal(err)
		}
		if d := differences(want, got); d != row.differ {
			t.Errorf("%s: got %q, want %q", row.name, d, row.differ)
		}
	}
}
