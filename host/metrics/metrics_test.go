package metrics

import (
	"context"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/stream"
	"tidemark/host/catalog"
	"tidemark/host/controller"
	"tidemark/host/turns"
)

func nobody(context.Context) []controller.View { return nil }

func none() map[string]turns.Account { return nil }

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestScrape(t *testing.T) {
	view := controller.View{
		Job:   catalog.Job{Tenant: "a", ID: "j", State: "running"},
		Tally: controller.Tally{Completed: 5, Failed: 2, Restarts: 3, Last: 9, At: time.UnixMilli(12_500), Took: 40 * time.Millisecond, Bytes: 1234, Reused: 567},
		Report: engine.Report{
			Sources: []engine.SourceReport{{ID: "src", Read: 10, Bad: 2, Quarantined: 1, Passed: 7, Splits: []engine.SplitReport{
				{ID: "f.jsonl", Read: 10, Watermark: 1500, High: 2500, Finished: true},
				{ID: "g.jsonl", Watermark: stream.MinTime, High: stream.MinTime, Idle: true},
			}}},
			Steps: []engine.StepReport{{ID: "st", Watermark: stream.MaxTime, Panes: 3, Rows: 4, Updates: 1, Inputs: []engine.Ledger{
				{Late: 1, Counted: 3, Open: 2, Behind: 2, LateAccepted: 1, Partials: 2}, {Late: 1, Counted: 2},
			}}},
			Sinks: []engine.SinkReport{{ID: "out", Rows: 4}},
		},
	}
	m := New("1.0", "go1.26", 1, func(context.Context) []controller.View { return []controller.View{view} }, func() map[string]turns.Account {
		return map[string]turns.Account{"a": {Turns: 3, Time: 1500 * time.Millisecond, Fuel: 7, Waited: 250 * time.Millisecond}}
	})
	m.Request("/v1/jobs", 202, 3*time.Millisecond)
	text := scrape(t, m)
	for _, want := range []string{
		`tidemark_build_info{abi="1",go="go1.26",version="1.0"} 1`,
		`tidemark_job_state{job="j",state="running",tenant="a"} 1`,
		`tidemark_job_silent{job="j",tenant="a"} 0`,
		`tidemark_job_checkpoints_total{job="j",reason="completed",tenant="a"} 5`,
		`tidemark_job_checkpoints_total{job="j",reason="failed",tenant="a"} 2`,
		`tidemark_job_checkpoint_seconds{job="j",tenant="a"} 0.04`,
		`tidemark_job_checkpoint_bytes{job="j",tenant="a"} 1234`,
		`tidemark_job_checkpoint_reused_bytes{job="j",tenant="a"} 567`,
		`tidemark_job_checkpoint_time_seconds{job="j",tenant="a"} 12.5`,
		`tidemark_job_restarts_total{job="j",tenant="a"} 3`,
		`tidemark_source_read_records_total{job="j",operator="src",tenant="a"} 10`,
		`tidemark_source_refused_records_total{job="j",operator="src",reason="bad",tenant="a"} 2`,
		`tidemark_source_refused_records_total{job="j",operator="src",reason="quarantined",tenant="a"} 1`,
		`tidemark_split_watermark_seconds{job="j",operator="src",split="f.jsonl",tenant="a"} 1.5`,
		`tidemark_split_high_seconds{job="j",operator="src",split="f.jsonl",tenant="a"} 2.5`,
		`tidemark_split_idle{job="j",operator="src",split="g.jsonl",tenant="a"} 1`,
		`tidemark_step_records_total{job="j",operator="st",reason="late",tenant="a"} 2`,
		`tidemark_step_records_total{job="j",operator="st",reason="counted",tenant="a"} 5`,
		`tidemark_step_partials_total{job="j",operator="st",tenant="a"} 2`,
		`tidemark_step_open_records{job="j",operator="st",tenant="a"} 2`,
		`tidemark_step_records_total{job="j",operator="st",reason="failed",tenant="a"} 0`,
		`tidemark_sink_rows_total{job="j",operator="out",tenant="a"} 4`,
		`tidemark_tenant_turns_total{tenant="a"} 3`,
		`tidemark_tenant_turn_seconds_total{tenant="a"} 1.5`,
		`tidemark_tenant_fuel_total{tenant="a"} 7`,
		`tidemark_tenant_turn_wait_seconds_total{tenant="a"} 0.25`,
		`tidemark_http_requests_total{route="/v1/jobs",status="202"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
	// A watermark that is not there yet, or behind the end, is no date.
	for _, unwanted := range []string{`split_watermark_seconds{job="j",operator="src",split="g.jsonl"`, `step_watermark_seconds{`} {
		if strings.Contains(text, unwanted) {
			t.Errorf("unwanted: %s", unwanted)
		}
	}
}

func TestNamesAreInBaseUnitsAndLabelsHoldNoKeys(t *testing.T) {
	desc := regexp.MustCompile(`fqName: "([^"]*)".*variableLabels: \{([^}]*)\}`)
	known := map[string]bool{"tenant": true, "job": true, "operator": true, "split": true, "reason": true, "state": true}
	for _, s := range slices.Concat(all, ofTenants) {
		found := desc.FindStringSubmatch(s.desc.String())
		if found == nil {
			t.Fatalf("cannot read %s", s.desc)
		}
		if !strings.HasPrefix(found[1], prefix) || strings.Contains(found[1], "_ms") || strings.Contains(found[1], "milli") {
			t.Errorf("name %s", found[1])
		}
		for _, l := range strings.Split(found[2], ",") {
			if !known[l] {
				t.Errorf("%s has the label %q", found[1], l)
			}
		}
	}
}

func TestSplitsOfOneSourceAreBounded(t *testing.T) {
	view := controller.View{Job: catalog.Job{Tenant: "a", ID: "j"}}
	view.Report.Sources = []engine.SourceReport{{ID: "src"}}
	for i := range 2 * maxSplits {
		view.Report.Sources[0].Splits = append(view.Report.Sources[0].Splits, engine.SplitReport{ID: strings.Repeat("x", i+1)})
	}
	text := scrape(t, New("", "", 1, func(context.Context) []controller.View { return []controller.View{view} }, none))
	if n := strings.Count(text, "\ntidemark_split_read_records_total{"); n != maxSplits {
		t.Errorf("%d series, want %d", n, maxSplits)
	}
}
