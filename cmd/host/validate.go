package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/engine/window"
)

func newValidateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate JOB.yaml",
		Short: "check a job file and print its settings with their origin",
		Long: "Checks a job file without running it: all that is wrong at once, with line, column and the likely\n" +
			"fix. Of a job that is right it prints every setting in force and where it comes from, the plan, and\n" +
			"what was checked.",
		Args: exactly(1, "a job file"),
	}
	out := outputFlag(cmd, asTable, asJSON, asYAML)
	set := setFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		j, err := openJob(cmd.Context(), args[0], *set)
		if err != nil {
			return err
		}
		v := validationOf(j)
		if err := j.Close(); err != nil {
			return err
		}
		if *out != asTable {
			return out.emit(cmd.OutOrStdout(), v)
		}
		v.write(cmd.OutOrStdout())
		return nil
	}
	return cmd
}

// validation is what validate tells of a job that is right.
type validation struct {
	Job      string    `json:"job"`
	Settings []setting `json:"settings"`
	Plan     []plan    `json:"plan"`
	Checks   []check   `json:"checks"`
}

type setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// plan is how a step will be computed, and why so (rules P1 to P4).
type plan struct {
	Step     string `json:"step"`
	Contents string `json:"contents"`
	Trigger  string `json:"trigger"`
	Why      string `json:"why"`
	Cost     string `json:"cost"`
}

type check struct {
	What  string `json:"what"`
	Found string `json:"found"`
}

func validationOf(j *localJob) *validation {
	g := j.Graph
	v := &validation{Job: g.Name}
	for _, s := range g.Effective {
		v.Settings = append(v.Settings, setting(s))
	}
	for i := range g.Steps {
		v.Plan = append(v.Plan, planOf(g, &g.Steps[i]))
	}
	for _, p := range g.Plugins {
		v.Checks = append(v.Checks, check{"plug-in " + p.Name, fmt.Sprintf("%s, sha256:%s", short(p.File), p.Digest)})
	}
	for i := range g.Sources {
		s := &g.Sources[i]
		v.Checks = append(v.Checks, check{"source " + s.ID, filesText(s)})
		v.Checks = append(v.Checks, check{"clock of " + s.ID, timeText(s)})
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		found := "the fields and expressions that it names, of " + join(s.From, "and")
		if len(s.Aggregates) > 0 {
			found = fmt.Sprintf("%s of %s, with the columns that its functions take", count(int64(len(s.Aggregates)), "function"), join(s.From, "and"))
		}
		if s.Apply != nil {
			found += "; pair function " + s.Apply.Plugin
		}
		if s.Process != nil {
			found += fmt.Sprintf("; process function %s, with %s", s.Process.Plugin, count(int64(1+len(s.Process.Side)), "output"))
		}
		v.Checks = append(v.Checks, check{"step " + s.ID, found})
	}
	for i := range g.Sinks {
		s := &g.Sinks[i]
		v.Checks = append(v.Checks, check{"sink " + s.ID, s.From.String() + " to " + targetText(s)})
	}
	return v
}

// planOf says how a step keeps what it has taken and what decides that it fires.
func planOf(g *job.Graph, s *job.Step) plan {
	p := plan{Step: s.ID, Trigger: "native"}
	w, overlap := s.Window, s.Overlap()
	callbacks := "the trigger is called once for each record"
	if overlap > 1 {
		callbacks = fmt.Sprintf("the trigger is called %s for each record, once for each window that holds it", count(overlap, "time"))
	}
	if w == nil && s.Join == nil {
		p.Contents, p.Trigger = "none", "none"
		p.Why, p.Cost = "each record is dealt with by itself", "no state"
		return p
	}
	through := ""
	if s.Apply != nil {
		through = "; pair function " + s.Apply.Plugin + " makes the rows"
	}
	if w == nil {
		p.Contents, p.Trigger = "elements", "none"
		p.Why, p.Cost = "a record is paired when it comes with those of the other side that are there"+through, "each record, until none can come that it would pair with"
		return p
	}
	c := engine.PlanOf(g, s)
	p.Contents, p.Why = string(c.Contents), c.Reason+through
	for t := s.Trigger; t != nil; t = t.Inner {
		if t.Kind == job.TriggerPlugin {
			p.Trigger = "plug-in " + t.Plugin
		}
	}
	if s.Process != nil {
		p.Why += "; process function " + s.Process.Plugin + " is shown each firing"
	}
	switch {
	case c.Contents == window.Elements:
		p.Cost = fmt.Sprintf("each record in %s; %s", count(overlap, "window"), callbacks)
	case c.Contents == window.SliceRun && c.Bulk:
		p.Cost = "one accumulator for each key and slice; a record touches one"
	case c.Contents == window.SliceRun:
		p.Cost = "one accumulator for each key and slice; a record touches one; " + callbacks
	case c.Bulk:
		p.Cost = "one accumulator for each key and open window; a record touches one"
	default:
		p.Cost = fmt.Sprintf("one accumulator for each key and open window; a record touches %d; %s", overlap, callbacks)
	}
	switch {
	case c.Local && len(s.Key) == 0:
		p.Cost += "; the task gets one partial for each file and slice, and records that are late as they are"
	case c.Local:
		p.Cost += fmt.Sprintf("; tasks get one partial for each file, slice and one of up to %s in it, and other records as they are", count(int64(s.HotKeys), "key"))
	}
	return p
}

// filesText says what a source's path stands for now.
func filesText(s *job.Source) string {
	if s.File.Path == "-" {
		return "standard input, which cannot be read a second time"
	}
	names := []string{s.File.Path}
	if s.File.Glob {
		names, _ = filepath.Glob(s.File.Path) // the pattern was checked
	}
	var bytes int64
	for _, n := range names {
		if info, err := os.Stat(n); err == nil {
			bytes += info.Size()
		}
	}
	text := fmt.Sprintf("%s, %s", count(int64(len(names)), "file"), count(bytes, "byte"))
	if s.File.Follow {
		text += ", followed"
	}
	return text
}

func (v *validation) write(w io.Writer) {
	fmt.Fprintf(w, "job %s is valid\n\n", v.Job)
	settings := newTable("setting", "value", "from")
	for _, s := range v.Settings {
		settings.add(s.Key, clip(s.Value, 60), s.Origin)
	}
	settings.write(w, "")
	fmt.Fprintln(w)
	plans := newTable("step", "contents", "trigger")
	for _, p := range v.Plan {
		plans.add(p.Step, p.Contents, p.Trigger)
	}
	plans.write(w, "")
	why := map[string][]string{}
	var order []string
	for _, p := range v.Plan {
		text := p.Why + ". Cost: " + p.Cost + "."
		if why[text] == nil {
			order = append(order, text)
		}
		why[text] = append(why[text], p.Step)
	}
	for _, text := range order {
		fmt.Fprintf(w, "  %s: %s\n", strings.Join(why[text], ", "), text)
	}
	fmt.Fprintln(w)
	checks := newTable("checked", "found")
	for _, c := range v.Checks {
		checks.add(c.What, c.Found)
	}
	checks.write(w, "")
}
