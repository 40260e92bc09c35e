package job_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

var rewrite = flag.Bool("rewrite", false, "write docs/defaults.md anew")

// files is a file system by absolute path.
type files struct{ fstest.MapFS }

func (f files) Stat(name string) (fs.FileInfo, error) { return f.MapFS.Stat(name[1:]) }
func (f files) Glob(pattern string) ([]string, error) {
	found, err := f.MapFS.Glob(pattern[1:])
	for i := range found {
		found[i] = "/" + found[i]
	}
	return found, err
}

// world is what the jobs in testdata see.
func world() job.LoadOptions {
	file := &fstest.MapFile{Data: []byte("{}\n")}
	return job.LoadOptions{
		Name: "job.yaml",
		Dir:  "/jobs",
		Env: func(name string) (string, bool) {
			v, ok := map[string]string{"RATE": "7", "SECRET": "hunter2", "DATA": "data", "GAP": "10"}[name]
			return v, ok
		},
		Resolver: functions{},
		Files: files{fstest.MapFS{
			"jobs/data/a.jsonl": file, "jobs/data/b.jsonl": file, "jobs/data/c.csv": file,
			"jobs/data/deep/d.jsonl": file,
			"jobs/stats.wasm":        file, "jobs/scaled.wasm": file, "jobs/text.wasm": file,
			"jobs/grades.wasm": file, "jobs/unpaid.wasm": file, "jobs/ratios.wasm": file, "jobs/alerts.wasm": file, "jobs/visits.wasm": file, "jobs/match.wasm": file, "jobs/sessions.wasm": file, "jobs/both.wasm": file, "jobs/beats.wasm": file, "jobs/cut.wasm": file, "jobs/urgent.wasm": file, "jobs/rounds.wasm": file, "jobs/own_gap.wasm": file, "jobs/shifts.wasm": file,
			"jobs/keeps_1_a.wasm": file, "jobs/keeps_1_b.wasm": file, "jobs/keeps_2_c.wasm": file, "jobs/keeps_3_d.wasm": file,
			"jobs/out/old.jsonl":            file,
			"jobs/taken/orders.bad.jsonl/x": file,
			"dev/null":                      {Mode: fs.ModeDevice},
			"inputs/in.jsonl":               file,
		}},
	}
}

// functions knows the built-ins and some plug-ins.
type functions struct{}

var numbers = []stream.Kind{stream.Int64, stream.Float64}

func (functions) Builtin(name string) (job.FunctionInfo, bool, []string) {
	names := []string{"count", "distinct", "list", "max", "mean", "min", "sum"}
	info := job.FunctionInfo{}
	switch name {
	case "count":
	case "quantiles":
		return job.FunctionInfo{Inputs: []job.Input{{Name: "value", Kinds: numbers}}, Params: []job.Param{
			{Name: "quantiles", Kind: stream.Float64, List: true, Max: 1, Default: job.Arg{Kind: stream.Float64, List: []float64{0.5, 0.99}}},
			{Name: "limit", Kind: stream.Int64, Min: 1, Max: 10},
		}}, true, nil
	case "distinct", "list":
		info.Inputs = []job.Input{{Name: "value"}}
	default:
		info.Inputs = []job.Input{{Name: "value", Kinds: numbers}}
	}
	return info, slices.Contains(names, name), names
}

// Bind: a sum or an extreme is of the kind of its column, quantiles are as many
// numbers as were asked for, and a list is JSON.
func (functions) Bind(name string, kinds []stream.Kind, args []job.Arg) (job.FunctionInfo, error) {
	out := []stream.Field{{Name: "value", Kind: stream.Int64}}
	switch name {
	case "sum", "min", "max":
		out[0].Kind = kinds[0]
	case "mean":
		out[0].Kind = stream.Float64
	case "list":
		out[0].Kind = stream.JSON
	case "quantiles":
		out = nil
		for _, q := range args[0].List {
			out = append(out, stream.Field{Name: fmt.Sprintf("p%g", 100*q), Kind: stream.Float64})
		}
	}
	return job.FunctionInfo{Outputs: out, OrderInsensitive: name != "list"}, nil
}

// Expr knows the expressions "FIELD", "FIELD > 0", "FIELD + 1.5" and "FIELD == 'x'".
func (functions) Expr(src string, fields []stream.Field) (stream.Kind, error) {
	name, rest, _ := strings.Cut(src, " ")
	i := slices.IndexFunc(fields, func(f stream.Field) bool { return f.Name == name })
	switch {
	case i < 0:
		return 0, fmt.Errorf("column 1 of the expression: there is no field %s", name)
	case rest == "":
		return fields[i].Kind, nil
	case strings.HasPrefix(rest, "+"):
		return stream.Float64, nil
	}
	return stream.Bool, nil
}

func (functions) Plugin(p *job.Plugin) (job.FunctionInfo, error) {
	ref, _, _ := strings.Cut(p.Ref, "@")
	switch name := strings.TrimSuffix(filepath.Base(p.File), ".wasm"); {
	case strings.HasPrefix(name, "keeps_"): // keeps_SCHEMA_DIGEST: an aggregate, in several versions
		var schema uint32
		if _, err := fmt.Sscanf(name, "keeps_%d_%s", &schema, &p.Digest); err != nil {
			return job.FunctionInfo{}, err
		}
		info := job.FunctionInfo{Outputs: []stream.Field{{Name: "value", Kind: stream.Int64}}, Schema: schema}
		if schema == 3 { // that of 2 does not, and its state is refused
			info.Upgrades = []uint32{1, 2}
		}
		return info, nil
	case name == "stats", ref == "stats":
		p.Digest = "d1"
		return job.FunctionInfo{Inputs: []job.Input{{Name: "value", Kinds: []stream.Kind{stream.Float64}}}}, nil
	case name == "scaled":
		return job.FunctionInfo{
			Inputs: []job.Input{{Name: "value", Kinds: numbers}, {Name: "weight", Kinds: numbers}},
			Params: []job.Param{
				{Name: "scale", Kind: stream.Float64, Default: job.Arg{Kind: stream.Float64, Float: 1}},
				{Name: "bins", Kind: stream.Int64, Required: true},
				{Name: "label", Kind: stream.String},
				{Name: "exact", Kind: stream.Bool},
			},
		}, nil
	case name == "grades": // aggregate, then process
		return job.FunctionInfo{
			Inputs:  []job.Input{{Name: "count", Kinds: []stream.Kind{stream.Int64}}, {Name: "who", Kinds: []stream.Kind{stream.String}}},
			Params:  []job.Param{{Name: "limit", Kind: stream.Int64, Default: job.Arg{Kind: stream.Int64, Int: 3}}},
			Outputs: []stream.Field{{Name: "level", Kind: stream.Int64}},
			Kind:    job.ProcessKind,
			Process: &job.ProcessInfo{KeyState: true, Side: []job.SideOutput{{Name: "quiet", Outputs: []stream.Field{{Name: "for", Kind: stream.Int64}}}}},
		}, nil
	case name == "sessions": // over the records
		return job.FunctionInfo{
			Outputs: []stream.Field{{Name: "length", Kind: stream.Float64}},
			Kind:    job.ProcessKind,
			Process: &job.ProcessInfo{Lists: [][]job.Input{{{Name: "value", Kinds: numbers}}}, WindowState: true},
		}, nil
	case name == "alerts": // those of docs/job.md
		return job.FunctionInfo{
			Inputs:  []job.Input{{Name: "count", Kinds: []stream.Kind{stream.Int64}}},
			Params:  []job.Param{{Name: "limit", Kind: stream.Int64, Default: job.Arg{Kind: stream.Int64, Int: 10}}},
			Outputs: []stream.Field{{Name: "windows", Kind: stream.Int64}},
			Kind:    job.ProcessKind,
			Process: &job.ProcessInfo{KeyState: true, Side: []job.SideOutput{{Name: "calm", Outputs: []stream.Field{{Name: "over", Kind: stream.Timestamp}}}}},
		}, nil
	case name == "ratios": // of the pairs of a join
		return job.FunctionInfo{
			Params:  []job.Param{{Name: "limit", Kind: stream.Int64, Default: job.Arg{Kind: stream.Int64, Int: 3}}},
			Outputs: []stream.Field{{Name: "ratio", Kind: stream.Float64}},
			Kind:    job.PairKind,
			Pair:    &job.PairInfo{Left: []job.Input{{Name: "sold", Kinds: numbers}}, Right: []job.Input{{Name: "paid", Kinds: numbers}, {Name: "again", Kinds: numbers}}},
		}, nil
	case name == "unpaid":
		return job.FunctionInfo{
			Params:  []job.Param{{Name: "tolerance", Kind: stream.Float64, Default: job.Arg{Kind: stream.Float64}}},
			Outputs: []stream.Field{{Name: "open", Kind: stream.Float64}},
			Kind:    job.PairKind,
			Pair:    &job.PairInfo{Left: []job.Input{{Name: "due", Kinds: numbers}}, Right: []job.Input{{Name: "paid", Kinds: numbers}}},
		}, nil
	case name == "visits":
		return job.FunctionInfo{
			Outputs: []stream.Field{{Name: "pages", Kind: stream.Int64}},
			Kind:    job.ProcessKind,
			Process: &job.ProcessInfo{Lists: [][]job.Input{{{Name: "page", Kinds: []stream.Kind{stream.String}}}}, KeyState: true},
		}, nil
	case name == "match":
		return job.FunctionInfo{
			Outputs: []stream.Field{{Name: "open", Kind: stream.Float64}},
			Kind:    job.ProcessKind,
			Process: &job.ProcessInfo{Lists: [][]job.Input{{{Name: "sum", Kinds: numbers}}, {{Name: "paid", Kinds: numbers}}}},
		}, nil
	case name == "beats": // a watermark generator
		return job.FunctionInfo{
			Kind:   job.GeneratorKind,
			Inputs: []job.Input{{Name: "kind", Kinds: []stream.Kind{stream.String}}},
			Params: []job.Param{{Name: "slack", Kind: stream.Int64, Default: job.Arg{Kind: stream.Int64, Int: 5}}},
		}, nil
	case name == "cut": // of single records
		return job.FunctionInfo{
			Kind:    job.MapKind,
			Inputs:  []job.Input{{Name: "text", Kinds: []stream.Kind{stream.String}}},
			Params:  []job.Param{{Name: "depth", Kind: stream.Int64, Default: job.Arg{Kind: stream.Int64, Int: 3}}},
			Outputs: []stream.Field{{Name: "shop", Kind: stream.String}, {Name: "part", Kind: stream.Int64}},
		}, nil
	case name == "urgent", name == "rounds": // triggers; the second one for sessions too
		return job.FunctionInfo{
			Kind:    job.TriggerKind,
			Inputs:  []job.Input{{Name: "urgent", Kinds: []stream.Kind{stream.Bool}}},
			Params:  []job.Param{{Name: "wait_ms", Kind: stream.Int64, Default: job.Arg{Kind: stream.Int64, Int: 1000}}},
			Trigger: &job.TriggerInfo{MayPurge: name == "urgent", Merges: name == "rounds"},
		}, nil
	case name == "own_gap": // a window assigner; the next one has no columns, and its windows stay apart
		return job.FunctionInfo{
			Kind:     job.AssignerKind,
			Inputs:   []job.Input{{Name: "gap_ms", Kinds: []stream.Kind{stream.Int64}}},
			Params:   []job.Param{{Name: "gap_ms", Kind: stream.Int64, Default: job.Arg{Kind: stream.Int64, Int: 60_000}}},
			Assigner: &job.AssignerInfo{Merges: true},
		}, nil
	case name == "shifts":
		return job.FunctionInfo{Kind: job.AssignerKind, Assigner: &job.AssignerInfo{}}, nil
	case name == "both": // over the sides of a coGroup
		return job.FunctionInfo{
			Outputs: []stream.Field{{Name: "ratio", Kind: stream.Float64}},
			Kind:    job.ProcessKind,
			Process: &job.ProcessInfo{Lists: [][]job.Input{{{Name: "sold", Kinds: numbers}}, {}}},
		}, nil
	case name == "text":
		return job.FunctionInfo{}, errors.New("not a Wasm file: it begins with 7b 7d 0a")
	}
	return job.FunctionInfo{}, fmt.Errorf("no plug-in %s here; uploaded are: stats@1.0.0", p.Ref)
}

// directives are comments in a job file that steer its test:
//
//	# want: LINE:COLUMN: text      a problem, in order; "# want: --set key: text" for an override
//	# set: key=value
//	# host: directory of inputs
func directives(src string, o *job.LoadOptions) (want []string) {
	for line := range strings.Lines(src) {
		line = strings.TrimSpace(line)
		switch body, _ := strings.CutPrefix(line, "# "); {
		case strings.HasPrefix(body, "want: --set"):
			want = append(want, strings.TrimPrefix(body, "want: "))
		case strings.HasPrefix(body, "want: "):
			want = append(want, "job.yaml:"+strings.TrimPrefix(body, "want: "))
		case strings.HasPrefix(body, "set: "):
			o.Set = append(o.Set, strings.TrimPrefix(body, "set: "))
		case strings.HasPrefix(body, "host:"):
			o.Host, o.Env, o.Inputs = true, nil, strings.TrimSpace(strings.TrimPrefix(body, "host:"))
		}
	}
	return want
}

func TestBadJobsAreRefusedWithAllTheirProblems(t *testing.T) {
	names, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in testdata/bad: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			o := world()
			want := directives(string(src), &o)
			g, err := job.Load(src, o)
			if g != nil || err == nil {
				t.Fatal("the job was taken")
			}
			var problems job.Problems
			if !errors.As(err, &problems) || !errors.Is(err, fault.ErrUser) {
				t.Fatalf("error is %T, not Problems of class ErrUser", err)
			}
			got := strings.Split(err.Error(), "\n")
			if !slices.Equal(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestGoodJobs compares a job with the .txt beside it: a line for each highlight.
func TestGoodJobs(t *testing.T) {
	names, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in testdata/good: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(name, ".yaml") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			o := world()
			directives(string(src), &o)
			g, err := job.Load(src, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(g); got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// describe writes a graph as text, for the .txt files in testdata/good.
func describe(g *job.Graph) string {
	var b bytes.Buffer
	s := g.Settings
	fmt.Fprintf(&b, "job %s parallelism %d/%d rows %d linger %s queue %d probe %s bad %d/%g replay %t\n", g.Name, g.Parallelism, g.MaxParallelism,
		s.BatchRows, s.Linger, s.QueueDepth, s.Probe, s.BadBudget.Count, s.BadBudget.Share, s.OrderReplay)
	if c := s.Checkpoint; c != nil {
		fmt.Fprintf(&b, "checkpoint %+v\nrestart %+v\n", *c, s.Restart)
	}
	if s.State.Backend != job.MemoryState {
		fmt.Fprintf(&b, "state %+v\n", s.State)
	}
	for _, p := range g.Plugins {
		fmt.Fprintf(&b, "plugin %s file %q ref %q digest %q\n", p.Name, p.File, p.Ref, p.Digest)
	}
	for _, s := range g.Sources {
		fmt.Fprintf(&b, "source %s %+v %+v\n", s.ID, *s.File, s.Format)
		for _, f := range s.Schema {
			fmt.Fprintf(&b, "  field %s %s %q\n", f.Name, f.Kind, f.Path)
		}
		fmt.Fprintf(&b, "  time %+v\n  watermark %s\n", s.Time, describeWatermark(&s.Watermark))
	}
	for _, s := range g.Steps {
		fmt.Fprintf(&b, "step %s from %q key %q on_error %s null_key %q parallelism %d\n",
			s.ID, s.From, s.Key, s.OnError, s.NullKey, s.Parallelism)
		if d := s.Disable; d != nil {
			fmt.Fprintf(&b, "  disable after %d failures within %s\n", d.Failures, d.Within)
		}
		describeStep(&b, &s)
		for _, a := range s.Aggregates {
			fmt.Fprintf(&b, "  %s function %q plugin %q columns %v args %v\n", a.Name, a.Function, a.Plugin, a.Columns, a.Args)
		}
		if a := s.Apply; a != nil {
			fmt.Fprintf(&b, "  apply plugin %q left %v right %v args %v outputs %v\n", a.Plugin, a.Left, a.Right, a.Args, a.Outputs)
		}
		if p := s.Process; p != nil {
			fmt.Fprintf(&b, "  process plugin %q columns %v lists %v args %v state_ttl %s outputs %v side %v\n", p.Plugin, p.Columns, p.Lists, p.Args, p.TTL, p.Outputs, p.Side)
		}
	}
	for _, s := range g.Sinks {
		fmt.Fprintf(&b, "sink %s from %s file %q stdout %t memory %d default %t only_final %t time %s\n",
			s.ID, s.From, s.File, s.Stdout, s.Memory, s.Default, s.OnlyLast, s.TimeFormat)
	}
	return b.String()
}

func describeWatermark(w *job.Watermark) string {
	text := fmt.Sprintf("%s bound %s marker %q all %t delay %q idle %s/%s emit %+v",
		w.Kind, w.OutOfOrderness, w.Marker, w.MarkerForAll, w.DelayField, w.IdleTimeout, w.WhenAllIdle, w.Emit)
	if w.Plugin != "" {
		text += fmt.Sprintf(" plugin %q columns %v args %v", w.Plugin, w.Columns, w.Args)
	}
	if w.Align != nil {
		text += fmt.Sprintf(" align %+v", *w.Align)
	}
	return text
}

// describeStep writes the parts that only some steps have.
func describeStep(b *bytes.Buffer, s *job.Step) {
	if s.Join != nil {
		fmt.Fprintf(b, "  join %+v\n", *s.Join)
	}
	if s.Filter != "" {
		fmt.Fprintf(b, "  filter %q\n", s.Filter)
	}
	for _, d := range s.Derive {
		fmt.Fprintf(b, "  derive %s %q\n", d.Name, d.Expr)
	}
	if s.Project != nil {
		fmt.Fprintf(b, "  project %q\n", s.Project)
	}
	if w := s.Window; w != nil {
		fmt.Fprintf(b, "  window %s %s", w.Kind, w.Time)
		switch w.Kind {
		case job.Tumbling:
			fmt.Fprintf(b, " size %s offset %s", w.Size, w.Offset)
		case job.Sliding:
			fmt.Fprintf(b, " size %s slide %s offset %s", w.Size, w.Slide, w.Offset)
		case job.Session:
			fmt.Fprintf(b, " gap %s field %q", w.Gap, w.GapField)
		case job.Day:
			fmt.Fprintf(b, " zone %s", w.Zone)
		case job.PluginWindow:
			fmt.Fprintf(b, " %q columns %v args %v merges %t", w.Plugin, w.Columns, w.Args, w.Merges)
		case job.Count:
			fmt.Fprintf(b, " records %d every %d", w.Records, w.Every)
		}
		fmt.Fprintf(b, " lateness %s\n", s.AllowedLateness)
	}
	indent := "  trigger"
	for t := s.Trigger; t != nil; t = t.Inner {
		fmt.Fprintf(b, "%s %s", indent, t.Kind)
		switch t.Kind {
		case job.TriggerCount:
			fmt.Fprintf(b, " n %d", t.N)
		case job.TriggerContinuous:
			fmt.Fprintf(b, " every %s time %s", t.Every, t.Time)
		case job.TriggerDelta:
			fmt.Fprintf(b, " field %s threshold %g abs %t", t.Field, t.Threshold, t.Abs)
		case job.TriggerCountOrTimeout:
			fmt.Fprintf(b, " n %d after %s time %s purge %t", t.N, t.After, t.Time, t.Purge)
		case job.TriggerProcessingTimeout:
			fmt.Fprintf(b, " after %s reset %t clear %t", t.After, t.Reset, t.Clear)
		}
		b.WriteString("\n")
		indent = "  " + indent
	}
	if e := s.Evictor; e != nil {
		fmt.Fprintf(b, "  evictor %+v\n", *e)
	}
	if s.HotKeys > 0 {
		fmt.Fprintf(b, "  hot keys %d\n", s.HotKeys)
	}
	if s.AcceptCost {
		b.WriteString("  accepts its cost\n")
	}
}

const small = `version: 1
job: small
sources:
  orders:
    file: {path: data/a.jsonl}
    format: json
    schema: {shop: string, price: float64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 5s}
steps:
  per_shop:
    from: orders
    key: [shop]
    window: {tumbling: 10s}
    aggregates: {n: {function: count}}
sinks:
  out: {from: per_shop, file: {path: "out/${SECRET}.jsonl"}}
`

func TestEffectiveSettingsSayWhereTheyComeFromAndHideVariables(t *testing.T) {
	o := world()
	o.Set = []string{"settings.batch.rows=7", "settings.batch.rows=8", "steps.per_shop.window.tumbling=1m"}
	g, err := job.Load([]byte(small), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range g.Effective {
		got = append(got, s.Key+" = "+s.Value+" ("+s.Origin+")")
	}
	want := []string{
		"version = 1 (job.yaml:1)",
		"job = small (job.yaml:2)",
		"parallelism = 1 (default)",
		"max_parallelism = 128 (default)",
		"settings.batch.rows = 8 (--set)",
		"settings.queue = 8 (default)",
		"settings.probe = 200ms (default)",
		"settings.bad_budget.count = 1000 (default)",
		"settings.bad_budget.share = 0.01 (default)",
		"settings.state_budget = 1GiB (default)",
		"settings.state.backend = memory (default)",
		"settings.checkpoint = off (default)",
		"sources.orders.file.path = data/a.jsonl (job.yaml:5)",
		"sources.orders.file.follow = false (default)",
		"sources.orders.format = json (job.yaml:6)",
		"sources.orders.format.json.max_depth = 64 (default)",
		"sources.orders.format.max_record = 1MiB (default)",
		"sources.orders.schema.shop = string (job.yaml:7)",
		"sources.orders.schema.price = float64 (job.yaml:7)",
		"sources.orders.time.unit = ms (job.yaml:8)",
		"sources.orders.time.field = ts (job.yaml:8)",
		"sources.orders.time.max_future = 5m (default)",
		"sources.orders.time.max_jump = off (default)",
		"sources.orders.time.plausible = true (default)",
		"sources.orders.watermark.out_of_orderness = 5s (job.yaml:9)",
		"sources.orders.watermark.emit = record (default)",
		"steps.per_shop.from = orders (job.yaml:12)",
		"steps.per_shop.key = [shop] (job.yaml:13)",
		"steps.per_shop.parallelism = 1 (default)",
		"steps.per_shop.null_key = keep (default)",
		"steps.per_shop.window.tumbling = 1m (--set)",
		"steps.per_shop.window.tumbling.offset = 0s (default)",
		"steps.per_shop.window.time = event (default)",
		"steps.per_shop.window.allowed_lateness = 0s (default)",
		"steps.per_shop.aggregates.n.function = count (job.yaml:15)",
		"steps.per_shop.on_error = fail (default)",
		"sinks.out.from = per_shop (job.yaml:17)",
		"sinks.out.only_final = false (default)",
		"sinks.out.time_format = rfc3339 (default)",
		"sinks.out.file.path = out/${SECRET}.jsonl (job.yaml:17)",
		"sinks.per_shop.late = {file: {path: out/per_shop.late.jsonl}} (default)",
		"sinks.orders.bad = {file: {path: out/orders.bad.jsonl}} (default)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if g.Sinks[0].File != "/jobs/out/hunter2.jsonl" {
		t.Errorf("the variable was not filled in: %s", g.Sinks[0].File)
	}
}

func TestEveryDefaultIsOneThatAJobCanSet(t *testing.T) {
	for _, d := range job.Defaults() {
		src := small
		key := strings.NewReplacer("sources.*", "sources.orders", "steps.*", "steps.per_shop", "sinks.*", "sinks.out").Replace(d.Key)
		o := world()
		switch {
		case d.Key == "sinks.*.only_final", d.Key == "steps.*.window.allowed_lateness", d.Key == "steps.*.null_key":
		case strings.Contains(d.Key, "csv"):
			src = strings.Replace(src, "format: json", "format: {csv: {}}", 1)
		case strings.Contains(d.Key, ".format"):
			src = strings.Replace(src, "format: json", "format: {json: {}}", 1)
		}
		// What stands around a setting that only some jobs have.
		for part, with := range map[string][2]string{
			"window.tumbling.offset":     {"tumbling: 10s", "tumbling: {size: 10s}"},
			"window.sliding.offset":      {"tumbling: 10s", "sliding: {size: 10s, slide: 1s}"},
			"trigger.continuous":         {"    key:", "    trigger: {continuous: {every: 1s}}\n    key:"},
			"trigger.delta":              {"    key:", "    trigger: {delta: {field: price, threshold: 1}}\n    key:"},
			"trigger.count_or_timeout":   {"    key:", "    trigger: {count_or_timeout: {n: 1, after: 1s}}\n    key:"},
			"trigger.processing_timeout": {"    key:", "    trigger: {processing_timeout: {trigger: event_time, after: 1s}}\n    key:"},
			"process.state_ttl":          {"    key:", "    process: {plugin: grades, columns: {count: n, who: shop}}\n    key:"},
			"evictor.after":              {"    key:", "    evictor: {count: 1}\n    key:"},
			"evictor.delta":              {"    key:", "    evictor: {delta: {field: price, threshold: 1}}\n    key:"},
			"watermark.for_all":          {"out_of_orderness: 5s", "marker: shop == 'x'"},
			"watermark.align":            {"5s}", "5s, align: {group: g, max_drift: 1m}}"},
			"from.join.kind":             {"from: orders", "from: {join: {left: orders, right: others}}"},
			"from.join.between":          {"from: orders\n    key: [shop]\n    window: {tumbling: 10s}", "from: {join: {left: orders, right: others, kind: interval, between: {lower: 0s, upper: 1s}}}\n    key: [shop]"},
		} {
			if strings.Contains(d.Key, "."+part) {
				src = strings.Replace(src, with[0], with[1], 1)
			}
		}
		if strings.Contains(d.Key, ".process.") {
			src = strings.Replace(src, "sources:", "plugins: {grades: {file: grades.wasm}}\nsources:", 1)
		}
		if strings.Contains(d.Key, ".join.") {
			src = strings.Replace(src, "    aggregates: {n: {function: count}}\n", "", 1)
			src = strings.Replace(src, "steps:", "  others:\n    file: {path: data/b.jsonl}\n    format: json\n    schema: {shop: string}\n"+
				"    time: {field: ts, unit: ms}\n    watermark: {out_of_orderness: 5s}\nsteps:", 1)
		}
		if strings.Contains(d.Key, "align") {
			o.Set = append(o.Set, "sources.orders.file={path: data/*.jsonl, follow: true}")
		}
		switch {
		case strings.HasPrefix(d.Key, "settings.restart."):
			o.Set = append(o.Set, "settings.checkpoint={}")
		case d.Key == "settings.state.memory":
			o.Set = append(o.Set, "settings.state.backend=disk")
		}
		if d.When == "followed" || d.Key == "settings.probe" {
			o.Set = append(o.Set, "sources.orders.file.follow=true")
		}
		o.Set = append(o.Set, fmt.Sprintf("%s=%q", key, d.Value))
		if _, notText := map[string]bool{"parallelism": true}[d.Key]; notText || !strings.ContainsAny(d.Value, ",") {
			o.Set[len(o.Set)-1] = key + "=" + d.Value
		}
		g, err := job.Load([]byte(src), o)
		if err != nil {
			t.Errorf("%s=%s: %v", d.Key, d.Value, err)
			continue
		}
		if !slices.Contains(g.Effective, job.Setting{Key: key, Value: d.Value, Origin: "--set"}) {
			t.Errorf("%s is not listed as set", key)
		}
		if d.Why == "" {
			t.Errorf("%s gives no reason", d.Key)
		}
	}
}

func TestDocumentedDefaultsAreTheTable(t *testing.T) {
	const path = "../../docs/defaults.md"
	var b strings.Builder
	b.WriteString(`# Defaults

Every default of a job file. The table is generated from ` + "`engine/job/defaults.go`" + ` by
` + "`go test ./engine/job -run Documented -rewrite`" + `; the test fails when the two differ. ` + "`tidemark validate`" + `
prints the values that hold for a job, and where each comes from.

"Bounded" inputs end by themselves (files, standard input); "followed" ones are waited on (` + "`follow: true`" + `).
What has no default must be said: ` + "`version`, `job`, `time.field`, `time.unit`" + `, how far the watermark is behind, the window and its size, the trigger of a
global window. Without a trigger a window fires at its end: by the watermark, or by the clock with ` + "`time: processing`" + `.

| setting | inputs | default | why |
|---|---|---|---|
`)
	for _, d := range job.Defaults() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", strings.ReplaceAll(d.Key, "*", "NAME"), d.When, d.Value, d.Why)
	}
	b.WriteString(`
Also on without being asked for: the outputs ` + "`STEP.late`, `SOURCE.bad`, with `on_error: dead_letter` `STEP.failed`, and the side outputs of process functions" + `. Without a
sink of their own they are files beside the first results file, such as ` + "`STEP.late.jsonl`" + `; a job without file sinks keeps the last
100 rows of each in memory.

## Where this differs from Flink

| here | Flink | why |
|---|---|---|
| the bound of a watermark must be said | 0 or none, by the strategy chosen | a guess drops records without a word |
| bounded inputs: a watermark after each record, and ordered replay | every 200 ms | rows are a function of the data alone |
| followed inputs fall idle after 30 s | never | one quiet file would hold back all results |
| records more than 5 min ahead of their arrival are quarantined | none | one wrong clock would make all others late |
| late and bad records are written out | dropped | a count is not enough to find out why |
| bad records fail the job beyond 1,000 or 1 % | the first one, or never | neither losing the job nor losing the input is right |
`)
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is not the table of defaults; run go test ./engine/job -run Documented -rewrite", path)
	}
}

func TestLimitsOfTheJobFile(t *testing.T) {
	rows := []struct {
		name, src, want string
	}{
		{"empty", "", "job.yaml:1:1: the job file is empty; it needs version, job, sources, steps and sinks"},
		{"a comment only", "# nothing\n", "job.yaml:1:1: the job file is empty; it needs version, job, sources, steps and sinks"},
		{"a list", "- 1\n", "job.yaml:1:1: a job file is a mapping of version, job, parallelism, max_parallelism, settings, plugins, sources, steps or sinks, is a list"},
		{"too large", strings.Repeat("#", 1<<20+1), "job.yaml:1:1: the job file has 1048577 bytes, at most 1048576 are read"},
		{"nested too deep", "version: " + strings.Repeat("[", 17) + strings.Repeat("]", 17), "job.yaml:1:25: the job file is nested deeper than 16 levels or holds more than 50000 values"},
		{"not UTF-8", "job: \xff\n", "job.yaml:1:1: not valid YAML: invalid leading UTF-8 octet"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := job.Load([]byte(row.src), world())
			if err == nil || !slices.Contains(strings.Split(err.Error(), "\n"), row.want) {
				t.Errorf("got:\n%v\nwant:\n%s", err, row.want)
			}
		})
	}
	t.Run("a hundred problems are enough", func(t *testing.T) {
		src := strings.Replace(small, "aggregates: {", "aggregates: {"+strings.Repeat(" ", 0), 1)
		for i := range 120 {
			src += fmt.Sprintf("unknown%d: 1\n", i)
		}
		_, err := job.Load([]byte(src), world())
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 101 || !strings.HasSuffix(lines[100], "20 more problems are not shown") {
			t.Errorf("%d lines, the last is %s", len(lines), lines[len(lines)-1])
		}
	})
}

func TestBoundedAndStandardInputAreReplayedInOrder(t *testing.T) {
	rows := []struct {
		name, set string
		ordered   bool
	}{
		{"a file", "sources.orders.file.path=data/b.jsonl", true},
		{"standard input", `sources.orders.file.path="-"`, true},
		{"a followed file", "sources.orders.file.follow=true", false},
		{"a watermark by the clock", "sources.orders.watermark.emit=200ms", false},
	}
	for _, row := range rows {
		o := world()
		o.Set = []string{row.set}
		g, err := job.Load([]byte(small), o)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if g.Settings.OrderReplay != row.ordered {
			t.Errorf("%s: ordered replay is %t", row.name, g.Settings.OrderReplay)
		}
		if got := g.Sources[0].Watermark.IdleTimeout; (got == 30*time.Second) == g.Sources[0].Bounded() {
			t.Errorf("%s: idle timeout is %s", row.name, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(small), "parallelism=2")
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src, "steps.per_shop.window={tumbling: 10s}")
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		o := world()
		o.Set = []string{set}
		g, err := job.Load(src, o)
		var problems job.Problems
		switch {
		case (g == nil) == (err == nil):
			t.Fatal("neither a graph nor problems, or both")
		case err != nil && (!errors.As(err, &problems) || len(problems) == 0):
			t.Fatalf("error %v is not Problems", err)
		case err != nil && strings.Contains(err.Error(), "hunter2") && !bytes.Contains(src, []byte("hunter2")) && !strings.Contains(set, "hunter2"):
			t.Fatalf("a secret is shown: %v", err)
		case err == nil && (len(g.Sources) == 0 || len(g.Steps) == 0 || len(g.Sinks) == 0):
			t.Fatal("a graph without sources, steps or sinks")
		}
	})
}

func TestTheDocumentedJobsAreValid(t *testing.T) {
	doc, err := os.ReadFile("../../docs/job.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(doc), "```yaml\n")[1:]
	if len(blocks) != 4 {
		t.Fatalf("%d jobs in docs/job.md", len(blocks))
	}
	for _, b := range blocks {
		src, _, _ := strings.Cut(b, "```")
		if _, err := job.Load([]byte(src), world()); err != nil {
			t.Error(err)
		}
	}
}

// The settings that the tables of docs/job.md show in backquotes are valid in place.
func TestDocumentedSettingsAreValid(t *testing.T) {
	doc, err := os.ReadFile("../../docs/job.md")
	if err != nil {
		t.Fatal(err)
	}
	setting := regexp.MustCompile("`([^`]+)`")
	base := strings.Replace(small, "price: float64", "price: float64, gap_ms: int64, lag_ms: int64, kind: string", 1)
	base = strings.NewReplacer("    aggregates", "    trigger: TRIGGER\n    aggregates", "out/${SECRET}", "out/x").Replace(base)
	tested := 0
	for line := range strings.Lines(string(doc)) {
		cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !strings.HasPrefix(line, "| `") || !ok {
			continue
		}
		for _, m := range setting.FindAllStringSubmatch(cell, -1) {
			text := strings.ReplaceAll(m[1], "TRIGGER", "{count: 5}")
			head, _, _ := strings.Cut(strings.Trim(text, "{}"), ":")
			watermark, window, trigger := "{out_of_orderness: 5s}", "{tumbling: 10s}", "event_time"
			src := base
			switch head {
			case "out_of_orderness", "ascending", "marker", "delay_field":
				watermark = text
			case "none":
				watermark, window, trigger = text, "{tumbling: 10s, time: processing}", "processing_time"
			case "tumbling", "sliding", "session", "day":
				window = text
			case "count": // a window in one table, a trigger in another
				if trigger = text; !strings.Contains(text, "count: 10}") {
					window, trigger = text, ""
				}
			case "global":
				window, trigger = text, "{count: 1}"
			case "end_of_stream":
				window, trigger = "{global: {}}", text
			case "processing_time":
				window, trigger = "{tumbling: 10s, time: processing}", text
			case "event_time", "continuous", "delta", "count_or_timeout", "purging", "processing_timeout":
				trigger = text
			default: // the other tables are not of this shape
				continue
			}
			tested++
			src = strings.Replace(src, "{out_of_orderness: 5s}", watermark, 1)
			src = strings.Replace(src, "{tumbling: 10s}", window, 1)
			src = strings.Replace(src, "    trigger: TRIGGER\n", map[bool]string{true: "    trigger: " + trigger + "\n"}[trigger != ""], 1)
			if _, err := job.Load([]byte(src), world()); err != nil {
				t.Errorf("%s: %v", m[1], err)
			}
		}
	}
	if tested != 24 {
		t.Errorf("%d settings were found", tested)
	}
}
