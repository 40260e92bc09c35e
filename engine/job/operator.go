package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Operator describes a source, a step, a sink or the job as a whole: what its rows and its
// state depend on, in parts that can be compared (see Compare). It stands in checkpoints.
type Operator struct {
	ID    string // "" for the job
	Kind  string // one of the kinds below
	Parts []Part
}

// Kinds of operators. Stored; never change.
const (
	JobOperator    = "job"
	SourceOperator = "source"
	StepOperator   = "step"
	SinkOperator   = "sink"
)

// Part is one thing about an operator, as it would be told to people. The name says what a
// change of the value means for state: see rules. Names are stored; never change one.
type Part struct {
	Name  string `json:"name"`
	Value string `json:"value"`

	// takes are values of an older job whose state this one converts. Not stored: what a
	// module can do is the new one's to say.
	takes []string
}

// Text writes the parts as JSON: the same parts give the same text.
func (o *Operator) Text() string {
	text, err := json.Marshal(o.Parts)
	if err != nil {
		panic("BUG: operator: " + err.Error())
	}
	return string(text)
}

// ParseOperator reads what Text wrote of an operator. Errors are of class ErrCorrupt.
func ParseOperator(id, kind, text string) (Operator, error) {
	o := Operator{ID: id, Kind: kind}
	if err := json.Unmarshal([]byte(text), &o.Parts); err != nil {
		return o, fault.Corruptf("the description of %s %s is no list of parts: %w", kind, id, err)
	}
	return o, nil
}

// Digest tells whether two jobs are the same, in all that rows and state depend on: the
// SHA-256 of their descriptions, in hex. Parallelism, batches, queues and where checkpoints
// go make no difference to it.
func Digest(operators []Operator) string {
	h := sha256.New()
	for i := range operators {
		o := &operators[i]
		fmt.Fprintf(h, "%s %q %s\n", o.Kind, o.ID, o.Text())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Describe describes the job and all its operators with state, in the order of the graph.
// complete is engine.Options.Complete. layout says how the engine keeps the windows of a
// step, as far as that is its own choice: state of one layout does not fit another.
func Describe(g *Graph, complete bool, layout func(*Step) string) []Operator {
	d := describer{g: g}
	d.begin("", JobOperator)
	d.part(partName, g.Name)
	d.part(partGroups, strconv.Itoa(g.MaxParallelism))
	d.part(partOrder, either2(g.Settings.OrderReplay, "by place", "by arrival"))
	if complete {
		d.part(partComplete, "held to the end")
	}
	for i := range g.Sources {
		d.source(&g.Sources[i])
	}
	for i := range g.Steps {
		d.step(&g.Steps[i], layout)
	}
	for i := range g.Sinks {
		if s := &g.Sinks[i]; s.File != "" {
			d.sink(s)
		}
	}
	return d.out
}

// Names of parts. Stored; never change one.
const (
	partName     = "name"
	partGroups   = "max_parallelism"
	partOrder    = "order"
	partComplete = "watermarks"

	partFile       = "file"
	partFollow     = "follow"
	partFormat     = "format"
	partLimits     = "limits"
	partSchema     = "schema"
	partTime       = "time"
	partClock      = "clock"
	partWatermark  = "watermark"
	partIdle       = "idle"
	partIdleAfter  = "idle_timeout"
	partAlign      = "align"
	partEmit       = "emit"
	partColumns    = "columns"
	partArgs       = "args"
	partState      = "state"
	partModule     = "module"
	partFrom       = "from"
	partSides      = "sides"
	partFilter     = "filter"
	partDerive     = "derive"
	partMap        = "map"
	partProject    = "project"
	partKey        = "key"
	partNullKey    = "null_key"
	partReads      = "reads"
	partJoin       = "join"
	partWindow     = "window"
	partLateness   = "allowed_lateness"
	partTrigger    = "trigger"
	partEvictor    = "evictor"
	partAggregate  = "aggregate"
	partNames      = "aggregates"
	partProcess    = "process"
	partTTL        = "state_ttl"
	partApply      = "apply"
	partOnError    = "on_error"
	partDisable    = "disable_plugin"
	partDisableAt  = "disable_plugin_after"
	partLayout     = "layout"
	partPort       = "port"
	partWholeFile  = "whole_file"
	partEpochFiles = "files"
	partTimeFormat = "time_format"
)

// describer collects operators.
type describer struct {
	g   *Graph
	out []Operator
}

func (d *describer) begin(id, kind string) { d.out = append(d.out, Operator{ID: id, Kind: kind}) }

// part adds a part; one without a value is left out.
func (d *describer) part(name, value string) {
	if value = strings.TrimSpace(value); value != "" {
		o := &d.out[len(d.out)-1]
		o.Parts = append(o.Parts, Part{Name: name, Value: value})
	}
}

func (d *describer) source(s *Source) {
	d.begin(s.ID, SourceOperator)
	path := s.File.Path
	if rel, err := filepath.Rel(s.File.Base, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	d.part(partFile, path)
	d.part(partFollow, strconv.FormatBool(s.File.Follow))
	f := &s.Format
	if f.Kind == CSV {
		d.part(partFormat, fmt.Sprintf("csv, header %t, delimiter %q", f.Header, f.Delimiter))
		d.part(partLimits, formatSize(int64(f.MaxRecord)))
	} else {
		d.part(partFormat, f.Kind)
		d.part(partLimits, fmt.Sprintf("%s, %d levels", formatSize(int64(f.MaxRecord)), f.MaxDepth))
	}
	var fields []string
	for _, c := range s.Schema {
		fields = append(fields, fmt.Sprintf("%s %s at %q", c.Name, c.Kind, c.Path))
	}
	d.part(partSchema, strings.Join(fields, ", "))
	t, w := &s.Time, &s.Watermark
	if w.Kind == IngestionWatermark {
		d.part(partTime, "when a record is read")
	} else {
		d.part(partTime, fmt.Sprintf("%q in %s %s %s", t.Path, t.Unit, t.Layout, t.Zone))
		d.part(partClock, fmt.Sprintf("arrival %q, max_future %s, max_jump %s, plausible %t", t.Arrival, FormatDuration(t.MaxFuture), FormatDuration(t.MaxJump), t.Plausible))
	}
	d.part(partWatermark, w.Kind)
	switch w.Kind {
	case BoundedWatermark:
		d.part(partWatermark+"."+partArgs, FormatDuration(w.OutOfOrderness))
	case MarkerWatermark:
		d.part(partWatermark+"."+partArgs, fmt.Sprintf("%s, for all %t", w.Marker, w.MarkerForAll))
	case DelayWatermark:
		d.part(partWatermark+"."+partArgs, strings.Join(w.DelayField, "."))
	case PluginWatermark:
		d.plugin(partWatermark, w.Plugin, w.Columns, w.Args)
	}
	switch e := w.Emit; {
	case e.Record:
		d.part(partEmit, "record")
	case e.Every > 0:
		d.part(partEmit, fmt.Sprintf("every %d", e.Every))
	case e.Period > 0:
		d.part(partEmit, FormatDuration(e.Period))
	}
	if w.IdleTimeout > 0 {
		d.part(partIdle, "counted down")
		d.part(partIdleAfter, fmt.Sprintf("%s, then %s", FormatDuration(w.IdleTimeout), w.WhenAllIdle))
	}
	if a := w.Align; a != nil {
		d.part(partAlign, fmt.Sprintf("%s, %s, %s", a.Group, FormatDuration(a.MaxDrift), FormatDuration(a.Update)))
	}
}

// plugin adds the parts of a plug-in with state: what it is bound to, the layout of what it
// keeps, and which module it is.
func (d *describer) plugin(of, name string, columns []Column, args []Arg) {
	d.part(of+"."+partColumns, columnsText(columns))
	d.part(of+"."+partArgs, argsText(args))
	p := d.g.plugin(name)
	if p.Schema > 0 {
		d.state(of, p)
	}
	d.part(of+"."+partModule, p.Digest)
}

// plugin finds a plug-in by its name.
func (g *Graph) plugin(name string) Plugin {
	i := slices.IndexFunc(g.Plugins, func(p Plugin) bool { return p.Name == name })
	if i < 0 {
		return Plugin{Name: name}
	}
	return g.Plugins[i]
}

func (d *describer) step(s *Step, layout func(*Step) string) {
	d.begin(s.ID, StepOperator)
	if s.Join != nil {
		d.part(partSides, strings.Join(s.From, ", "))
	} else {
		d.part(partFrom, strings.Join(s.From, ", "))
	}
	d.part(partFilter, s.Filter)
	var derived []string
	for _, e := range s.Derive {
		derived = append(derived, e.Name+" = "+e.Expr)
	}
	d.part(partDerive, strings.Join(derived, "; "))
	if m := s.Map; m != nil {
		d.part(partMap, columnsText(m.Columns)+argsText(m.Args)+" by "+d.g.plugin(m.Plugin).Digest)
	}
	d.part(partProject, strings.Join(s.Project, ", "))
	d.part(partKey, strings.Join(s.Key, ", "))
	if len(s.Key) > 0 {
		d.part(partNullKey, s.NullKey)
	}
	var reads []string
	for _, f := range s.Reads {
		reads = append(reads, f.Name+" "+f.Kind.String())
	}
	d.part(partReads, strings.Join(reads, ", "))
	if j := s.Join; j != nil {
		text := fmt.Sprintf("%s of %q and %q, keeps %q and %q", j.Kind, j.LeftKey, j.RightKey, j.Left, j.Right)
		if j.Kind == IntervalJoin {
			text += fmt.Sprintf(", from %s (exclusive %t) to %s (exclusive %t)", FormatDuration(j.Lower), j.LowerExclusive, FormatDuration(j.Upper), j.UpperExclusive)
		}
		d.part(partJoin, text)
	}
	if s.Window != nil {
		d.window(s, layout)
	}
	if a := s.Apply; a != nil {
		d.part(partApply, columnsText(a.Left)+columnsText(a.Right)+argsText(a.Args)+" by "+d.g.plugin(a.Plugin).Digest)
	}
	d.part(partOnError, s.OnError)
	if s.Disable != nil {
		d.part(partDisable, "counted")
		d.part(partDisableAt, fmt.Sprintf("%d within %s", s.Disable.Failures, FormatDuration(s.Disable.Within)))
	}
}

func (d *describer) window(s *Step, layout func(*Step) string) {
	w := s.Window
	text := w.Kind
	switch w.Kind {
	case Tumbling:
		text += fmt.Sprintf(" %s, offset %s", FormatDuration(w.Size), FormatDuration(w.Offset))
	case Sliding:
		text += fmt.Sprintf(" %s every %s, offset %s", FormatDuration(w.Size), FormatDuration(w.Slide), FormatDuration(w.Offset))
	case Session:
		text += " " + FormatDuration(w.Gap) + w.GapField
		if w.GapField != "" {
			text = Session + " of " + w.GapField
		}
	case Day:
		text += " in " + w.Zone
	case Count:
		text += fmt.Sprintf(" %d every %d", w.Records, w.Every)
	case PluginWindow:
		text += fmt.Sprintf(", merging %t", w.Merges)
	}
	if w.Time == ProcessingTime {
		text += " by the clock"
	}
	d.part(partWindow, text)
	if w.Kind == PluginWindow {
		d.plugin(partWindow, w.Plugin, w.Columns, w.Args)
	}
	if s.eventTime() {
		d.part(partLateness, FormatDuration(s.AllowedLateness))
	}
	d.trigger(s.fires())
	if e := s.Evictor; e != nil {
		d.part(partEvictor, "keeps records")
		d.part(partEvictor+"."+partArgs, fmt.Sprintf("%s %d %s %s %g %t, after %t", e.Kind, e.N, FormatDuration(e.Keep), e.Field, e.Threshold, e.Abs, e.After))
	}
	var names []string
	for i := range s.Aggregates {
		a := &s.Aggregates[i]
		names = append(names, a.Name)
		of := fmt.Sprintf("%s %d", partAggregate, i+1)
		if a.Plugin == "" {
			d.part(of, a.Function+columnsText(a.Columns)+argsText(a.Args))
			continue
		}
		d.part(of, "plug-in"+columnsText(a.Columns)+argsText(a.Args))
		p := d.g.plugin(a.Plugin)
		d.state(of, p)
		d.part(of+"."+partModule, p.Digest)
	}
	d.part(partNames, strings.Join(names, ", "))
	if p := s.Process; p != nil {
		d.part(partProcess, "shown "+strings.Join(append(ListNames(len(p.Lists)), "firings"), ", "))
		d.plugin(partProcess, p.Plugin, slices.Concat(append([][]Column{p.Columns}, p.Lists...)...), p.Args)
		if p.TTL > 0 {
			d.part(partTTL, FormatDuration(p.TTL))
		}
	}
	if layout != nil {
		d.part(partLayout, layout(s))
	}
}

// trigger adds the kinds of a trigger from the outside in, and beside them what they are
// set to.
func (d *describer) trigger(t *Trigger) {
	var kinds, args []string
	var plugin *Trigger
	for ; t != nil; t = t.Inner {
		kinds = append(kinds, t.Kind)
		switch t.Kind {
		case TriggerCount:
			args = append(args, strconv.FormatInt(t.N, 10))
		case TriggerContinuous:
			kinds[len(kinds)-1] += " by " + t.Time
			args = append(args, FormatDuration(t.Every))
		case TriggerDelta:
			args = append(args, fmt.Sprintf("%g %t", t.Threshold, t.Abs))
			kinds[len(kinds)-1] += " of " + t.Field
		case TriggerCountOrTimeout:
			kinds[len(kinds)-1] += " by " + t.Time
			args = append(args, fmt.Sprintf("%d %s %t", t.N, FormatDuration(t.After), t.Purge))
		case TriggerProcessingTimeout:
			args = append(args, fmt.Sprintf("%s %t %t", FormatDuration(t.After), t.Reset, t.Clear))
		case TriggerPlugin:
			plugin = t
		}
	}
	d.part(partTrigger, strings.Join(kinds, " of "))
	if plugin != nil {
		args = append(args, columnsText(plugin.Columns)+argsText(plugin.Args))
	}
	d.part(partTrigger+"."+partArgs, strings.Join(args, ", "))
	if plugin != nil {
		p := d.g.plugin(plugin.Plugin)
		if p.Schema > 0 {
			d.state(partTrigger, p)
		}
		d.part(partTrigger+"."+partModule, p.Digest)
	}
}

func (d *describer) sink(s *Sink) {
	d.begin(s.ID, SinkOperator)
	d.part(partPort, s.From.String())
	// Of bounded inputs there is one file, which appears at the end; otherwise one an epoch.
	bounded := !slices.ContainsFunc(d.g.Sources, func(s Source) bool { return !s.Bounded() })
	d.part(either2(bounded, partWholeFile, partEpochFiles), s.File)
	d.part(partTimeFormat, s.TimeFormat)
}

func columnsText(columns []Column) string {
	if len(columns) == 0 {
		return ""
	}
	var out []string
	for _, c := range columns {
		out = append(out, c.Input+": "+c.Field)
	}
	return " {" + strings.Join(out, ", ") + "}"
}

func argsText(args []Arg) string {
	if len(args) == 0 {
		return ""
	}
	var out []string
	for _, a := range args {
		out = append(out, a.Name+": "+a.String())
	}
	return " (" + strings.Join(out, ", ") + ")"
}

func either2(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// uses notes the fields of its input that a step with state uses, with their kinds.
func (s *stepSpec) uses(in ...*shape) {
	side := [...]string{"", ""}
	if s.Join != nil {
		side = [...]string{"left.", "right."}
	}
	add := func(i int, name string) {
		f := in[min(i, len(in)-1)].find(name)
		if f == nil {
			return
		}
		field := stream.Field{Name: side[i] + name, Kind: f.Kind}
		if !slices.Contains(s.Reads, field) {
			s.Reads = append(s.Reads, field)
		}
	}
	columns := func(list []Column) {
		for i := range in {
			for _, c := range list {
				add(i, c.Field)
			}
		}
	}
	each := func(names ...string) {
		for i := range in {
			for _, name := range names {
				add(i, name)
			}
		}
	}
	if j := s.Join; j != nil {
		for i, list := range [][]string{slices.Concat(j.LeftKey, j.Left), slices.Concat(j.RightKey, j.Right)} {
			for _, name := range list {
				add(i, name)
			}
		}
	} else {
		each(s.Key...)
	}
	for _, a := range s.Aggregates {
		columns(a.Columns)
	}
	if w := s.Window; w != nil {
		each(w.GapField)
		columns(w.Columns)
	}
	for t := s.Trigger; t != nil; t = t.Inner {
		each(t.Field)
		columns(t.Columns)
	}
	if e := s.Evictor; e != nil {
		each(e.Field)
	}
	if p := s.Process; p != nil {
		for i, list := range p.Lists {
			for _, c := range list {
				add(min(i, len(in)-1), c.Field)
			}
		}
	}
	slices.SortFunc(s.Reads, func(a, b stream.Field) int { return strings.Compare(a.Name, b.Name) })
}
