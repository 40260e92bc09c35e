package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table lays out text in columns for people. A column whose name begins with > is
// set to the right, as numbers are.
type table struct {
	columns []string
	rows    [][]string
}

func newTable(columns ...string) *table { return &table{columns: columns} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer, indent string) {
	width := make([]int, len(t.columns))
	head := make([]string, len(t.columns))
	for i, c := range t.columns {
		head[i] = strings.TrimPrefix(c, ">")
	}
	lines := append([][]string{head}, t.rows...)
	for _, row := range lines {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range lines {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if strings.HasPrefix(t.columns[i], ">") {
				cell = pad + cell
			} else {
				cell += pad
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(cell)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// thousands writes a count for people: 158,631.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// count writes a number with its noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// clip keeps text within n characters and on one line.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
