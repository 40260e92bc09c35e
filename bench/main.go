package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const usage = `usage: bench [flags] [NAME...]   measure everything, or all there is of the workloads and measures named
       bench soak [flags]        the memory of a job on an endless stream
       bench generate QUERY      write the lines of a query
       bench reference QUERY     its plain loop: lines on stdin, rows on stdout
       bench decode QUERY FILE   decode a file's lines as the query's job would, and nothing else
       bench compare QUERY REF RUNS   compare the rows of jobs with the reference's in a file (see verify.go)
`

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "rows" { // see extra.go
		return printRows(ctx, args[1], args[2])
	}
	if len(args) == 4 && args[0] == "durable" { // see checkpoint.go
		return durablePart(ctx, args[1], args[2], args[3])
	}
	if len(args) > 0 && args[0] == "soak" {
		return soak(args[1:])
	}
	if len(args) > 1 {
		if i := slices.IndexFunc(queries(), func(q query) bool { return q.name == args[1] }); i >= 0 {
			return part(queries()[i], args[0], args[2:])
		}
	}
	return harness(args)
}

// part is what the harness starts itself anew for: one part of one query, so that its cost is
// the cost of a process.
func part(q query, what string, args []string) error {
	switch {
	case what == "generate" && len(args) == 0:
		return q.data.Generate(os.Stdout)
	case what == "reference" && len(args) == 0:
		return q.reference(os.Stdin, os.Stdout)
	case what == "decode" && len(args) == 1:
		return decodeOnly(args[0], q.fields(), os.Stderr)
	case what == "compare" && len(args) == 2:
		return q.compareAll(args[0], args[1], os.Stdout)
	}
	fmt.Fprint(os.Stderr, usage)
	return fmt.Errorf("cannot %s %s of %s", what, strings.Join(args, " "), q.name)
}

// settings are the same for all measures. Paths are absolute.
type settings struct {
	Rounds   int
	Dir      string // for inputs and whatever else is needed; exists
	Self     string // this program
	Tidemark string // the engine's program
	Plugin   string // stats in Go
	Built    string // directory of stats in other languages: c/stats.wasm and so on
	// Whole measures all that there is, also what is left out to keep the table to minutes.
	Whole bool
}

func (s *settings) path(name string) string { return filepath.Join(s.Dir, name) }

func harness(args []string) error {
	s, names, page, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if s.Dir == "" {
		if s.Dir, err = os.MkdirTemp("", "tidemark-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(s.Dir)
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	rows, err := measureAll(s, names)
	if err != nil {
		return err
	}
	text := caption(args, s.Rounds) + "\n" + table(rows)
	fmt.Print(text)
	if page != "" {
		if err := publish(page, text); err != nil {
			return err
		}
	}
	missed := 0
	for _, r := range rows {
		if r.Missed() {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d demands are not met", missed)
	}
	return nil
}

// parse reads the flags; page is where the table is published, if anywhere.
func parse(args []string) (s *settings, names []string, page string, err error) {
	s = &settings{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&s.Rounds, "rounds", 5, "the median of so many rounds counts")
	flags.StringVar(&s.Dir, "dir", "", "keep inputs and results in this directory (default: a temporary one)")
	flags.StringVar(&s.Tidemark, "tidemark", "bin/tidemark", "the engine's program")
	flags.StringVar(&s.Plugin, "plugin", "bin/plugins/stats.wasm", "the plug-in stats, in Go")
	flags.StringVar(&s.Built, "built", "internal/wasmtest/built", "the directory of the plug-in in other languages: c/stats.wasm and so on")
	flags.StringVar(&page, "page", "", "put the table into this page, between its markers")
	flags.Usage = func() {
		fmt.Fprintf(os.Stderr, "%s\nNAMES: %s\n\n", usage, strings.Join(known(), " "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, nil, "", err
	}
	names = flags.Args()
	for _, name := range names {
		if !slices.Contains(known(), name) {
			return nil, nil, "", fmt.Errorf("there is no workload or measure %q, but %s", name, strings.Join(known(), ", "))
		}
	}
	if s.Rounds < 1 {
		return nil, nil, "", fmt.Errorf("-rounds must be at least 1, is %d", s.Rounds)
	}
	if s.Whole = len(names) > 0; !s.Whole {
		names = known()
	}
	if s.Self, err = os.Executable(); err != nil {
		return nil, nil, "", err
	}
	for _, path := range []*string{&s.Dir, &s.Tidemark, &s.Plugin, &s.Built} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return nil, nil, "", err
			}
		}
	}
	if _, err := os.Stat(s.Tidemark); err != nil {
		return nil, nil, "", fmt.Errorf("-tidemark: %w (make build guests makes it)", err)
	}
	return s, names, page, nil
}

// known are the names of all workloads and extra measures.
func known() []string {
	names := groups()
	for _, x := range extras() {
		names = append(names, x.name)
	}
	return names
}

// measureAll returns the rows of the table: workloads, then extra measures.
func measureAll(s *settings, names []string) ([]Row, error) {
	var rows []Row
	for _, g := range groups() {
		if slices.Contains(names, g) {
			r, err := measureGroup(s, g)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r...)
		}
	}
	for _, x := range extras() {
		if slices.Contains(names, x.name) {
			progress("%s", x.name)
			r, err := x.inOwnProcess(s)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r...)
		}
	}
	return rows, nil
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// caption says what the figures below it are, and where they come from.
func caption(args []string, rounds int) string {
	command := "make bench"
	if len(args) > 0 && !slices.Contains(args, "-page") {
		command = "go run ./bench " + strings.Join(args, " ")
	}
	return fmt.Sprintf("`%s`, %s, on %s, %d cores, %s/%s, %s; medians of %d alternating rounds, each process %s.\n",
		command, time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), rounds, pinned)
}

// processor names the machine's processor as Linux does, or else not at all.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "an unknown processor"
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 1<<16))
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown processor"
}
