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
	if s.Watermark.Kind == job.IngestionWatermark {
		return "when a record is read (a replay has other times)"
	}
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
	text := ""
	switch {
	case w.Kind == job.NoWatermark:
		return "none: event time does not move"
	case complete:
		return "held to the end of the input (--complete)"
	case w.Kind == job.AscendingWatermark:
		text = "at the latest record, which others do not fall behind"
	case w.Kind == job.MarkerWatermark && w.MarkerForAll:
		return "at each record with " + w.Marker + ", for all splits" + idleText(s)
	case w.Kind == job.MarkerWatermark:
		return "at each record with " + w.Marker + idleText(s)
	case w.Kind == job.DelayWatermark:
		text = strings.Join(w.DelayField, ".") + " ms behind the record that says so"
	case w.Kind == job.PluginWatermark:
		text = "as plug-in " + w.Plugin + " says"
	case w.Kind == job.IngestionWatermark:
		text = "at the clock"
	default:
		text = job.FormatDuration(w.OutOfOrderness) + " behind the latest record"
	}
	switch {
	case w.Emit.Record:
		text += ", after each record"
	case w.Emit.Every > 0:
		text += fmt.Sprintf(", after every %d records", w.Emit.Every)
	default:
		text += ", every " + job.FormatDuration(w.Emit.Period)
	}
	text += idleText(s)
	if a := w.Align; a != nil {
		text += fmt.Sprintf("; at most %s ahead of the slowest of group %s, looked at every %s",
			job.FormatDuration(a.MaxDrift), a.Group, job.FormatDuration(a.Update))
	}
	return text
}

func idleText(s *job.Source) string {
	w := &s.Watermark
	switch {
	case s.Bounded():
		return ""
	case w.IdleTimeout == 0:
		return "; never idle"
	case w.WhenAllIdle == job.AdvanceWhenAllIdle:
		return "; idle after " + job.FormatDuration(w.IdleTimeout) + ", and with all idle time goes on with the clock"
	}
	return "; idle after " + job.FormatDuration(w.IdleTimeout)
}

// stepText describes a step in the order in which it works: what it reads, what it
// computes, how it groups, when it fires, what comes out.
func stepText(s *job.Step) string {
	text := join(s.From, "and")
	if s.Join != nil {
		text = joinText(s)
	}
	if s.Filter != "" {
		text += " where " + s.Filter
	}
	for i, d := range s.Derive {
		text += [...]string{" with ", ", "}[min(i, 1)] + d.Name + " = " + d.Expr
	}
	if s.Map != nil {
		text += " through plug-in " + s.Map.Plugin
	}
	if s.Project != nil {
		text += ", only " + strings.Join(s.Project, ", ")
	}
	switch {
	case len(s.Key) > 0:
		text += " by " + strings.Join(s.Key, ", ")
	case s.Window != nil:
		text += " over all keys"
	}
	if s.Window != nil {
		text += ", " + windowKindText(s)
	}
	if s.Trigger != nil {
		text += ", fires " + triggerText(s.Trigger)
	}
	if s.Evictor != nil {
		text += ", keeps " + evictorText(s.Evictor)
	}
	if w := s.Window; w != nil && w.Time == job.EventTime && w.Kind != job.Global && w.Kind != job.Count {
		text += ", allowed lateness " + job.FormatDuration(s.AllowedLateness)
	}
	var what []string
	for _, a := range s.Aggregates {
		f := a.Function
		if a.Plugin != "" {
			f = "plug-in " + a.Plugin
		}
		what = append(what, a.Name+" ("+f+")")
	}
	if len(what) > 0 {
		text += ": " + strings.Join(what, ", ")
	}
	if s.Apply != nil {
		text += ", through plug-in " + s.Apply.Plugin
	}
	if p := s.Process; p != nil {
		text += ", shown to plug-in " + p.Plugin
		if p.TTL > 0 {
			text += ", whose state of a key stays for " + job.FormatDuration(p.TTL)
		}
	}
	if s.OnError == job.DeadLetter {
		text += "; records that a function refuses go aside"
	}
	return text
}

func joinText(s *job.Step) string {
	j := s.Join
	left, right := s.From[0], s.From[1]
	switch j.Kind {
	case job.CoGroupJoin:
		return "lists of " + left + " and " + right
	case job.WindowJoin:
		return "pairs of " + left + " and " + right
	}
	open, end := "[", "]"
	if j.LowerExclusive {
		open = "("
	}
	if j.UpperExclusive {
		end = ")"
	}
	return fmt.Sprintf("pairs of %s and %s with times %s%s, %s%s apart", left, right,
		open, job.FormatDuration(j.Lower), job.FormatDuration(j.Upper), end)
}

func windowKindText(s *job.Step) string {
	w := s.Window
	text := w.Kind + " "
	switch w.Kind {
	case job.Tumbling:
		text += job.FormatDuration(w.Size)
	case job.Sliding:
		text += job.FormatDuration(w.Size) + " every " + job.FormatDuration(w.Slide)
	case job.Session:
		if text += "gap " + job.FormatDuration(w.Gap); w.GapField != "" {
			text = w.Kind + " gap " + w.GapField
		}
	case job.Day:
		text += "in " + w.Zone
	case job.Global:
		text = "global window"
	case job.PluginWindow:
		text = "windows of plug-in " + w.Plugin
	case job.Count:
		if text += fmt.Sprintf("of %d", w.Records); w.Every > 0 {
			text += fmt.Sprintf(" every %d", w.Every)
		}
	}
	if w.Offset != 0 {
		text += " offset " + job.FormatDuration(w.Offset)
	}
	if w.Time == job.ProcessingTime {
		text += " by the clock"
	}
	return text
}

func triggerText(t *job.Trigger) string {
	switch t.Kind {
	case job.TriggerEventTime:
		return "at the window's end"
	case job.TriggerProcessingTime:
		return "at the window's end by the clock"
	case job.TriggerEndOfStream:
		return "at the end of the input"
	case job.TriggerCount:
		if t.N == 1 {
			return "at each record"
		}
		return "every " + count(t.N, "record")
	case job.TriggerContinuous:
		return "every " + job.FormatDuration(t.Every) + " of " + t.Time + " time"
	case job.TriggerDelta:
		return "when " + deltaText(t.Field, t.Abs) + fmt.Sprintf(" passes %g", t.Threshold)
	case job.TriggerCountOrTimeout:
		text := fmt.Sprintf("at %s, %s of %s time after the first, and at the window's end", count(t.N, "record"), job.FormatDuration(t.After), t.Time)
		if t.Purge {
			text += ", and empties it"
		}
		return text
	case job.TriggerPlugin:
		return "as plug-in " + t.Plugin + " says"
	case job.TriggerPurging:
		return triggerText(t.Inner) + ", and empties it"
	case job.TriggerProcessingTimeout:
		from := "the first record"
		if t.Reset {
			from = "the last record"
		}
		inner := ""
		if t.Inner.Kind != job.TriggerNever {
			inner = triggerText(t.Inner) + ", or "
		}
		return inner + job.FormatDuration(t.After) + " of the clock after " + from
	}
	return "never"
}

func deltaText(field string, abs bool) string {
	if abs {
		return "the change of " + field + ", up or down,"
	}
	return "the rise of " + field
}

func evictorText(e *job.Evictor) string {
	text := ""
	switch e.Kind {
	case job.EvictCount:
		text = "the last " + count(int64(e.N), "record")
	case job.EvictTime:
		text = "the last " + job.FormatDuration(e.Keep)
	default:
		text = fmt.Sprintf("records with %s to the last one below %g", deltaText(e.Field, e.Abs), e.Threshold)
	}
	if e.After {
		text += " once it has fired"
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
