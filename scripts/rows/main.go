// Command rows shows a file of a job's output as a table: results, late records or bad
// ones. It is for the demos; programs read the JSON lines themselves.
//
//	go run ./scripts/rows -n 8 results.jsonl        the first 8 rows
//	go run ./scripts/rows -most-revised results.jsonl
//	                                                every row of the window that was corrected most
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// row has the members that any of the outputs may have; numbers stay as written.
type row struct {
	ID       string                       `json:"id"`
	Key      json.RawMessage              `json:"key"`
	Window   *struct{ Start, End string } `json:"window"`
	Kind     string                       `json:"kind"`
	Revision int                          `json:"revision"`
	Value    json.RawMessage              `json:"value"`

	Split    string `json:"split"`
	Line     int64  `json:"line"`
	Time     string `json:"time"`
	LateByMS *int64 `json:"late_by_ms"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
}

func main() {
	n := flag.Int("n", 10, "rows to show")
	mostRevised := flag.Bool("most-revised", false, "show every row of the window that was corrected most often")
	flag.Parse()
	if err := show(os.Stdout, flag.Arg(0), *n, *mostRevised); err != nil {
		fmt.Fprintln(os.Stderr, "rows:", err)
		os.Exit(1)
	}
}

func show(out io.Writer, file string, n int, mostRevised bool) error {
	rows, err := read(file)
	if err != nil {
		return err
	}
	total := len(rows)
	if mostRevised && total > 0 {
		best := slices.MaxFunc(rows, func(a, b row) int { return a.Revision - b.Revision })
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.ID != best.ID })
		total = len(rows)
		if half := n / 2; total > n { // how it began and how it ended
			rows = slices.Delete(rows, half, total-half)
		}
	}
	rows = rows[:min(n, len(rows))]
	if total == 0 {
		fmt.Fprintln(out, "  none")
		return nil
	}
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	var head string
	for _, r := range rows {
		columns, cells := r.cells()
		if h := strings.Join(columns, "\t"); h != head {
			head = h
			fmt.Fprintln(w, "  "+head)
		}
		fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if total > len(rows) {
		where := "and"
		if mostRevised {
			where = "between them"
		}
		fmt.Fprintf(out, "  … %s %d more in %s\n", where, total-len(rows), file)
	}
	return nil
}

func read(file string) ([]row, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rows []row
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		rows = append(rows, r)
	}
	return rows, lines.Err()
}

// cells lays a row out; which columns there are depends on what kind of row it is.
func (r *row) cells() (columns, cells []string) {
	add := func(column, cell string) {
		columns, cells = append(columns, column), append(cells, cell)
	}
	members(r.Key, "", add)
	if r.Window != nil {
		add("window", minute(r.Window.Start)+" – "+minute(r.Window.End))
	}
	switch {
	case r.Reason != "":
		add("place", fmt.Sprintf("%s:%d", r.Split, r.Line))
		add("reason", r.Reason)
		add("message", r.Message)
	case r.LateByMS != nil:
		add("place", fmt.Sprintf("%s:%d", r.Split, r.Line))
		add("time", minute(r.Time))
		add("too late by", (time.Duration(*r.LateByMS) * time.Millisecond).Round(time.Second).String())
	default:
		add("kind", r.Kind)
		add("revision", fmt.Sprint(r.Revision))
		members(r.Value, "", add)
	}
	return columns, cells
}

// members adds each scalar of an object, in the order of the file.
func members(raw json.RawMessage, prefix string, add func(column, cell string)) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return
		}
		column := prefix + fmt.Sprint(name)
		if len(v) > 0 && v[0] == '{' {
			members(v, column+".", add)
			continue
		}
		add(column, number(strings.Trim(string(v), `"`)))
	}
}

// number rounds a float to three digits behind the point; other text stays.
func number(s string) string {
	if s == "null" {
		return "-"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !strings.Contains(s, ".") {
		return s
	}
	return strconv.FormatFloat(math.Round(f*1000)/1000, 'f', -1, 64)
}

// minute is a time of the file, to the minute.
func minute(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return t.Format("Jan 2 15:04")
}
