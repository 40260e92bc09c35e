package main

import (
	"context"
	"fmt"
	"io"

	"tidemark/host/api"
	"tidemark/host/client"
	"tidemark/host/controller"
	"tidemark/internal/fault"
)

// showJob shows a job, at its end if wait is set; then a job that did not finish is
// an error.
func (r *remote) showJob(ctx context.Context, out io.Writer, c *client.Client, j api.Job, wait bool) (err error) {
	if wait {
		if j, err = waitForEnd(ctx, c, j.ID); err != nil {
			return err
		}
	}
	if err := r.show(out, j, func(w io.Writer) { jobTable(w, j) }); err != nil || !wait {
		return err
	}
	return outcome(j)
}

// outcome is the error of a command that waited for a job which did not finish.
func outcome(j api.Job) error {
	switch controller.State(j.State) {
	case controller.Finished:
		return nil
	case controller.Failed:
		return failedError{fmt.Errorf("job %s failed: %s", j.ID, j.Message)}
	}
	return fault.Conflictf("job %s is %s", j.ID, j.State)
}

// jobTable prints a job for people.
func jobTable(out io.Writer, j api.Job) {
	t := newTable("id", j.ID)
	t.add("job", j.Name)
	switch {
	case j.Silent:
		t.add("state", j.State+" (it does not answer: a plug-in takes long for a batch; the numbers are old)")
	case controller.State(j.State) == controller.Stopping:
		t.add("state", j.State+" (a task has not come back yet)")
	default:
		t.add("state", j.State)
	}
	if j.Message != "" {
		t.add("message", j.Message)
	}
	for _, text := range j.Warnings {
		t.add("warning", text)
	}
	if c := j.CPU; c != nil {
		t.add("cpu", fmt.Sprintf("%.3f s in %s, %.3f s waited for them; plug-ins burnt %s fuel", c.Seconds, count(c.Turns, "turn"), c.WaitedSeconds, thousands(c.Fuel)))
	}
	if c := j.Checkpoints; c != nil {
		text := fmt.Sprintf("%s completed, %s failed", thousands(c.Completed), thousands(c.Failed))
		if c.Last > 0 && c.LastAt != nil {
			text += fmt.Sprintf("; the last one, %d, at %s: %.3f s, %s", c.Last, c.LastAt.UTC().Format("2006-01-02T15:04:05Z"), c.LastSeconds, count(c.LastBytes, "byte"))
		}
		t.add("checkpoints", text)
		if c.LastFailure != "" {
			t.add("  last failure", c.LastFailure)
		}
		if c.Restarts > 0 {
			t.add("restarts", thousands(c.Restarts))
		}
		if c.Restored > 0 {
			t.add("restored", fmt.Sprintf("checkpoint %d", c.Restored))
		}
	}
	if s := j.Savepoint; s != nil {
		t.add("savepoint", fmt.Sprint(s.ID))
	}
	if j.Report != nil {
		for _, s := range j.Report.Sources {
			sourceTable(t, s)
		}
		for _, s := range j.Report.Steps {
			stepTable(t, s)
		}
		for _, text := range j.Report.Apart {
			t.add("note", text)
		}
	}
	t.write(out, "")
}

func sourceTable(t *table, s api.Source) {
	t.add("source "+s.ID, fmt.Sprintf("read %s = bad %s + quarantined %s + passed on %s",
		thousands(s.Read), thousands(s.Bad), thousands(s.Quarantined), thousands(s.Passed)))
	for _, p := range s.Splits {
		note := ""
		if p.Finished {
			note = ", finished"
		} else if p.Idle {
			note = ", idle"
		}
		t.add("  split "+p.ID, fmt.Sprintf("read %s, highest time %s, watermark %s%s", thousands(p.Read), orNone(p.High), orNone(p.Watermark), note))
	}
}

func stepTable(t *table, s api.Step) {
	t.add("step "+s.ID, fmt.Sprintf("%s, %s, %s, watermark %s",
		count(s.Rows, "result row"), count(s.Updates, "update"), count(s.Panes, "open pane"), orNone(s.Watermark)))
	for _, in := range s.Inputs {
		t.add("  from "+in.Source, fmt.Sprintf("passed on = filtered %s + failed %s + late %s + no window %s + counted %s",
			thousands(in.Filtered), thousands(in.Failed), thousands(in.Late), thousands(in.NoWindow), thousands(in.Counted)))
		t.add("", fmt.Sprintf("counted = open %s + fired %s + unfired %s", thousands(in.Open), thousands(in.Fired), thousands(in.Unfired)))
	}
	for _, d := range s.Disabled {
		t.add("  disabled", disabledText(d.Plugin, d.Parts, d.SetAside, d.Reason))
	}
}

func orNone(t *api.Time) string {
	if t == nil {
		return "none"
	}
	return string(*t)
}
