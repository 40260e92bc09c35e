package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tidemark/engine/harness"
	"tidemark/internal/fault"
	"tidemark/spec"
)

func newConformanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance [FILE…]",
		Short: "run scenarios of the specification through the engine",
		Long: `Runs scenario files (spec/README.md describes them) through the same batches, exchange
and operators as a job: each one record by record and in batches, at parallelism 1 and 4
where that makes a difference, with the operator that the plan chooses and with the
general one. Without a file it runs the published scenarios; - is standard input.

A line is printed for each scenario that fails, with the first difference; the last line
is "N passed, M failed".`,
	}
	restore := cmd.Flags().Bool("restore", false, "also with a checkpoint and restore after every step, which must change nothing")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		scenarios, err := readScenarios(cmd.InOrStdin(), files)
		if err != nil {
			return err
		}
		failed := conform(cmd.OutOrStdout(), scenarios, *restore)
		fmt.Fprintf(cmd.OutOrStdout(), "%d passed, %d failed\n", len(scenarios)-failed, failed)
		if failed > 0 {
			return &quietError{exitFailed}
		}
		return nil
	}
	return cmd
}

// readScenarios reads all files before any scenario runs.
func readScenarios(stdin io.Reader, files []string) ([]spec.Scenario, error) {
	if len(files) == 0 {
		return spec.Published(), nil
	}
	var all []spec.Scenario
	for _, name := range files {
		in := stdin
		if name != "-" {
			f, err := os.Open(name)
			if err != nil {
				return nil, fault.As(fault.ErrUser, err)
			}
			defer f.Close()
			in = f
		}
		scenarios, err := spec.Read(in)
		if err != nil {
			return nil, fault.Userf("%s: %w", name, err)
		}
		all = append(all, scenarios...)
	}
	return all, nil
}

// conform runs scenarios and prints the ones that fail.
func conform(out io.Writer, scenarios []spec.Scenario, restore bool) (failed int) {
	for i := range scenarios {
		s := &scenarios[i]
		diff := harness.Check(s)
		if diff == "" && restore {
			r := spec.WithRestoreAfterEveryStep(*s)
			if diff = harness.Check(&r); diff != "" {
				diff = "with a restore after every step: " + diff
			}
		}
		if diff != "" {
			failed++
			fmt.Fprintf(out, "%s: %s\n", s.ID, diff)
		}
	}
	return failed
}
