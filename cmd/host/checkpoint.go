package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/host/controller"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// newCheckpointCommand makes `tidemark checkpoint`: what lies in a place of checkpoints.
func newCheckpointCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "checkpoint", Short: "look at checkpoints and savepoints on this machine", Args: exactly(0, "a subcommand")}
	cmd.AddCommand(newCheckpointListCommand(), newCheckpointInspectCommand())
	return cmd
}

// checkpointPlace is where the checkpoints lie that an argument names: a job file, for those
// of its job, or the place itself.
func checkpointPlace(ctx context.Context, arg, state string, set []string) (place string, err error) {
	if !strings.HasSuffix(arg, ".yaml") && !strings.HasSuffix(arg, ".yml") {
		return absolutePlace(arg)
	}
	j, err := openJob(ctx, arg, set)
	if err != nil {
		return "", err
	}
	if err := j.Close(); err != nil {
		return "", err
	}
	return placeOf(j, state)
}

// absolutePlace makes a directory absolute; the name of a bucket is as it is.
func absolutePlace(arg string) (string, error) {
	if strings.Contains(arg, "://") {
		return arg, nil
	}
	place, err := filepath.Abs(arg)
	return place, fault.As(fault.ErrExternal, err)
}

// placeOf is where the checkpoints of a job lie. dir is --state.
func placeOf(j *localJob, dir string) (string, error) {
	if c := j.Graph.Settings.Checkpoint; c != nil && c.Dir != "" {
		return c.Dir, nil
	}
	if dir == "" {
		dir = stateDir()
	}
	if dir == "" {
		return "", fault.Externalf("there is no home directory to keep checkpoints in; say --state DIR, or settings.checkpoint.dir")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.As(fault.ErrExternal, err)
	}
	return controller.CheckpointDir(dir, j.path, j.Graph.Name), nil
}

// stateFlag adds --state.
func stateFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("state", "", "directory of what runs remember: first starts, and checkpoints without a place of their own (default $XDG_STATE_HOME/tidemark)")
}

// listedCheckpoint is a checkpoint in a list.
type listedCheckpoint struct {
	ID      uint64 `json:"id"`
	Kind    string `json:"kind"`
	Job     string `json:"job"`
	Taken   string `json:"taken"`
	Bytes   int64  `json:"bytes"`
	Reused  int64  `json:"reused"` // of Bytes, those in files of earlier ones
	Path    string `json:"path"`
	Damaged string `json:"damaged,omitempty"` // why it cannot be read; then there is nothing but the path
}

func newCheckpointListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list DIR|JOB.yaml",
		Short:   "list the checkpoints and savepoints in a directory, or of a job file's job",
		Example: "  tidemark checkpoint list configs/quakes.yaml\n  tidemark checkpoint list state/quakes -o json",
		Args:    exactly(1, "a directory of checkpoints, or a job file"),
	}
	form := outputFlag(cmd, asTable, asJSON, asYAML)
	set, state := setFlag(cmd), stateFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		place, err := checkpointPlace(cmd.Context(), args[0], *state, *set)
		if err != nil {
			return err
		}
		log, err := controller.OpenCheckpoints(env.Real(), place, os.LookupEnv)
		if err != nil {
			return err
		}
		entries, err := log.List(cmd.Context())
		if err != nil {
			return err
		}
		list := []listedCheckpoint{}
		for _, e := range entries {
			l := listedCheckpoint{ID: e.Meta.ID, Kind: string(e.Meta.Kind), Job: e.Meta.Job, Bytes: e.Size, Reused: e.Reused, Path: e.Path}
			if e.Err != nil {
				l.Damaged = e.Err.Error()
			} else {
				l.Taken = instantText(e.Meta.Taken)
			}
			list = append(list, l)
		}
		if *form != asTable {
			return form.emit(cmd.OutOrStdout(), list)
		}
		if len(list) == 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "there are no checkpoints in %s\n", short(place))
			return nil
		}
		t := newTable(">id", "kind", "job", "taken", ">bytes", ">reused", "path")
		for _, l := range list {
			if l.Damaged != "" {
				t.add("", "damaged", "", "", "", "", short(l.Path)+": "+l.Damaged)
				continue
			}
			t.add(fmt.Sprint(l.ID), l.Kind, l.Job, l.Taken, thousands(l.Bytes), thousands(l.Reused), short(l.Path))
		}
		t.write(cmd.OutOrStdout(), "")
		return nil
	}
	return cmd
}

// instantText writes processing time for people.
func instantText(t stream.Time) string {
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// inspection is what `checkpoint inspect` tells.
type inspection struct {
	Path           string              `json:"path"`
	ID             uint64              `json:"id"`
	Generation     uint64              `json:"generation"`
	Kind           string              `json:"kind"`
	Job            string              `json:"job"`
	Plan           string              `json:"plan"`
	Taken          string              `json:"taken"`
	FirstStart     string              `json:"first_start"`
	MaxParallelism int                 `json:"max_parallelism"`
	Bytes          int64               `json:"bytes"`
	Reused         int64               `json:"reused"` // of Bytes, those in files of earlier ones
	Summary        []summaryLine       `json:"summary"`
	Operators      []inspectedOperator `json:"operators"`
	Plugins        []inspectedPlugin   `json:"plugins"`
}

type summaryLine struct {
	Of   string `json:"of"`
	Text string `json:"text"`
}

type inspectedOperator struct {
	ID          string              `json:"id"`
	Kind        string              `json:"kind"`
	Parallelism int                 `json:"parallelism"`
	Sections    []inspectedSections `json:"sections"`
	Description []job.Part          `json:"description"`
}

// inspectedSections are the sections of one kind of an operator.
type inspectedSections struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
}

type inspectedPlugin struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Schema uint32 `json:"schema"`
}

func newCheckpointInspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect CHECKPOINT|DIR|JOB.yaml",
		Short: "show what is in a checkpoint",
		Long: "Reads a checkpoint, with all checksums, and shows what it is of, how far the job was, and what each operator keeps.\n" +
			"CHECKPOINT is the path of a manifest, as list shows it; of a directory or a job file, the newest one is shown.",
		Example: "  tidemark checkpoint inspect configs/quakes.yaml\n  tidemark checkpoint inspect state/quakes/log-000000000012",
		Args:    exactly(1, "a checkpoint, a directory of checkpoints, or a job file"),
	}
	form := outputFlag(cmd, asTable, asJSON, asYAML)
	set, state := setFlag(cmd), stateFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := checkpointPlace(cmd.Context(), args[0], *state, *set)
		if err != nil {
			return err
		}
		c, err := controller.FindCheckpoint(cmd.Context(), env.Real(), name, os.LookupEnv)
		if err != nil {
			return err
		}
		v, err := inspect(c)
		if err != nil {
			return err
		}
		if *form != asTable {
			return form.emit(cmd.OutOrStdout(), v)
		}
		v.write(cmd.OutOrStdout())
		return nil
	}
	return cmd
}

// inspect reads what a checkpoint says of itself.
func inspect(c *checkpoint.Checkpoint) (*inspection, error) {
	m := &c.Meta
	v := &inspection{
		Path: c.Path(), ID: m.ID, Generation: m.Generation, Kind: string(m.Kind), Job: m.Job, Plan: m.Plan, Taken: instantText(m.Taken), FirstStart: instantText(m.FirstStart),
		MaxParallelism: m.MaxParallelism, Bytes: c.Size(), Reused: c.Reused(), Summary: []summaryLine{}, Operators: []inspectedOperator{}, Plugins: []inspectedPlugin{},
	}
	for _, s := range m.Summary {
		v.Summary = append(v.Summary, summaryLine{s.Key, s.Value})
	}
	for _, info := range m.Operators {
		described, err := job.ParseOperator(info.ID, info.Kind, info.Description)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", c.Path(), err)
		}
		op := inspectedOperator{ID: info.ID, Kind: info.Kind, Parallelism: info.Parallelism, Sections: []inspectedSections{}, Description: described.Parts}
		for _, ref := range c.Refs() {
			if ref.Operator != info.ID {
				continue
			}
			i := slices.IndexFunc(op.Sections, func(s inspectedSections) bool { return s.Kind == ref.Kind })
			if i < 0 {
				i = len(op.Sections)
				op.Sections = append(op.Sections, inspectedSections{Kind: ref.Kind})
			}
			op.Sections[i].Count++
			op.Sections[i].Bytes += ref.Size()
		}
		v.Operators = append(v.Operators, op)
	}
	for _, p := range m.Plugins {
		v.Plugins = append(v.Plugins, inspectedPlugin(p))
	}
	return v, nil
}

// write prints it for people.
func (v *inspection) write(w io.Writer) {
	t := newTable("checkpoint", fmt.Sprint(v.ID))
	t.add("path", short(v.Path))
	t.add("kind", v.Kind)
	t.add("job", v.Job)
	t.add("taken", v.Taken)
	t.add("first start", v.FirstStart)
	t.add("plan", v.Plan)
	t.add("max_parallelism", fmt.Sprint(v.MaxParallelism))
	t.add("bytes", thousands(v.Bytes))
	t.add("reused", thousands(v.Reused)+" of them, in files of earlier ones")
	for _, s := range v.Summary {
		t.add(s.Of, s.Text)
	}
	for _, p := range v.Plugins {
		t.add("plug-in "+p.Name, fmt.Sprintf("sha256:%s, schema %d", p.Digest, p.Schema))
	}
	t.write(w, "")
	fmt.Fprintln(w)
	ops := newTable("operator", "kind", ">parallelism", ">bytes", "sections")
	for _, op := range v.Operators {
		var bytes int64
		var kinds []string
		for _, s := range op.Sections {
			bytes += s.Bytes
			kinds = append(kinds, fmt.Sprintf("%d of %s", s.Count, s.Kind))
		}
		ops.add(operatorName(op), op.Kind, fmt.Sprint(op.Parallelism), thousands(bytes), strings.Join(kinds, ", "))
	}
	ops.write(w, "")
	for _, op := range v.Operators {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(op.Kind+" "+op.ID))
		parts := newTable("part", "value")
		for _, p := range op.Description {
			parts.add(p.Name, p.Value)
		}
		parts.write(w, "  ")
	}
}

// operatorName is what a table calls an operator; the job has no id.
func operatorName(op inspectedOperator) string {
	if op.ID == "" {
		return "(the job)"
	}
	return op.ID
}
