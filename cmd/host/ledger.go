package main

import (
	"fmt"
	"io"

	"tidemark/engine"
)

// writeLedger prints where every record went. Each number was counted on its own, so
// that the sums of a finished job are a check; one that is off is a bug of ours, and
// said. A job that was ended may have had records on their way to a step.
func writeLedger(w io.Writer, r *engine.Report, finished bool) {
	sources := newTable("source", ">read", "=", ">bad", "+", ">quarantined", "+", ">passed on")
	for _, s := range r.Sources {
		sources.add(s.ID, thousands(s.Read), "=", thousands(s.Bad), "+", thousands(s.Quarantined), "+", thousands(s.Passed))
	}
	sources.write(w, "")
	fmt.Fprintln(w)

	steps := newTable("step", "from", ">passed on", "=", ">filtered", "+", ">failed", "+", ">late", "+", ">no window", "+", ">counted")
	counted := newTable("step", "from", ">counted", "=", ">open", "+", ">fired", "+", ">unfired", "|", ">behind", ">late accepted", ">results", ">updates")
	var underWay []string
	for _, s := range r.Steps {
		for _, l := range s.Inputs {
			passed, from := r.PassedTo(&l), l.Source
			if l.Side != "" {
				from += " (" + l.Side + ")"
			}
			steps.add(s.ID, from, thousands(passed), "=", thousands(l.Filtered), "+", thousands(l.Failed), "+", thousands(l.Late),
				"+", thousands(l.NoWindow), "+", thousands(l.Counted))
			counted.add(s.ID, from, thousands(l.Counted), "=", thousands(l.Open), "+", thousands(l.Fired), "+", thousands(l.Unfired),
				"|", thousands(l.Behind), thousands(l.LateAccepted), thousands(s.Rows), thousands(s.Updates))
			if n := passed - l.Filtered - l.Failed - l.Late - l.NoWindow - l.Counted; n > 0 && !finished {
				underWay = append(underWay, fmt.Sprintf("%s from %s had not been taken by step %s", count(n, "record"), from, s.ID))
			}
		}
	}
	steps.write(w, "")
	fmt.Fprintln(w)
	counted.write(w, "")
	for _, s := range r.Steps {
		for _, l := range s.Inputs {
			if l.Partials > 0 {
				fmt.Fprintf(w, "step %s: its senders added %s up to %s\n", s.ID, count(l.InPartials, "record"), count(l.Partials, "partial"))
			}
		}
	}
	for _, s := range r.Steps {
		for _, d := range s.Disabled {
			fmt.Fprintf(w, "step %s: %s\n", s.ID, disabledText(d.Plugin, d.Parts, d.Aside, d.Reason))
		}
	}
	for _, text := range r.Apart {
		fmt.Fprintf(w, "note: %s\n", text)
	}
	for _, text := range underWay {
		fmt.Fprintf(w, "ended early: %s\n", text)
	}
	if !finished {
		return
	}
	for _, off := range r.Balance() {
		fmt.Fprintf(w, "tidemark: BUG: the ledger does not add up: %s\n", off)
	}
}

// shownRows is how many of the rows in memory are shown: enough to see what is wrong.
const shownRows = 5

// writeOutputs prints what was written where, and the last rows of outputs that have
// no file. hidden says what readers of files do not see; empty: they see all rows.
func writeOutputs(w io.Writer, r *engine.Report, hidden string) {
	fmt.Fprintln(w)
	sinks := newTable("sink", "from", ">rows", "to")
	for _, s := range r.Sinks {
		to := s.Target
		if to != "stdout" && to != "memory" {
			to = short(to)
			if hidden != "" {
				to += " (" + hidden + ")"
			}
		}
		sinks.add(s.ID, s.From, thousands(s.Rows), to)
	}
	sinks.write(w, "")
	for _, s := range r.Sinks {
		if len(s.Last) == 0 {
			continue
		}
		last := s.Last[max(0, len(s.Last)-shownRows):]
		fmt.Fprintf(w, "\nthe last %d of %s (a sink {from: %s} takes all):\n", len(last), count(s.Rows, s.From+" row"), s.From)
		for _, row := range last {
			fmt.Fprintf(w, "  %s\n", row)
		}
	}
}

// disabledText says what on_error: disable_plugin has done.
func disabledText(plugin string, parts int, aside int64, reason string) string {
	return fmt.Sprintf("plug-in %s is disabled in %s, and %s or firings were set aside; in the first %s", plugin, count(int64(parts), "part"), count(aside, "record"), reason)
}
