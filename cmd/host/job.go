package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tidemark/host/api"
	"tidemark/internal/fault"
)

// newJobCommand makes `tidemark job`: what a tenant does with jobs on a host.
func newJobCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "job", Short: "submit, watch and stop jobs on a host", Args: exactly(0, "a subcommand")}
	cmd.AddCommand(newJobSubmitCommand(), newJobListCommand(), newJobGetCommand(), newJobResultsCommand(), newJobStopCommand(), newJobStartCommand(), newJobDeleteCommand())
	return cmd
}

// patience is the flags --wait and --timeout.
type patience struct {
	wait    bool
	timeout time.Duration
}

func patienceFlags(cmd *cobra.Command) *patience {
	p := &patience{}
	cmd.Flags().BoolVar(&p.wait, "wait", false, "wait until the job has ended; exit 1 if it failed, 4 if it was stopped")
	cmd.Flags().DurationVar(&p.timeout, "timeout", 0, "give up after this time (exit 124); the job goes on")
	return p
}

// within bounds a command's time.
func (p *patience) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, p.timeout)
}

func newJobSubmitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "submit a job file and start the job",
		Long: "Submit a job file (- is standard input) and start the job. All problems of the file are reported at once.\n" +
			"With --id the same command may be given again: it starts nothing twice.",
		Args: exactly(1, "a job file"),
	}
	r, p := shownFlags(cmd), patienceFlags(cmd)
	id := cmd.Flags().String("id", "", "id of the job (else the host chooses one)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		file, err := readArgument(cmd.InOrStdin(), args[0])
		if err != nil {
			return err
		}
		ctx, cancel := p.within(cmd.Context())
		defer cancel()
		j, err := c.Submit(ctx, *id, args[0], file)
		if err != nil {
			return err
		}
		return r.showJob(ctx, cmd.OutOrStdout(), c, j, p.wait)
	}
	return cmd
}

// readArgument reads a file, or standard input for "-".
func readArgument(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		raw, err := io.ReadAll(stdin)
		return raw, fault.As(fault.ErrExternal, err)
	}
	raw, err := os.ReadFile(name)
	return raw, fault.As(fault.ErrUser, err)
}

func newJobListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list the tenant's jobs, the newest first", Args: exactly(0, "no arguments")}
	r := shownFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		jobs, err := c.Jobs(cmd.Context())
		if err != nil {
			return err
		}
		return r.show(cmd.OutOrStdout(), api.Jobs{Jobs: jobs}, func(w io.Writer) {
			t := newTable("id", "job", "state", "created", "message")
			for _, j := range jobs {
				t.add(j.ID, j.Name, j.State, j.Created.Format(time.RFC3339), clip(j.Message, 80))
			}
			t.write(w, "")
		})
	}
	return cmd
}

func newJobGetCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "get ID", Short: "show a job: state, ledger, watermarks", Args: exactly(1, "the id of a job")}
	r, p := shownFlags(cmd), patienceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		ctx, cancel := p.within(cmd.Context())
		defer cancel()
		j, err := c.Job(ctx, args[0], 0)
		if err != nil {
			return err
		}
		return r.showJob(ctx, cmd.OutOrStdout(), c, j, p.wait)
	}
	return cmd
}

func newJobResultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "results ID",
		Short: "print what a job has written, as JSON lines",
		Long: "Print what a job has written, as JSON lines. Of a job that runs, what has reached the disk; with --wait all of it,\n" +
			"up to the end of the job.",
		Args: exactly(1, "the id of a job"),
	}
	r, p := remoteFlags(cmd), patienceFlags(cmd)
	port := cmd.Flags().String("port", "results", "results, late, failed, bad, or the name of a side output")
	of := cmd.Flags().String("of", "", "the step or source, where several have the port")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		ctx, cancel := p.within(cmd.Context())
		defer cancel()
		var j api.Job
		if p.wait {
			if j, err = waitForEnd(ctx, c, args[0]); err != nil {
				return err
			}
		}
		piece, err := c.Results(ctx, args[0], *port, *of, 0)
		if err != nil {
			return err
		}
		_, err = io.Copy(cmd.OutOrStdout(), piece)
		if cerr := piece.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fault.As(fault.ErrExternal, fmt.Errorf("results: %w", err))
		}
		if !piece.Complete {
			fmt.Fprintln(cmd.ErrOrStderr(), "tidemark: not complete: the job has not published this output")
		}
		if p.wait {
			return outcome(j)
		}
		return nil
	}
	return cmd
}

func newJobStopCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "stop ID", Short: "end a job; nothing is fired unless it drains", Args: exactly(1, "the id of a job")}
	r := shownFlags(cmd)
	savepoint := cmd.Flags().Bool("savepoint", false, "take a savepoint first; if that fails the job goes on")
	drain := cmd.Flags().Bool("drain", false, "let it end as if its input did: what was read is worked on, and windows whose time had not come give rows of the kind incomplete")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		if *savepoint && *drain {
			return usagef("job stop: --savepoint and --drain exclude each other: what a drain fires would be fired again by whoever goes on from the savepoint")
		}
		j, err := c.Stop(cmd.Context(), args[0], *savepoint, *drain)
		if err != nil {
			return err
		}
		return r.showJob(cmd.Context(), cmd.OutOrStdout(), c, j, false)
	}
	return cmd
}

func newJobStartCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start ID [FILE]",
		Short: "have a job that was stopped, has failed or was interrupted go on",
		Long: "Has a job go on from its last checkpoint, or with --from from another checkpoint or savepoint of its own, under its job file or\n" +
			"the one given. State that does not fit a changed file is refused with the reason unless --drop-state names the operator.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("%s wants the id of a job, and a job file if it has changed; %s --help tells more", name(cmd), cmd.CommandPath())
			}
			return nil
		},
	}
	r := shownFlags(cmd)
	from := cmd.Flags().Uint64("from", 0, "number of a checkpoint or savepoint, as savepoint list shows it (else the last checkpoint)")
	drop := cmd.Flags().StringArray("drop-state", nil, "give up the state of this operator; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		var file []byte
		name := ""
		if len(args) == 2 {
			name = args[1]
			if file, err = readArgument(cmd.InOrStdin(), name); err != nil {
				return err
			}
		}
		j, err := c.Start(cmd.Context(), args[0], *from, *drop, name, file)
		if err != nil {
			return err
		}
		return r.showJob(cmd.Context(), cmd.OutOrStdout(), c, j, false)
	}
	return cmd
}

func newJobDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "delete ID", Short: "forget a job that has ended, with all that it wrote", Args: exactly(1, "the id of a job")}
	r := remoteFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		return c.Delete(cmd.Context(), args[0])
	}
	return cmd
}
