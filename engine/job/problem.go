package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/fault"
)

// maxProblems bounds what is reported at once: behind that many, the first few
// have to be put right before the others mean anything.
const maxProblems = 100

// Problem is one thing that is wrong with a job file.
type Problem struct {
	File         string // name as given in LoadOptions
	Line, Column int    // from 1; 0 when Set is set
	Set          string // the override that is wrong, as "--set key"; else empty
	Text         string // what is wrong, beginning with the setting, and the likely fix
}

func (p Problem) String() string {
	if p.Set != "" { // the text begins with the setting, too
		rest := strings.TrimPrefix(p.Text, strings.TrimPrefix(p.Set, "--set "))
		if rest != p.Text && (rest[0] == ' ' || rest[0] == ':') {
			return p.Set + ": " + strings.TrimPrefix(rest[1:], " ")
		}
		return p.Set + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// Problems is the error of Load: all that is wrong, in order of the job file, then
// of the overrides. It is of class fault.ErrUser.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Is puts the problems into their class.
func (ps Problems) Is(target error) bool { return target == fault.ErrUser }

// place is where a value stands. The zero place is that of a default.
type place struct {
	line, col int
	set       string // "--set key" when the value comes from an override
}

func (p place) isDefault() bool { return p == place{} }

func (r *reader) report(at place, format string, args ...any) {
	if r.dropped > 0 || len(r.problems) == maxProblems {
		r.dropped++
		return
	}
	if at.isDefault() {
		at = place{line: 1, col: 1} // of the file as a whole
	}
	p := Problem{Set: at.set, Text: fmt.Sprintf(format, args...)}
	if at.set == "" {
		p.File, p.Line, p.Column = r.o.Name, at.line, at.col
	}
	// Two checks may stumble over the same value; once is enough.
	if !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

// err returns what was reported, sorted, or nil.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(len(a.Set), len(b.Set)), cmp.Compare(a.Set, b.Set),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.dropped > 0 {
		last := r.problems[len(r.problems)-1]
		last.Text = fmt.Sprintf("%d more problems are not shown", r.dropped)
		r.problems = append(r.problems, last)
	}
	return r.problems
}
