package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// A fast wrong answer is no result: before a query is measured, the rows of its runs are compared
// with the reference's. That takes memory, so it is a process of its own: see Process.Run.

// claim is a job whose rows are to be those of the reference.
type claim struct {
	Title   string
	Plugin  bool // it answers by the plug-in, which gives rows another shape
	Process Process
}

// Rows must not depend on these: each run is also compared with them.
var otherwise = []string{"--set", "parallelism=2", "--set", "settings.batch.rows=100"}

// verify compares the rows of all runs, and keeps how many there are.
func (s *settings) verify(a *asked) error {
	progress("%s: comparing rows", a.name)
	reference, out := s.path(a.name+".rows"), s.path(a.name+".count")
	if _, err := a.reference.process.Run(reference); err != nil {
		return fmt.Errorf("%s: %w", a.reference.title, err)
	}
	defer os.Remove(reference)
	var claims []claim
	for _, m := range a.engine {
		for _, set := range [][]string{nil, otherwise} {
			p := m.process
			p.Args, p.EveryCore = slices.Concat(p.Args, set), true
			claims = append(claims, claim{m.title, m.run.language != "", p})
		}
	}
	text, err := json.Marshal(claims)
	if err != nil {
		return err
	}
	compare := Process{Args: []string{s.Self, "compare", a.name, reference, string(text)}, EveryCore: true}
	if _, err := compare.Run(out); err != nil {
		return err
	}
	count, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	_, err = fmt.Sscan(string(count), &a.rows)
	return err
}

// compareAll is the other end of verify: it writes how many rows each run has.
func (q *query) compareAll(reference, given string, out io.Writer) error {
	var claims []claim
	if err := json.Unmarshal([]byte(given), &claims); err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	f, err := os.Open(reference)
	if err != nil {
		return err
	}
	defer f.Close()
	want, err := q.readReference(f)
	if err != nil {
		return fmt.Errorf("%s: %w", reference, err)
	}
	for _, c := range claims {
		err := c.Process.Pipe(func(rows io.Reader) error {
			_, err := q.compare(want, rows, c.Plugin)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.Title, err)
		}
	}
	_, err = fmt.Fprintln(out, len(want.ends))
	return err
}
