package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tidemark/engine"
	"tidemark/engine/harness"
	"tidemark/engine/job"
	"tidemark/host/controller"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

func newTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE.yaml…",
		Short: "run tests of a job: records in, rows out",
		Long: "Runs files of tests (docs/testing.md). Each names a job file and says what happens to the job, step by\n" +
			"step, and which rows, late and bad records must have come out of it behind a step. The records are in the\n" +
			"test: inputs and outputs of the job are not touched. The clock is a virtual one, so nothing waits.\n\n" +
			"A test that fails is printed with the differences; the last line is \"N passed, M failed\".",
		Example: "  tidemark test configs/weblog_uvpv.test.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s wants files of tests; %s --help tells more", name(cmd), cmd.CommandPath())
			}
			return nil
		},
	}
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		return testJobs(cmd.Context(), cmd.OutOrStdout(), files)
	}
	return cmd
}

// testJobs reads all files, and loads their jobs, before any test runs.
func testJobs(ctx context.Context, out io.Writer, files []string) (err error) {
	dir, _ := cacheDir() // without one they are kept in memory, which changes nothing here
	modules, err := controller.OpenModules(ctx, env.Real(), dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, modules.Close(context.Background())) }()
	var all []*jobTests
	var wrong []error
	for _, name := range files {
		f, ferr := openTests(name, modules)
		if ferr != nil {
			wrong = append(wrong, ferr)
			continue
		}
		all = append(all, f)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	for _, f := range all {
		if len(f.graph.Plugins) > 0 && !supervised() {
			return supervise(ctx)
		}
	}
	passed, failed := 0, 0
	for _, f := range all {
		for i := range f.Tests {
			t := &f.Tests[i]
			diff, err := t.Run(ctx, f.graph, modules)
			switch {
			case err != nil:
				return fmt.Errorf("%s: %s: %w", f.file, t.Name, err)
			case diff == "":
				passed++
			default:
				failed++
				fmt.Fprintf(out, "%s: %s\n  %s\n", f.file, t.Name, diff)
			}
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return &quietError{exitFailed}
	}
	return nil
}

// jobTests is a file of tests with its job.
type jobTests struct {
	*harness.JobTests
	file  string
	graph *job.Graph
}

func openTests(file string, modules *controller.ModuleCache) (*jobTests, error) {
	text, err := readTestedFile("test file", file)
	if err != nil {
		return nil, err
	}
	tests, err := harness.ReadJobTests(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	name := tests.Job
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(file), name)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("job file %s: %w", name, err)
	}
	yaml, err := readTestedFile("job file", path)
	if err != nil {
		return nil, err
	}
	// The files that the job names are not asked for: it must load without its data.
	g, err := job.Load(yaml, job.LoadOptions{Name: name, Dir: filepath.Dir(path), Env: os.LookupEnv, Set: tests.Set, Resolver: testResolver{modules: modules}})
	if err != nil {
		return nil, err
	}
	return &jobTests{tests, file, g}, nil
}

// testResolver finds functions: the engine's own, and plug-ins in their files.
type testResolver struct {
	engine.Builtins
	modules *controller.ModuleCache
}

func (r testResolver) Plugin(p *job.Plugin) (job.FunctionInfo, error) { return r.modules.Describe(p) }

func readTestedFile(what, name string) ([]byte, error) {
	text, err := readJobFile(name)
	if err == nil {
		return text, nil
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return nil, fault.Userf("%s %s: %w", what, name, err)
}
