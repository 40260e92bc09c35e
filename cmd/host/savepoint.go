package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tidemark/host/api"
)

// newSavepointCommand makes `tidemark savepoint`: savepoints of jobs on a host.
func newSavepointCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "savepoint", Short: "take and list savepoints of jobs on a host", Args: exactly(0, "a subcommand")}
	cmd.AddCommand(newSavepointCreateCommand(), newSavepointListCommand())
	return cmd
}

func newSavepointCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create ID",
		Short: "have a running job take a savepoint, and wait for it",
		Long:  "Has a running job take a savepoint, and waits for it; the job goes on. It stays until the job is deleted. tidemark job stop --savepoint takes one and ends the job.",
		Args:  exactly(1, "the id of a job"),
	}
	r := shownFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		s, err := c.Savepoint(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return r.show(cmd.OutOrStdout(), s, func(w io.Writer) {
			t := newTable("savepoint", fmt.Sprint(s.ID))
			t.add("taken", takenText(s.Taken))
			t.add("bytes", thousands(s.Bytes))
			for _, line := range s.Summary {
				t.add(line.Of, line.Text)
			}
			t.write(w, "")
		})
	}
	return cmd
}

func newSavepointListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list ID", Short: "list the checkpoints and savepoints of a job", Args: exactly(1, "the id of a job")}
	r := shownFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := r.client()
		if err != nil {
			return err
		}
		all, err := c.Checkpoints(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return r.show(cmd.OutOrStdout(), api.SavedList{Checkpoints: all}, func(w io.Writer) {
			t := newTable(">id", "kind", "taken", ">bytes")
			for _, s := range all {
				if s.Damaged != "" {
					t.add("", "damaged: "+s.Damaged, "", "")
					continue
				}
				t.add(fmt.Sprint(s.ID), s.Kind, takenText(s.Taken), thousands(s.Bytes))
			}
			t.write(w, "")
		})
	}
	return cmd
}

func takenText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
