// Command tidemark runs windows over event time, with user-defined functions as
// WebAssembly plug-ins: a job file on this machine, or many on a host.
//
// Results go to standard output and everything else to standard error. Exit codes
// are in exit.go, signals in interrupt.go. One file a command; table.go, output.go and machine.go are what
// they share.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := interruptible(context.Background(), os.Stderr)
	code := execute(ctx, newRootCommand(), os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "tidemark",
		Short: "windows over event time, with your functions as WebAssembly plug-ins",
		Long: "Tidemark reads events, sorts them into windows of event time, lets built-in functions or your\n" +
			"WebAssembly plug-ins compute over them, and writes results, late records and bad records.\n\n" + exitCodes,
		Version:       release, // gives --version
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := ""
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return usagef("there is no command %q%s", args[0], hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if !cmd.HasParent() {
			return usagef("%w; %s --help lists the flags", err, cmd.CommandPath())
		}
		return usagef("%s: %w; %s --help lists the flags", name(cmd), err, cmd.CommandPath())
	})
	root.SetVersionTemplate(versionText(versionOf()))
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(
		newRunCommand(),
		newValidateCommand(),
		newPreviewCommand(),
		newTestCommand(),
		newDiffCommand(),
		newCheckpointCommand(),
		newServeCommand(),
		newJobCommand(),
		newSavepointCommand(),
		newTenantCommand(),
		newTokenCommand(),
		newPluginCommand(),
		newConformanceCommand(),
		newCompileCommand(),
		newVersionCommand(),
	)
	return root
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, root *cobra.Command, args []string, stderr io.Writer) int {
	started := false // behind the checks of flags and arguments
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		err = usageError{err}
	}
	if err != nil && context.Cause(ctx) == errInterrupted && errors.Is(err, context.Canceled) && !errors.Is(err, errInterrupted) {
		err = errInterrupted
	}
	var quiet *quietError
	if err != nil && !errors.As(err, &quiet) {
		tell(stderr, err)
	}
	return exitCode(err)
}

// exactly is for commands with fixed arguments; usage names them.
func exactly(n int, usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s wants %s; %s --help tells more", name(cmd), usage, cmd.CommandPath())
		}
		return nil
	}
}

// name is what a command is called in an error, behind the program's name.
func name(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
