package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/engine"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// maxPreview bounds -n: a preview is read by people, and held in memory.
const maxPreview = 100_000

func newPreviewCommand() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:   "preview JOB.yaml",
		Short: "show the first records of each source as the job sees them",
		Long: "Reads the first records of each source the way a run does and shows their time, their key and their\n" +
			"window in each step, or why they are bad. Nothing is written. Exit code 2: the first times make no\n" +
			"sense in the declared unit.",
		Args: exactly(1, "a job file"),
	}
	out := outputFlag(cmd, asTable, asJSON)
	set := setFlag(cmd)
	cmd.Flags().IntVarP(&n, "number", "n", 10, "records of each source")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if n < 1 || n > maxPreview {
			return usagef("-n must be between 1 and %d, is %d", maxPreview, n)
		}
		j, err := openJob(cmd.Context(), args[0], *set)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, j.Close()) }()
		rows, implausible, err := engine.Preview(cmd.Context(), j.Graph, engine.Options{
			Env: j.machine, Stdin: cmd.InOrStdin(), FirstStart: time.Now(),
		}, n)
		if err != nil {
			return err
		}
		if *out == asJSON {
			for i := range rows {
				if err := out.emit(cmd.OutOrStdout(), previewJSON(&rows[i])); err != nil {
					return err
				}
			}
		} else {
			previewTable(rows).write(cmd.OutOrStdout(), "")
		}
		return fault.As(fault.ErrUser, errors.Join(implausible...))
	}
	return cmd
}

// previewTable has a line for each record and step.
func previewTable(rows []engine.PreviewRow) *table {
	const widest = 40 // characters of a cell, so that a record stays on a line of a terminal
	t := newTable("source", "split", ">line", "time", "step", "key", "window", "fields")
	for _, r := range rows {
		line := fmt.Sprint(r.Line)
		if r.Reason != "" {
			t.add(r.Source, r.Split, line, "bad: "+r.Reason, "", "", "", clip(r.Message, 2*widest))
			continue
		}
		var fields []string
		for _, f := range r.Fields {
			fields = append(fields, f.Name+"="+plain(f.Value))
		}
		for i, s := range r.Steps {
			key := make([]string, len(s.Key))
			for k := range s.Key {
				key[k] = plain(s.Key[k].Value)
			}
			cells := []string{r.Source, r.Split, line, result.TimeText(r.Time), s.Step, clip(strings.Join(key, ", "), widest), previewWindowText(&s), clip(strings.Join(fields, " "), 2*widest)}
			if i > 0 { // the same record in a further step
				cells[0], cells[1], cells[2], cells[3], cells[7] = "", "", "", "", ""
			}
			t.add(cells...)
		}
	}
	return t
}

// previewWindowText says which window would hold a record, and how many more.
func previewWindowText(s *engine.PreviewStep) string {
	switch {
	case s.Computed:
		return "not shown: the step computes first"
	case s.Plugin:
		return "not shown: a plug-in says which"
	case s.Windows == 0:
		return "none"
	case s.Window == stream.Global:
		return "the one that never ends"
	case s.Windows > 1:
		return fmt.Sprintf("%s, and %s", windowText(s.Window), count(int64(s.Windows-1), "earlier one"))
	}
	return windowText(s.Window)
}

// windowText leaves out the date of the end where it is that of the start.
func windowText(w stream.Window) string {
	start, end := result.TimeText(w.Start), result.TimeText(w.End)
	if day, clock, ok := strings.Cut(end, "T"); ok && strings.HasPrefix(start, day+"T") {
		end = clock
	}
	return start + " to " + end
}

// plain writes a value for people.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case stream.Time:
		return result.TimeText(v)
	}
	return fmt.Sprint(v)
}

// members is a JSON object whose members keep their order.
type members []engine.PreviewValue

func (m members) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, f := range m {
		v := f.Value
		if t, ok := v.(stream.Time); ok {
			v = result.TimeText(t)
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

type previewLine struct {
	Source  string        `json:"source"`
	Split   string        `json:"split"`
	Line    int64         `json:"line"`
	Time    string        `json:"time,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	Fields  members       `json:"fields,omitempty"`
	Steps   []previewStep `json:"steps,omitempty"`
}

// previewStep leaves windows out where one holds the record, and shows none as null, as
// result rows do: also for the global window, which has neither start nor end.
type previewStep struct {
	Step     string         `json:"step"`
	Computed bool           `json:"computed,omitempty"`
	Plugin   bool           `json:"plugin,omitempty"` // a plug-in says which windows hold the record
	Key      members        `json:"key"`
	Window   *previewWindow `json:"window"`
	Windows  int            `json:"windows,omitempty"`
}

type previewWindow struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

func previewJSON(r *engine.PreviewRow) previewLine {
	p := previewLine{Source: r.Source, Split: r.Split, Line: r.Line, Reason: r.Reason, Message: r.Message, Fields: r.Fields}
	if r.Reason != "" {
		return p
	}
	p.Time = result.TimeText(r.Time)
	for _, s := range r.Steps {
		step := previewStep{Step: s.Step, Computed: s.Computed, Plugin: s.Plugin, Key: s.Key}
		if s.Windows > 0 && s.Window != stream.Global {
			step.Window = &previewWindow{result.TimeText(s.Window.Start), result.TimeText(s.Window.End)}
		}
		if s.Windows > 1 {
			step.Windows = s.Windows
		}
		p.Steps = append(p.Steps, step)
	}
	return p
}
