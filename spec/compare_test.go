package spec_test

import (
	"strings"
	"testing"

	"tidemark/spec"
)

// read returns the only scenario of a text without the fields that do not matter here.
func read(t *testing.T, job, steps, expect string) spec.Scenario {
	t.Helper()
	s, err := spec.Read(strings.NewReader(`[{"id":"X-1","job":` + job + `,"steps":` + steps + `,"expect":` + expect + `}]`))
	if err != nil {
		t.Fatal(err)
	}
	return s[0]
}

const (
	windowJob = `{"window":{"type":"tumbling","size_ms":10},"function":"sum"}`
	countJob  = `{"window":{"type":"tumbling","size_ms":10},"function":"sum","trigger":{"type":"count","n":1}}`
	eventsJob = `{"window":{"type":"tumbling","size_ms":10},"function":"sum","check_events":true}`
	joinJob   = `{"kind":"window_join","window":{"type":"tumbling","size_ms":10}}`
	eagerJob  = `{"kind":"interval_join","late_output":true}`
	alignJob  = `{"kind":"alignment","groups":{"g":{"max_drift_ms":1}}}`
	splitJob  = `{"kind":"split_alignment","splits":["p"]}`
	valveJob  = `{"kind":"combiner","combiner":"valve"}`
	assignJob = `{"kind":"assign","window":{"type":"global"}}`
	mergeJob  = `{"kind":"merge"}`

	ax1 = `{"key":"ax","window":[0,10],"value":1,"ts":9}`
	ax2 = `{"key":"ax","window":[10,20],"value":1,"ts":19}`
	ax3 = `{"key":"ax","window":[0,10],"value":3,"ts":9}`
	bo1 = `{"key":"bo","window":[0,10],"value":1,"ts":9}`
)

func TestDiff(t *testing.T) {
	watermark := `[{"watermark":100}]`
	for _, c := range []struct {
		name, job, steps, want, got string
		diff                        string // part of it; empty: none
	}{
		{"the same", windowJob, watermark, `{"out":[` + ax1 + `]}`, `{"out":[` + ax1 + `]}`, ""},
		{"keys in another order", windowJob, watermark, `{"out":[` + ax1 + `,` + bo1 + `]}`, `{"out":[` + bo1 + `,` + ax1 + `]}`, ""},
		{"windows of a key in another order", windowJob, watermark, `{"out":[` + ax1 + `,` + ax2 + `]}`, `{"out":[` + ax2 + `,` + ax1 + `]}`, "order of firings"},
		{"which is free when a record fires them", windowJob, `[{"record":{"ts":1}}]`, `{"out":[` + ax1 + `,` + ax2 + `]}`, `{"out":[` + ax2 + `,` + ax1 + `]}`, ""},
		{"and when rows do not show the time of firing", countJob, watermark, `{"out":[` + ax1 + `,` + ax2 + `]}`, `{"out":[` + ax2 + `,` + ax1 + `]}`, ""},
		{"firings of one window in another order", countJob, watermark, `{"out":[` + ax1 + `,` + ax3 + `]}`, `{"out":[` + ax3 + `,` + ax1 + `]}`, "order of firings"},
		{"pairs of one firing in another order", joinJob, watermark, `{"out":[` + ax1 + `,` + ax3 + `]}`, `{"out":[` + ax3 + `,` + ax1 + `]}`, ""},
		{"a row too few", windowJob, watermark, `{"out":[` + ax1 + `]}`, `{}`, `out: missing {"key":"ax","window":[0,10],"value":1,"ts":9}`},
		{"a row twice", windowJob, watermark, `{"out":[` + ax1 + `]}`, `{"out":[` + ax1 + `,` + ax1 + `]}`, "got beyond what is wanted"},
		{"another value", windowJob, watermark, `{"out":[` + ax1 + `]}`, `{"out":[` + ax3 + `]}`, `"value":1,"ts":9}, got`},
		{"a row where none is wanted", windowJob, watermark, ``, `{"out":[` + ax1 + `]}`, `step 0 {"watermark":100}: out`},
		{"late elsewhere", windowJob, watermark, `{"late":[{"key":"ax","value":1,"ts":3}]}`, `{"late":[{"key":"ax","value":1,"ts":4}]}`, "late:"},
		{"the input of a late record, where there is one", windowJob, watermark, `{"late":[{"key":"ax","value":1,"ts":3}]}`, `{"late":[{"key":"ax","value":1,"ts":3,"input":0}]}`, ""},
		{"the input of a late record of a join", eagerJob, watermark, `{"late":[{"key":"ax","value":1,"ts":3,"input":1}]}`, `{"late":[{"key":"ax","value":1,"ts":3,"input":0}]}`, "late:"},
		{"dropped", windowJob, watermark, `{"dropped":2}`, `{"dropped":1}`, "dropped: want 2, got 1"},
		{"dropped silently", eagerJob, watermark, ``, `{"dropped":1}`, ""},
		{"events that nobody checks", windowJob, watermark, ``, `{"events":[{"watermark":100}]}`, ""},
		{"events that somebody checks", eventsJob, watermark, ``, `{"events":[{"watermark":100}]}`, "events: want none"},
		{"events in another order", valveJob, watermark, `{"events":[{"watermark":1},{"status":"idle"}]}`, `{"events":[{"status":"idle"},{"watermark":1}]}`, "events: want"},
		{"a state that holds nothing", windowJob, `[{"probe":true}]`, `{"state":{"panes":[]}}`, `{}`, ""},
		{"a state that holds something", windowJob, `[{"probe":true}]`, `{"state":{"panes":[]}}`, `{"state":{"panes":[["ax",null]]}}`, "state: want nothing"},
		{"buffers of a join", eagerJob, `[{"probe":true}]`, `{"state":{"left":[1],"right":[]}}`, `{"state":{"left":[],"right":[1]}}`, "state:"},
		{"a state that nobody expects", windowJob, `[{"probe":true}]`, ``, `{"state":{"panes":[["ax",null]]}}`, "state: want nothing"},
		{"windows", assignJob, `[{"record":{"ts":1}}]`, `{"windows":[null]}`, `{"windows":[[0,1]]}`, "windows: want null, got [0,1]"},
		{"merged", mergeJob, `[{"merge":[[0,1],[1,2]]}]`, `{"merged":[{"into":[0,2],"from":[[0,1],[1,2]]}]}`, `{"merged":[{"into":[0,2],"from":[[1,2],[0,1]]}]}`, ""},
		{"merged into another", mergeJob, `[{"merge":[[0,1],[1,2]]}]`, `{"merged":[{"into":[0,2],"from":[[0,1],[1,2]]}]}`, ``, "merged: missing"},
		{"an alignment step without an entry", alignJob, `[{"announce":true}]`, ``, `{"waiting":["g/a"],"bounds":{"g":3}}`, ""},
		{"waiting", alignJob, `[{"announce":true}]`, `{"waiting":[]}`, `{"waiting":["g/a"],"bounds":{"g":3}}`, "waiting: want none, got g/a"},
		{"bounds", alignJob, `[{"announce":true}]`, `{"waiting":[],"bounds":{"g":4}}`, `{"waiting":[],"bounds":{"g":3}}`, "bounds: want g=4, got g=3"},
		{"paused", splitJob, `[{"max_desired":1}]`, `{"paused":["p"],"reader_waits":true}`, `{"paused":[],"reader_waits":true}`, "paused:"},
		{"reader waits", splitJob, `[{"max_desired":1}]`, `{"paused":["p"],"reader_waits":true}`, `{"paused":["p"],"reader_waits":false}`, "reader_waits: want true, got false"},
		{"an error", windowJob, watermark, `{"error":"missing_timestamp"}`, ``, "error: want missing_timestamp, got none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			entry := func(body string) string {
				if body == "" {
					return `[]`
				}
				return `[` + strings.Replace(strings.Replace(body, "{", `{"after_step":0,`, 1), ",}", "}", 1) + `]`
			}
			s := read(t, c.job, c.steps, entry(c.want))
			got := read(t, c.job, c.steps, entry(c.got)).Expect
			d := spec.Diff(&s, got)
			if (c.diff == "") != (d == "") || !strings.Contains(d, c.diff) {
				t.Errorf("got %q, want %q in it", d, c.diff)
			}
		})
	}
}

func TestDiffOfEntries(t *testing.T) {
	s := read(t, windowJob, `[{"probe":true}]`, `[]`)
	for _, c := range []struct {
		name string
		got  []spec.Entry
		diff string
	}{
		{"a step that does not exist", []spec.Entry{{AfterStep: 1}}, "no such step"},
		{"two entries", []spec.Entry{{AfterStep: 0}, {AfterStep: 0}}, "two entries"},
		{"a refused job", []spec.Entry{{AfterStep: spec.ConfigStep, Error: spec.ErrInvalidConfig}}, "(configuration): error: want none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := spec.Diff(&s, c.got); !strings.Contains(d, c.diff) {
				t.Errorf("got %q, want %q in it", d, c.diff)
			}
		})
	}
}

func TestWithRestoreAfterEveryStep(t *testing.T) {
	s := read(t, windowJob, `[{"record":{"ts":1}},{"watermark":9}]`, `[{"after_step":-1,"error":"x"},{"after_step":1,"dropped":1}]`)
	r := spec.WithRestoreAfterEveryStep(s)
	if len(r.Steps) != 4 || r.Steps[0].Record == nil || !r.Steps[1].CheckpointRestore || r.Steps[2].Watermark == nil || !r.Steps[3].CheckpointRestore {
		t.Errorf("steps %v", r.Steps)
	}
	if r.Expect[0].AfterStep != -1 || r.Expect[1].AfterStep != 2 {
		t.Errorf("expectations after %d and %d, want -1 and 2", r.Expect[0].AfterStep, r.Expect[1].AfterStep)
	}
	if s.Expect[1].AfterStep != 1 || len(s.Steps) != 2 {
		t.Error("the scenario itself changed")
	}
	if a := read(t, mergeJob, `[{"merge":[]}]`, `[]`); len(spec.WithRestoreAfterEveryStep(a).Steps) != 1 {
		t.Error("a restore where nothing is kept")
	}
}
