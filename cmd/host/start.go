package main

import (
	"fmt"
	"io"
	"strings"

	"tidemark/engine/job"
)

// describeStart prints the settings that matter: what is read, how time is told, how
// records are grouped, and where everything goes.
func describeStart(w io.Writer, j *localJob, complete bool) {
	g := j.Graph
	order := "rows leave as they come"
	if g.Settings.OrderReplay {
		order = "ordered replay"
	}
	fmt.Fprintf(w, "job %s: parallelism %d, %s, batches of %s\n", g.Name, g.Parallelism, order, count(int64(g.Settings.BatchRows), "row"))
	for i := range g.Sources {
		s := &g.Sources[i]
		fmt.Fprintf(w, "source %s: %s, %s\n", s.ID, inputText(s), s.Format.Kind)
		fmt.Fprintf(w, "  time: %s\n", timeText(s))
		fmt.Fprintf(w, "  watermark: %s\n", watermarkText(s, complete))
		fmt.Fprintf(w, "  budget of bad records: %s, or %g %% if that is more\n", thousands(g.Settings.BadBudget.Count), 100*g.Settings.BadBudget.Share)
	}
	for i := range g.Steps {
		fmt.Fprintf(w, "step %s: %s\n", g.Steps[i].ID, stepText(&g.Steps[i]))
	}
	for i := range g.Sinks {
		s := &g.Sinks[i]
		note := ""
		if s.Default {
			note = " (by default)"
		}
		fmt.Fprintf(w, "sink %s: %s to %s%s\n", s.ID, s.From, targetText(s), note)
	}
	fmt.Fprintln(w)
}

func inputText(s *job.Source) string {
	switch {
	case s.File.Path == "-":
		return "standard input"
	case s.File.Follow:
		return short(s.File.Path) + ", followed"
	}
	return short(s.File.Path)
}

func timeText(s *job.Source) string {
	t := &s.Time
	text := strings.Join(t.Path, ".") + " in " + t.Unit
	if t.Unit == "layout" {
		text = strings.Join(t.Path, ".") + " as " + t.Layout
		if t.Zone != "" {
			text += " in " + t.Zone
		}
	}
	switch {
	case t.MaxFuture == 0:
		text += "; clocks that are ahead are believed (max_future: off)"
	default:
		text += fmt.Sprintf("; quarantined if more than %s ahead of %s", job.FormatDuration(t.MaxFuture), arrivalText(s))
	}
	if t.MaxJump > 0 {
		text += fmt.Sprintf(", or %s ahead of the latest before", job.FormatDuration(t.MaxJump))
	}
	return text
}

// arrivalText says what a record's time is compared with, and whether a second run
// will come to the same judgement.
func arrivalText(s *job.Source) string {
	switch {
	case len(s.Time.Arrival) > 0:
		return strings.Join(s.Time.Arrival, ".")
	case s.Bounded() && s.File.Path != "-":
		return "the file's last change and the job's first start, whichever is later"
	}
	return "this machine's clock (a replay may judge otherwise)"
}

func watermarkText(s *job.Source, complete bool) string {
	w := &s.Watermark
	if complete {
		return "held to the end of the input (--complete)"
	}
	text := job.FormatDuration(w.OutOfOrderness) + " behind the latest record, "
	switch {
	case w.Emit.Record:
		text += "after each record"
	case w.Emit.Every > 0:
		text += fmt.Sprintf("after every %d records", w.Emit.Every)
	default:
		text += "every " + job.FormatDuration(w.Emit.Period)
	}
	switch {
	case s.Bounded():
	case w.IdleTimeout == 0:
		text += "; never idle"
	default:
		text += "; idle after " + job.FormatDuration(w.IdleTimeout)
	}
	return text
}

func stepText(s *job.Step) string {
	text := join(s.From, "and")
	if len(s.Key) > 0 {
		text += " by " + strings.Join(s.Key, ", ")
	} else {
		text += " over all keys"
	}
	text += ", " + s.Window.Kind + " " + job.FormatDuration(s.Window.Size)
	if s.Window.Offset != 0 {
		text += " offset " + job.FormatDuration(s.Window.Offset)
	}
	text += ", allowed lateness " + job.FormatDuration(s.AllowedLateness)
	var what []string
	for _, a := range s.Aggregates {
		f := a.Function
		if a.Plugin != "" {
			f = "plug-in " + a.Plugin
		}
		what = append(what, a.Name+" ("+f+")")
	}
	text += ": " + strings.Join(what, ", ")
	if s.OnError == job.DeadLetter {
		text += "; records that a function refuses go aside"
	}
	return text
}

func targetText(s *job.Sink) string {
	switch {
	case s.Stdout:
		return "standard output"
	case s.Memory > 0:
		return fmt.Sprintf("memory, the last %d rows", s.Memory)
	}
	return short(s.File)
}
