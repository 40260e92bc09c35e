package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"tidemark/internal/fault"
)

const (
	// maxDiffLine bounds a line of a result file: one with the largest value that a
	// plug-in may give, and room for the key.
	maxDiffLine = 16 << 20
	// maxDiffRows bounds the rows that are held of a file, at about 1 KB each.
	maxDiffRows = 5_000_000
)

func newDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "compare two result files by id",
		Long: "Compares the latest revision of each result in two files of JSON lines, as a job writes them (gzip\n" +
			"or not; - is standard input), whatever their order. Kind and revision do not count: a result that\n" +
			"was corrected by updates equals one that was complete at once. Exit code 1: there are differences.",
		Args: exactly(2, "two result files"),
	}
	out := outputFlag(cmd, asTable, asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] == "-" && args[1] == "-" {
			return usagef("only one of the files can be standard input")
		}
		a, err := readResults(args[0], cmd.InOrStdin())
		if err != nil {
			return err
		}
		b, err := readResults(args[1], cmd.InOrStdin())
		if err != nil {
			return err
		}
		found := compare(a, b)
		if err := found.write(cmd.OutOrStdout(), *out); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, %s: %s; %s missing, %s extra, %s different\n", args[0], count(int64(a.n), "result"),
			args[1], count(int64(b.n), "result"), thousands(found.missing), thousands(found.extra), thousands(found.different))
		if len(found.list) > 0 {
			return &quietError{exitFailed}
		}
		return nil
	}
	return cmd
}

// resultRow is what diff looks at in a row.
type resultRow struct {
	ID       string          `json:"id"`
	Step     string          `json:"step"`
	Key      json.RawMessage `json:"key"`
	Window   json.RawMessage `json:"window"`
	Revision int64           `json:"revision"`
	Ordinal  int64           `json:"ordinal"`
	Rows     *int64          `json:"rows"`
	Content  string          `json:"content"`
	Value    json.RawMessage `json:"value"`
	line     int
}

// results are the rows of the latest revision of each window. Windows are told apart
// by step, key and window; the rows of one firing by their id.
type results struct {
	windows map[string]*firing
	n       int // rows in all windows
}

type firing struct {
	revision int64
	rows     map[string]*resultRow
}

func readResults(name string, stdin io.Reader) (*results, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			var pe *os.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			return nil, fault.Userf("%s: %w", name, err)
		}
		defer f.Close() // only read from
		in = f
	}
	buffered := bufio.NewReaderSize(in, 64<<10)
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fault.Userf("%s: %w", name, err)
		}
		buffered = bufio.NewReaderSize(z, 64<<10)
	}
	r := &results{windows: map[string]*firing{}}
	lines := bufio.NewScanner(buffered)
	lines.Buffer(nil, maxDiffLine)
	held := 0
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		row, err := parseResult(lines.Bytes())
		if err == nil {
			row.line = n
			err = r.add(row)
		}
		if held++; err == nil && held > maxDiffRows {
			err = fmt.Errorf("more than %d rows cannot be compared", maxDiffRows)
		}
		if err != nil {
			return nil, fault.Userf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fault.Userf("%s: %w", name, err)
	}
	for _, f := range r.windows {
		r.n += len(f.rows)
	}
	return r, nil
}

func parseResult(line []byte) (*resultRow, error) {
	var row resultRow
	if err := json.Unmarshal(line, &row); err != nil {
		return nil, fmt.Errorf("not a result row: %w", err)
	}
	switch {
	case row.ID == "" || row.Step == "" || row.Value == nil:
		return nil, errors.New("not a result row: it lacks id, step or value")
	case row.Content == "since_last":
		return nil, errors.New("the row holds what came since the last one (content: since_last), so the latest is not the whole; such results cannot be compared")
	case row.Content != "" && row.Content != "whole":
		return nil, fmt.Errorf("content is %q, neither whole nor since_last", row.Content)
	}
	for _, m := range []*json.RawMessage{&row.Key, &row.Window, &row.Value} {
		if *m == nil {
			*m = json.RawMessage("null")
		}
		plain, err := canonical(*m)
		if err != nil {
			return nil, fmt.Errorf("not a result row: %w", err)
		}
		*m = plain
	}
	return &row, nil
}

// canonical writes JSON in one way: members sorted, no blanks, numbers as they are.
func canonical(raw []byte) ([]byte, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// add keeps a row if its firing is the latest of its window so far.
func (r *results) add(row *resultRow) error {
	w := row.Step + "\n" + string(row.Key) + "\n" + string(row.Window)
	f := r.windows[w]
	if f == nil || f.revision < row.Revision {
		f = &firing{revision: row.Revision, rows: map[string]*resultRow{}}
		r.windows[w] = f
	}
	if row.Revision < f.revision {
		return nil
	}
	// At-least-once output repeats rows; it never changes them.
	if first := f.rows[row.ID]; first != nil && !bytes.Equal(first.Value, row.Value) {
		return fmt.Errorf("id %s revision %d has another value than in line %d", row.ID, row.Revision, first.line)
	}
	f.rows[row.ID] = row
	return nil
}

// difference is one result that is not the same in both files.
type difference struct {
	What   string          `json:"what"` // missing: not in B; extra: not in A; different
	ID     string          `json:"id"`
	Step   string          `json:"step"`
	Key    json.RawMessage `json:"key"`
	Window json.RawMessage `json:"window"`
	A      json.RawMessage `json:"a,omitempty"` // values
	B      json.RawMessage `json:"b,omitempty"`
}

type differences struct {
	list                      []difference
	missing, extra, different int64
}

func compare(a, b *results) *differences {
	d := &differences{}
	inB := b.byID()
	for id, x := range a.byID() {
		y := inB[id]
		delete(inB, id)
		switch {
		case y == nil:
			d.missing++
			d.list = append(d.list, difference{"missing", id, x.Step, x.Key, x.Window, x.Value, nil})
		case !bytes.Equal(x.Value, y.Value):
			d.different++
			d.list = append(d.list, difference{"different", id, x.Step, x.Key, x.Window, x.Value, y.Value})
		}
	}
	for id, y := range inB {
		d.extra++
		d.list = append(d.list, difference{"extra", id, y.Step, y.Key, y.Window, nil, y.Value})
	}
	slices.SortFunc(d.list, func(x, y difference) int {
		return cmp.Or(cmp.Compare(x.Step, y.Step), bytes.Compare(x.Window, y.Window), bytes.Compare(x.Key, y.Key), cmp.Compare(x.ID, y.ID))
	})
	return d
}

func (r *results) byID() map[string]*resultRow {
	out := make(map[string]*resultRow, r.n)
	for _, f := range r.windows {
		for id, row := range f.rows {
			out[id] = row
		}
	}
	return out
}

func (d *differences) write(w io.Writer, f form) error {
	out := bufio.NewWriter(w)
	if f == asJSON {
		for _, x := range d.list {
			if err := f.emit(out, x); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	for _, x := range d.list {
		fmt.Fprintf(out, "%-9s %s %s key %s window %s\n", x.What, x.ID, x.Step, x.Key, span(x.Window))
		if x.A != nil {
			fmt.Fprintf(out, "  A %s\n", x.A)
		}
		if x.B != nil {
			fmt.Fprintf(out, "  B %s\n", x.B)
		}
	}
	return out.Flush()
}

// span writes a window for people.
func span(window json.RawMessage) string {
	var w struct{ Start, End json.RawMessage }
	if json.Unmarshal(window, &w) != nil || w.Start == nil || w.End == nil {
		return string(window)
	}
	return string(bytes.Trim(w.Start, `"`)) + " to " + string(bytes.Trim(w.End, `"`))
}
