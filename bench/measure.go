package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// measured is one process of a query with what its rounds cost.
type measured struct {
	title   string
	process Process
	run     engineRun
	costs   []Cost
}

// asked is a query with all that is measured of it.
type asked struct {
	query
	input     string
	reference *measured
	decode    *measured // nil: not measured
	engine    []*measured
	rows      int // of each run; the reference's
}

// measureGroup measures a workload. Its processes alternate over all of its queries, so that a
// slow minute of the machine counts for none of them.
func measureGroup(s *settings, group string) ([]Row, error) {
	var all []*asked
	for _, q := range queries() {
		if q.group == group {
			a, err := s.ask(q)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", q.name, err)
			}
			all = append(all, a)
		}
	}
	for round := range s.Rounds {
		progress("%s: round %d of %d", group, round+1, s.Rounds)
		for _, a := range all {
			for _, m := range a.processes() {
				cost, err := m.process.Run(os.DevNull)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", a.name, m.title, err)
				}
				m.costs = append(m.costs, cost)
			}
		}
	}
	var rows []Row
	for _, a := range all {
		rows = append(rows, a.report()...)
	}
	return rows, nil
}

func (a *asked) processes() []*measured {
	all := []*measured{a.reference}
	if a.decode != nil {
		all = append(all, a.decode)
	}
	return append(all, a.engine...)
}

// ask prepares a query: its input, its processes, and that their rows are right, which also
// warms what there is to warm: plug-ins are compiled here.
func (s *settings) ask(q query) (*asked, error) {
	input, err := s.input(q)
	if err != nil {
		return nil, err
	}
	a := &asked{query: q, input: input}
	a.reference = &measured{title: "plain loop", process: Process{Args: []string{s.Self, "reference", q.name}, Stdin: input}}
	if q.decode.given() {
		a.decode = &measured{title: "decode only", process: Process{Args: []string{s.Self, "decode", q.name, input}}, run: engineRun{target: q.decode}}
	}
	for _, r := range q.runs {
		if !r.always && !s.Whole {
			continue
		}
		m, err := s.job(q, r, input)
		if err != nil {
			return nil, err
		}
		a.engine = append(a.engine, m)
	}
	return a, s.verify(a)
}

// input writes the lines of a query, once for all queries over the same data, and returns the file.
func (s *settings) input(q query) (string, error) {
	file := s.path(q.data.name() + ".jsonl")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	progress("%s: writing %d lines", q.group, q.data.Lines)
	half := file + ".part"
	if _, err := (Process{Args: []string{s.Self, "generate", q.name}}).Run(half); err != nil {
		return "", err
	}
	return file, os.Rename(half, file)
}

// job writes a job file and returns the process that runs it.
func (s *settings) job(q query, r engineRun, input string) (*measured, error) {
	name, plugin := "builtin", ""
	m := &measured{title: "built-in aggregates", run: r}
	if r.language != "" {
		l := s.language(r.language)
		name, plugin, m.title = r.language, l.file, l.title
	}
	file := s.path(q.name + "-" + name + ".yaml")
	m.process = Process{
		Args: []string{s.Tidemark, "run", file},
		// What the engine keeps between runs stays with this bench.
		Env: []string{"XDG_STATE_HOME=" + s.path("state"), "XDG_CACHE_HOME=" + s.path("cache")},
	}
	return m, os.WriteFile(file, []byte(q.jobFile(input, plugin)), 0o644)
}

// language is one that the plug-in stats is there in.
type language struct{ name, title, file string }

func languages(plugin, built string) []language {
	file := func(name string) string { return filepath.Join(built, name, "stats.wasm") }
	return []language{
		{"c", "plug-in in C", file("c")},
		{"rust", "plug-in in Rust", file("rust")},
		{"assemblyscript", "plug-in in AssemblyScript", file("assemblyscript")},
		{"go", "plug-in in Go", plugin},
	}
}

func (s *settings) language(name string) language {
	all := languages(s.Plugin, s.Built)
	i := slices.IndexFunc(all, func(l language) bool { return l.name == name })
	if i < 0 {
		panic("BUG: a run in the unknown language " + name)
	}
	return all[i]
}

// Rows must not depend on these: each query is also run so, and compared.
var otherwise = []string{"--set", "parallelism=2", "--set", "settings.batch.rows=100"}

// verify compares the rows of all runs with the reference's.
func (s *settings) verify(a *asked) error {
	progress("%s: comparing rows", a.name)
	reference := s.path(a.name + ".rows")
	if _, err := a.reference.process.Run(reference); err != nil {
		return fmt.Errorf("%s: %w", a.reference.title, err)
	}
	defer os.Remove(reference)
	for _, m := range a.engine {
		kind := "builtin"
		if m.run.language != "" {
			kind = "plugin"
		}
		compare := Process{Args: []string{s.Self, "compare", a.name, kind, reference}, EveryCore: true}
		for _, set := range [][]string{nil, otherwise} {
			job := m.process
			job.Args, job.EveryCore = slices.Concat(job.Args, set), true
			count, err := job.into(compare)
			if err != nil {
				return fmt.Errorf("%s: %w", m.title, err)
			}
			if a.rows, err = strconv.Atoi(string(bytes.TrimSpace(count))); err != nil {
				return fmt.Errorf("%s: compare: %w", m.title, err)
			}
		}
	}
	return nil
}

// report makes the rows of a query.
func (a *asked) report() []Row {
	row := func(m *measured) Row {
		return Row{Group: a.group, Measure: a.title + ": " + m.title, Unit: Ratio, Must: m.run.must, Goal: m.run.goal,
			Measured: m.ratio(a.reference), CPU: m.seconds(), Peak: m.peak()}
	}
	var rows []Row
	for _, m := range a.processes() {
		rows = append(rows, row(m))
		if m.run.peak.given() {
			rows = append(rows, Row{Group: a.group, Measure: a.title + ": " + m.title + ", peak memory", Unit: Mebibytes,
				Must: m.run.peak.must, Goal: m.run.peak.goal, Measured: float64(m.peak()) / mebibyte})
		}
	}
	return rows
}

// ratio is the median over the rounds of the CPU time divided by that of the reference in
// the same round, so that a slow minute of the machine counts for neither side.
func (m *measured) ratio(to *measured) float64 {
	ratios := make([]float64, len(m.costs))
	for round := range m.costs {
		ratios[round] = m.costs[round].CPU.Seconds() / to.costs[round].CPU.Seconds()
	}
	return median(ratios)
}

func (m *measured) seconds() float64 {
	cpu := make([]float64, len(m.costs))
	for i, c := range m.costs {
		cpu[i] = c.CPU.Seconds()
	}
	return median(cpu)
}

func (m *measured) peak() int64 {
	var peak int64
	for _, c := range m.costs {
		peak = max(peak, c.Peak)
	}
	return peak
}
