package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	input     string // the file of its lines
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
	return append(rows, overlap(all)...), nil
}

// overlap compares what a row of output costs with 3,600 and with 60 overlapping windows: the CPU
// time of the job with built-in aggregates, without that of reading the lines, by the number of rows.
// A round's figures are divided by each other, and the median counts.
func overlap(all []*asked) []Row {
	i := slices.IndexFunc(all, func(a *asked) bool { return a.name == wide })
	j := slices.IndexFunc(all, func(a *asked) bool { return a.name == narrow })
	if i < 0 || j < 0 {
		return nil
	}
	decode := all[i].decode.costs // the lines are the same
	cost := func(a *asked, round int) float64 {
		return (a.engine[0].costs[round].CPU - decode[round].CPU).Seconds() / float64(a.rows)
	}
	var ratios []float64
	for round := range decode {
		ratios = append(ratios, cost(all[i], round)/cost(all[j], round))
	}
	return []Row{{Group: all[i].group, Measure: "cost of an output row at 3,600 overlapping windows, of that at 60", Unit: Ratio, Must: 1.5, Goal: 1.1, Measured: median(ratios)}}
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
	if q.decode != nil {
		a.decode = &measured{title: "decode only", process: Process{Args: []string{s.Self, "decode", q.name, input}}, run: engineRun{target: *q.decode}}
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
