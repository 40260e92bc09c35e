package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// The table is one of Markdown with its columns padded, so that a terminal and a page
// show the same bytes.

var columns = [...]string{"", "measure", "must", "goal", "measured", "", "CPU s", "peak MiB"}

const mebibyte = 1 << 20

// table writes rows, those of a group together, in the order in which groups first appear.
func table(rows []Row) string {
	var groups []string
	for _, r := range rows {
		if !slices.Contains(groups, r.Group) {
			groups = append(groups, r.Group)
		}
	}
	lines := [][len(columns)]string{columns, {}}
	for _, g := range groups {
		shown := g
		for _, r := range rows {
			if r.Group == g {
				lines = append(lines, r.cells(shown))
				shown = ""
			}
		}
	}
	var width [len(columns)]int
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			switch {
			case n == 1 && i < 2 || n == 1 && i == 5: // what the alignment of a column is
				fmt.Fprintf(&out, "|%s", strings.Repeat("-", width[i]+2))
			case n == 1:
				fmt.Fprintf(&out, "|%s:", strings.Repeat("-", width[i]+1))
			case i < 2 || i == 5:
				fmt.Fprintf(&out, "| %s%s ", cell, pad)
			default:
				fmt.Fprintf(&out, "| %s%s ", pad, cell)
			}
		}
		out.WriteString("|\n")
	}
	return out.String()
}

func (r *Row) cells(group string) [len(columns)]string {
	cpu, peak := "", ""
	if r.CPU > 0 {
		cpu = fmt.Sprintf("%.2f", r.CPU)
	}
	if r.Peak > 0 {
		peak = fmt.Sprint((r.Peak + mebibyte - 1) / mebibyte)
	}
	return [...]string{group, r.Measure, r.Unit.demand(r.Must), r.Unit.demand(r.Goal), r.Unit.text(r.Measured), r.verdict(), cpu, peak}
}

// Between these lines a page shows what was printed.
const (
	tableBegin = "<!-- bench:begin -->\n"
	tableEnd   = "<!-- bench:end -->\n"
)

// publish replaces what stands between the markers of a page.
func publish(page, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begun := bytes.Cut(old, []byte(tableBegin))
	_, after, ended := bytes.Cut(rest, []byte(tableEnd))
	if !begun || !ended {
		return fmt.Errorf("%s: the lines %q and %q are missing, between which the table goes", page, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	return os.WriteFile(page, slices.Concat(before, []byte(tableBegin), []byte(text), []byte(tableEnd), after), 0o644)
}
