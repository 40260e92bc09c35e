package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"tidemark/engine/harness"
	"tidemark/engine/wasm"
)

func newPluginTestCommand() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "test FILE.test.yaml…",
		Short: "run tests of a plug-in: records in, results out",
		Long: "Runs files of tests (docs/testing.md). Each names a module and says what its function is shown, with which arguments,\n" +
			"and what it must answer or refuse. Every failure is printed; the last line is \"N passed, M failed\". Then comes what\n" +
			"the calls took at most of a host's limits; -v shows it of every call. What the plug-in prints is shown where a test\n" +
			"fails, and with -v.",
		Example: "  tidemark plugin test hv.test.yaml -v",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s wants files of tests; %s --help tells more", name(cmd), cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every call with its fuel and memory")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		r := pluginTests{out: cmd.OutOrStdout(), verbose: verbose}
		return r.run(cmd.Context(), files)
	}
	return cmd
}

// pluginTests is a run of plugin test.
type pluginTests struct {
	out            io.Writer
	verbose        bool
	passed, failed int
	calls          []wasm.Call // of the test that runs
	most           wasm.Call   // the most fuel and memory of any call
}

func (r *pluginTests) run(ctx context.Context, files []string) error {
	for _, file := range files {
		if err := r.file(ctx, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, r.failed)
	if m := r.most; m.FuelLimit > 0 {
		fmt.Fprintf(r.out, "a call took at most %s fuel of %s, and the instance %s of %s MiB\n",
			thousands(m.Fuel), thousands(m.FuelLimit), mebibytes(m.Memory), mebibytes(m.MemoryLimit))
	}
	if r.failed > 0 {
		return &quietError{exitFailed}
	}
	return nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }

func (r *pluginTests) file(ctx context.Context, file string) (err error) {
	text, err := readTestedFile("test file", file)
	if err != nil {
		return err
	}
	tests, err := harness.ReadPluginTests(text)
	if err != nil {
		return err
	}
	module := tests.Plugin
	if !filepath.IsAbs(module) {
		module = filepath.Join(filepath.Dir(file), module)
	}
	x, err := examine(ctx, module, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	x.watch = r.saw
	info, err := x.modules.Describe(x.plug)
	if err != nil {
		return err
	}
	for i := range tests.Tests {
		t := &tests.Tests[i]
		r.calls = r.calls[:0]
		if x.args, err = parseArgs(t.ArgTexts(), info.Params); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		diffs, err := x.runTest(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		r.tell(file, t.Name, diffs)
	}
	return nil
}

func (r *pluginTests) saw(c wasm.Call) {
	r.calls = append(r.calls, c)
	if c.Fuel > r.most.Fuel {
		r.most.Fuel, r.most.FuelLimit = c.Fuel, c.FuelLimit
	}
	r.most.Memory, r.most.MemoryLimit = max(r.most.Memory, c.Memory), c.MemoryLimit
}

func (r *pluginTests) tell(file, name string, diffs []string) {
	verdict := "passed"
	if len(diffs) == 0 {
		r.passed++
	} else {
		r.failed++
		verdict = "failed"
	}
	if r.verbose || len(diffs) > 0 {
		fmt.Fprintf(r.out, "%s: %s: %s\n", file, name, verdict)
	}
	if len(diffs) > 0 {
		fmt.Fprintf(r.out, "    %s\n", strings.Join(diffs, "\n    "))
	}
	if r.verbose || len(diffs) > 0 {
		r.printed()
	}
	if r.verbose {
		t := newTable("call", ">records", ">accumulators", ">fuel", ">of", ">MiB", ">of")
		for _, c := range r.calls {
			t.add(c.Func.String(), thousands(int64(c.Records)), thousands(int64(c.Answers)), thousands(c.Fuel), thousands(c.FuelLimit), mebibytes(c.Memory), mebibytes(c.MemoryLimit))
		}
		t.write(r.out, "    ")
	}
}

// maxPrinted bounds the calls whose printed lines are shown: there are some 4 KiB of each.
const maxPrinted = 10

// printed shows what the plug-in has printed in the calls of a test.
func (r *pluginTests) printed() {
	calls := slices.DeleteFunc(slices.Clone(r.calls), func(c wasm.Call) bool { return c.Printed == "" })
	for i, c := range calls {
		if i == maxPrinted {
			fmt.Fprintf(r.out, "    printed in %s more\n", count(int64(len(calls)-i), "call"))
			return
		}
		fmt.Fprintf(r.out, "    printed in %s:\n", c.Func)
		for line := range strings.Lines(c.Printed) {
			fmt.Fprintf(r.out, "      %s\n", printable(strings.TrimSuffix(line, "\n")))
		}
	}
}

// printable keeps what a stranger's module prints from moving the cursor.
func printable(line string) string {
	return strings.Map(func(c rune) rune {
		if c != '\t' && !unicode.IsPrint(c) {
			return '\uFFFD'
		}
		return c
	}, line)
}

// runTest runs a test on a fresh instance.
func (x *examined) runTest(ctx context.Context, t *harness.PluginTest) ([]string, error) {
	switch {
	case x.Aggregate != nil:
		return tested(ctx, x.openAggregate, t.Aggregate)
	case x.Map != nil:
		return tested(ctx, x.openMap, t.Map)
	case x.Pair != nil:
		return tested(ctx, x.openPair, t.Pair)
	case x.Process != nil:
		return tested(ctx, x.openProcess, t.Process)
	case x.Generator != nil:
		return tested(ctx, x.openGenerator, t.Generator)
	case x.Assigner != nil:
		return tested(ctx, x.openAssigner, t.Assigner)
	case x.Manifest.Trigger != nil:
		return tested(ctx, x.openTrigger, t.Trigger)
	}
	return nil, usagef("plugin test: plug-ins of this kind cannot be tested alone; tidemark test runs them in a job")
}

func tested[F interface{ Close() error }](ctx context.Context, open func(context.Context) (F, error), run func(F) ([]string, error)) (diffs []string, err error) {
	f, err := open(ctx)
	if err != nil {
		return nil, err
	}
	diffs, err = run(f)
	return diffs, errors.Join(err, f.Close())
}
