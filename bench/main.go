package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const usage = `usage: bench [flags]           measure workload W1, and the loop of plug-ins alone
       bench generate          write the workload's lines
       bench reference         the reference loop: lines on stdin, rows on stdout
       bench decode FILE       decode a file's lines as a job would, and nothing else
       bench compare REF ROWS  compare an engine's rows with the reference's
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	part := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		part = args[0]
	}
	switch {
	case part == "":
		return harness(args)
	case part == "generate" && len(args) == 1:
		return w1.Generate(os.Stdout)
	case part == "reference" && len(args) == 1:
		return Reference(os.Stdin, os.Stdout)
	case part == "decode" && len(args) == 2:
		return decodeOnly(args[1], os.Stderr)
	case part == "compare" && len(args) == 3:
		return compareFiles(args[1], args[2])
	}
	fmt.Fprint(os.Stderr, usage)
	return fmt.Errorf("cannot run %q", args)
}

// jobFile is the workload's question as a job. Rows go to standard output, so that they
// can be thrown away without a file's cost. The key and the one measured column are
// all that is read.
const jobFile = `version: 1
job: w1
parallelism: 1
%ssources:
  orders:
    file: {path: %q}
    format: json
    schema: {key: string, amount: float64}
    time: {field: event_time, unit: ms}
    watermark: {out_of_orderness: 5s}
steps:
  per_key:
    from: orders
    key: [key]
    window: {tumbling: 10s}
    aggregates:
%ssinks:
  rows: {from: per_key, stdout: {}}
`

const builtins = `      count: {function: count}
      sum: {function: sum, columns: {value: amount}}
      max: {function: max, columns: {value: amount}}
`

const plugged = `      amount: {plugin: stats, columns: {value: amount}}
`

type settings struct {
	runs           int
	only, dir      string
	binary, plugin string
	built          string
	wanted         []string // of parts
}

// parts are what can be measured beside the reference; loop needs no reference and is
// measured apart.
var parts = []string{"decode", "builtin", "c", "rust", "assemblyscript", "go", "loop"}

func harness(args []string) error {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&s.runs, "runs", 5, "rounds; the median counts")
	flags.StringVar(&s.only, "only", strings.Join(parts, ","), "what to measure beside the reference")
	flags.StringVar(&s.dir, "dir", "", "keep the input and the rows in this directory (default: a temporary one)")
	flags.StringVar(&s.binary, "tidemark", "bin/tidemark", "the engine's binary")
	flags.StringVar(&s.plugin, "plugin", "bin/plugins/stats.wasm", "the plug-in stats, in Go")
	flags.StringVar(&s.built, "built", "internal/wasmtest/built", "the directory of the plug-in in other languages: c/stats.wasm and so on")
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage); flags.PrintDefaults() }
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if s.runs < 1 {
		return fmt.Errorf("-runs must be at least 1, is %d", s.runs)
	}
	s.wanted = strings.Split(s.only, ",")
	for _, name := range s.wanted {
		if !slices.Contains(parts, name) {
			return fmt.Errorf("-only: unknown measure %q, there are %s", name, strings.Join(parts, ", "))
		}
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "tidemark-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s.dir = dir
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	s.dir = dir
	pinned, err := pin()
	if err != nil {
		return err
	}
	missed := 0
	if !slices.Equal(s.wanted, []string{"loop"}) {
		if missed, err = s.workload(pinned); err != nil {
			return err
		}
	}
	if slices.Contains(s.wanted, "loop") {
		// In this process, which has no other to start any more: see Process.Run.
		n, err := measureLoops(os.Stdout, s.plugin, s.built, loopRounds*s.runs)
		if err != nil {
			return err
		}
		missed += n
	}
	if missed > 0 {
		return fmt.Errorf("%d demands are not met", missed)
	}
	return nil
}

// workload measures W1 and returns how many demands are not met.
func (s *settings) workload(pinned string) (missed int, err error) {
	measures, err := s.measures()
	if err != nil {
		return 0, err
	}
	if err := s.prepare(measures); err != nil {
		return 0, err
	}
	for round := range s.runs {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, s.runs)
		for _, m := range measures {
			cost, err := m.Process.Run(os.DevNull)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", m.Title, err)
			}
			m.costs = append(m.costs, cost)
		}
	}
	fmt.Printf("W1: %d lines, %d keys, tumbling 10 s: count, sum, max; medians of %d alternating rounds, %s.\n",
		w1.Lines, w1.Keys, s.runs, pinned)
	fmt.Printf("R is the reference loop. All rows equal the reference's, bit for bit.\n\n")
	return report(os.Stdout, measures), nil
}

// measures lists what is to be run, the reference first, and writes the job files.
func (s *settings) measures() ([]*Measure, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(s.binary)
	if err != nil {
		return nil, err
	}
	input := s.path("w1.jsonl")
	engine := func(name, plugins, aggregates string) (Process, error) {
		file := s.path(name + ".yaml")
		text := fmt.Sprintf(jobFile, plugins, input, aggregates)
		return Process{
			Args: []string{binary, "run", file},
			// What the engine keeps between runs stays with this bench: the first,
			// unmeasured run compiles the plug-in, the measured ones find it.
			Env: []string{"XDG_STATE_HOME=" + s.path("state"), "XDG_CACHE_HOME=" + s.path("cache")},
		}, os.WriteFile(file, []byte(text), 0o644)
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	builtin, err := engine("builtin", "", builtins)
	if err != nil {
		return nil, err
	}
	all := []*Measure{
		{Name: "reference", Title: "reference loop R", Rows: true, Process: Process{Args: []string{self, "reference"}, Stdin: input}},
		{Name: "decode", Title: "decode only", Process: Process{Args: []string{self, "decode", input}}, MaxRatio: 1},
		{Name: "builtin", Title: "built-in aggregates", Rows: true, Process: builtin, MaxRatio: 2, MaxPeak: 100 * mebibyte},
	}
	for _, l := range languages(s.plugin, s.built) {
		file, err := filepath.Abs(l.file)
		if err != nil {
			return nil, err
		}
		process, err := engine(l.name, fmt.Sprintf("plugins:\n  stats: {file: %q}\n", file), plugged)
		if err != nil {
			return nil, err
		}
		all = append(all, &Measure{Name: l.name, Title: l.title, Rows: true, Process: process, MaxRatio: l.maxWorkload, MaxPeak: 250 * mebibyte})
	}
	return slices.DeleteFunc(all, func(m *Measure) bool {
		return m.Name != "reference" && !slices.Contains(s.wanted, m.Name)
	}), nil
}

// language is the plug-in stats in a language, and what is demanded of it: as a multiple of
// the reference in W1, of the loop in Go alone, and of itself unmetered; 0: nothing.
type language struct {
	name, title, file                 string
	maxWorkload, maxLoop, maxMetering float64
}

func languages(plugin, built string) []language {
	file := func(name string) string { return filepath.Join(built, name, "stats.wasm") }
	return []language{
		{"c", "C plug-in", file("c"), 2.2, 9, 1.25},
		{"rust", "Rust plug-in", file("rust"), 2.2, 9, 0},
		{"assemblyscript", "AssemblyScript plug-in", file("assemblyscript"), 2.2, 9, 0},
		{"go", "Go plug-in", plugin, 3, 14, 1.9},
	}
}

// prepare makes the input and runs everything once, unmeasured, to compare the rows
// and to warm what there is to warm.
func (s *settings) prepare(measures []*Measure) error {
	self := measures[0].Process.Args[0]
	fmt.Fprintln(os.Stderr, "writing the input")
	if _, err := (Process{Args: []string{self, "generate"}}).Run(s.path("w1.jsonl")); err != nil {
		return fmt.Errorf("write the input: %w", err)
	}
	fmt.Fprintln(os.Stderr, "comparing the rows")
	for _, m := range measures {
		rows := s.path(m.Name + ".rows")
		if _, err := m.Process.Run(rows); err != nil {
			return fmt.Errorf("%s: %w", m.Title, err)
		}
		if m.Rows && m != measures[0] {
			compare := Process{Args: []string{self, "compare", s.path("reference.rows"), rows}}
			if _, err := compare.Run(os.DevNull); err != nil {
				return fmt.Errorf("%s: %w", m.Title, err)
			}
		}
	}
	return nil
}

func (s *settings) path(name string) string { return filepath.Join(s.dir, name) }

func compareFiles(reference, rows string) error {
	want, err := readFile(reference, readReference)
	if err != nil {
		return err
	}
	got, err := readFile(rows, readEngine)
	if err != nil {
		return err
	}
	return compareRows(want, got)
}

func readFile(name string, read func(io.Reader) (map[rowKey]rowValue, error)) (map[rowKey]rowValue, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rows, nil
}
