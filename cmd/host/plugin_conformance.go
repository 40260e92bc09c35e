package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/abi/conformance"
	"tidemark/internal/fault"
)

func newPluginConformanceCommand() *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use:   "conformance DIR",
		Short: "show that an SDK's standard plug-ins keep to the ABI",
		Long: "Runs the conformance kit over the standard plug-ins as an SDK has built them: DIR/NAME.wasm for each of\n" +
			strings.Join(conformance.Plugins(), ", ") + ".\n" +
			"It shows them frames whose answers follow from abi/SPEC.md and what the plug-ins are defined to do, each also cut\n" +
			"anywhere, on fresh instances, with little room for the answer, laid out in another way, so many that the arena is\n" +
			"full, and damaged. Every failure names the vector, what it wants and what it got.\n" +
			"Exit code 1: something failed, or a plug-in is missing that was not left out by --only.",
		Example: "  tidemark plugin conformance build/ --only probe,stats",
		Args:    exactly(1, "the folder of the modules"),
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "check these alone: NAME,…")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return checkConformance(cmd.Context(), cmd.OutOrStdout(), args[0], only)
	}
	return cmd
}

func checkConformance(ctx context.Context, w io.Writer, dir string, only []string) (err error) {
	for _, name := range only {
		if !slices.Contains(conformance.Plugins(), name) {
			return usagef("plugin conformance: --only: there is no standard plug-in %s, they are %s", name, strings.Join(conformance.Plugins(), ", "))
		}
	}
	if info, err := os.Stat(dir); err != nil {
		return fault.As(fault.ErrUser, err)
	} else if !info.IsDir() {
		return fault.Userf("%s is not a directory: name the one that the modules lie in", dir)
	}
	cache, _ := cacheDir() // without one machine code is kept in memory, which changes nothing here
	kit, err := conformance.Open(ctx, cache)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kit.Close(context.WithoutCancel(ctx))) }()
	passed, failed, missing := 0, 0, 0
	for _, name := range conformance.Plugins() {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		path := filepath.Join(dir, name+".wasm")
		module, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing++
			fmt.Fprintf(w, "%-17s missing: there is no %s\n", name, path)
			continue
		case err != nil:
			return fault.As(fault.ErrUser, err)
		}
		report, err := kit.Check(ctx, name, module)
		if err != nil {
			return err
		}
		if len(report.Failures) == 0 {
			passed++
			fmt.Fprintf(w, "%-17s passed: %s in %s\n", name, count(int64(report.Vectors), "vector"), count(int64(report.Frames), "frame"))
			continue
		}
		failed++
		showConformance(w, report)
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d missing\n", passed, failed, missing)
	if failed+missing > 0 {
		return &quietError{exitFailed}
	}
	return nil
}

func showConformance(w io.Writer, r *conformance.Report) {
	fmt.Fprintf(w, "%-17s FAILED: %s\n", r.Plugin, count(int64(len(r.Failures)), "failure"))
	for _, f := range r.Failures {
		fmt.Fprintf(w, "  %s: %s\n    want  %s\n    got   %s\n", f.Where, f.What,
			strings.ReplaceAll(f.Want, "\n", "\n          "), strings.ReplaceAll(f.Got, "\n", "\n          "))
	}
}
