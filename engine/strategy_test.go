package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// strategyJob counts in windows of 5 s, with the watermark in place of WATERMARK.
const strategyJob = `
version: 1
job: t
sources:
  in:
    file: {path: "in*.jsonl"}
    format: json
    schema: {k: string, lag: int64}
    time: {field: ts, unit: ms}
    watermark: WATERMARK
steps:
  s:
    from: in
    filter: k != "wm"
    key: [k]
    window: {tumbling: 5s}
    aggregates: {n: {function: count}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

func strategy(watermark string) string {
	return strings.Replace(strategyJob, "WATERMARK", watermark, 1)
}

// lag is a record that tells its delay in ms.
func lag(ms int, delay string) string {
	return strings.Replace(at("a", ms), `,"k"`, `,"lag":`+delay+`,"k"`, 1)
}

func TestEachStrategyMovesTimeInItsOwnWay(t *testing.T) {
	for _, c := range []struct {
		name, watermark, in string
		want                []string
		late, bad           int64
		regressions         int64
	}{
		// After 6,000 the watermark is 5,999: 5,500 has an open window, 4,000 has none.
		{name: "ascending: the highest less 1 ms, and what fell is counted", watermark: "{ascending: true}",
			in:   at("a", 1000) + at("a", 6000) + at("a", 6000) + at("a", 5500) + at("a", 4000),
			want: []string{counted("a", 0, 5, 1), counted("a", 5, 10, 3)}, late: 1, regressions: 2},
		// 7,000 moves nothing, the marker at 4,998 not far enough, the one at 4,999 to the
		// end of the window; the one at 4,000 comes too late to say anything.
		{name: "marker: only a marker moves time, to its own", watermark: `{marker: 'k == "wm"'}`,
			in:   at("a", 1000) + at("a", 7000) + at("wm", 4998) + at("a", 2000) + at("wm", 4999) + at("a", 3000) + at("wm", 4000) + at("a", 5001),
			want: []string{counted("a", 0, 5, 2), counted("a", 5, 10, 2)}, late: 1},
		// A condition that is null (no lag) or has no answer (1/0) marks nothing.
		{name: "marker: a condition without an answer is no marker", watermark: `{marker: '1 / lag == 1'}`,
			in:   at("a", 9000) + lag(9000, "0") + at("a", 1000) + lag(9999, "1") + at("a", 2000),
			want: []string{counted("a", 0, 5, 1), counted("a", 5, 10, 3)}, late: 1},
		// 8,000 - 3,000 - 1 = 4,999 closes the first window; 9,000 says nothing; 13,000 -
		// 2,000 - 1 closes the second. A lag that is no number makes a bad record.
		{name: "delay: each record says how late others may be", watermark: "{delay_field: lag}",
			in:   lag(1000, "500") + lag(8000, "3000") + at("a", 2000) + at("a", 9000) + lag(6000, "-1") + lag(13000, "2000") + lag(9500, "0") + lag(60000, `"x"`),
			want: []string{counted("a", 0, 5, 1), counted("a", 5, 10, 3), counted("a", 10, 15, 1)}, late: 2, bad: 1},
		// The watermark steps behind the third record, to 5,999.
		{name: "every third record", watermark: "{out_of_orderness: 0s, emit: {every: 3}}",
			in:   at("a", 1000) + at("a", 6000) + at("a", 2000) + at("a", 3000),
			want: []string{counted("a", 0, 5, 2), counted("a", 5, 10, 1)}, late: 1},
		{name: "ascending, every second record", watermark: "{ascending: true, emit: {every: 2}}",
			in:   at("a", 6000) + at("a", 1000) + at("a", 2000),
			want: []string{counted("a", 0, 5, 1), counted("a", 5, 10, 1)}, late: 1, regressions: 2},
	} {
		for _, batch := range []string{"1", "3", "100"} {
			t.Run(c.name+", batches of "+batch, func(t *testing.T) {
				got, report, err := run(t, strategy(c.watermark), map[string]string{"in.jsonl": c.in}, "settings.batch.rows="+batch)
				if err != nil {
					t.Fatal(err)
				}
				same(t, values(got), c.want...)
				if l := report.Steps[0].Inputs[0]; l.Late != c.late {
					t.Errorf("%d late, want %d", l.Late, c.late)
				}
				src := report.Sources[0]
				if src.Bad != c.bad || src.Splits[0].Regressions != c.regressions {
					t.Errorf("%d bad, want %d; %d regressions, want %d", src.Bad, c.bad, src.Splits[0].Regressions, c.regressions)
				}
			})
		}
	}
}

func TestWithoutAWatermarkTimeStandsStillUntilTheEnd(t *testing.T) {
	yaml := strings.Replace(strategy("none"), "tumbling: 5s", "count: {size: 2}", 1)
	in := at("a", 9000) + at("a", 1000) + at("a", 2000)
	want := `"key":{"k":"a"},"window":null,"revision":0,"value":{"n":2}}`
	got, report, err := run(t, yaml, map[string]string{"in.jsonl": in})
	if err != nil {
		t.Fatal(err)
	}
	same(t, values(got), want)
	if l := report.Steps[0].Inputs[0]; l.Behind != 0 || l.Late != 0 {
		t.Errorf("ledger %+v", l)
	}

	rows, report := timed{yaml: strings.Replace(yaml, `"in*.jsonl"`, `"in*.jsonl", follow: true`, 1),
		files: map[string]string{"in.jsonl": in}, until: time.Minute}.run(t)
	same(t, texts(rows), want)
	if s := report.Sources[0].Splits[0]; s.Watermark != stream.MinTime || s.Idle {
		t.Errorf("split %+v", s)
	}
}

// With a watermark by the clock a bounded input is read as it comes, so that there are
// probes at which it steps.
func TestAWatermarkByTheClockStepsInABoundedInputToo(t *testing.T) {
	yaml := strategy("{out_of_orderness: 0s, emit: 200ms}") + "settings: {batch: {rows: 1}}\n"
	rows, report := timed{yaml: yaml, files: map[string]string{"in.jsonl": at("a", 1000) + at("a", 6000) + at("a", 2000)}, turn: time.Second}.run(t)
	same(t, texts(rows), counted("a", 0, 5, 1), counted("a", 5, 10, 1))
	if l := report.Steps[0].Inputs[0]; l.Late != 1 {
		t.Errorf("%d late, want 1: the watermark was 5,999 when 2,000 came", l.Late)
	}
}

func ingestion(yaml string) string {
	yaml = strings.Replace(yaml, "    watermark: WATERMARK\n", "", 1)
	return strings.Replace(yaml, "{field: ts, unit: ms}", "{ingestion: true}", 1)
}

// Each batch of one record takes 4 s to get its turn: they are read at 4, 8 and 12 s,
// whatever their own time says.
func TestIngestionTimeIsWhenARecordIsRead(t *testing.T) {
	yaml := ingestion(strategyJob) + "settings: {batch: {rows: 1}}\n"
	rows, report := timed{yaml: yaml, files: map[string]string{"in.jsonl": at("a", 900000) + at("a", 1000) + `{"k":"a"}` + "\n"}, turn: 4 * time.Second}.run(t)
	same(t, texts(rows), counted("a", 0, 5, 1), counted("a", 5, 10, 1), counted("a", 10, 15, 1))
	if l := report.Steps[0].Inputs[0]; l.Late != 0 || l.Behind != 0 {
		t.Errorf("ledger %+v", l)
	}
}

// Nothing comes behind two records, but time goes on: the window ends at 5 s, and the
// probe behind that closes it. A file without records does not hold it.
func TestIngestionTimeGoesOnWithoutRecords(t *testing.T) {
	yaml := strings.Replace(ingestion(strategyJob), `"in*.jsonl"`, `"in*.jsonl", follow: true`, 1)
	rows, _ := timed{yaml: yaml, files: map[string]string{"in-0.jsonl": `{"k":"a"}` + "\n" + `{"k":"a"}` + "\n", "in-1.jsonl": ""}, until: 9 * time.Second}.run(t)
	same(t, texts(rows), counted("a", 0, 5, 2))
	if len(rows) == 1 && (rows[0].at < 5*time.Second || rows[0].at > 5300*time.Millisecond) {
		t.Errorf("closed after %v", rows[0].at)
	}
}

// No file but the second has a marker, and the third has no record at all: a marker for
// all closes windows of them all.
func TestAMarkerCanSpeakForAllSplits(t *testing.T) {
	watermark := `{marker: 'k == "wm"', for_all: true`
	yaml := strings.Replace(strategy(watermark+", idle_timeout: off}"), `"in*.jsonl"`, `"in*.jsonl", follow: true`, 1)
	rows, report := timed{yaml: yaml, files: map[string]string{"in-0.jsonl": at("a", 1000) + at("a", 2000) + at("a", 7000), "in-1.jsonl": "", "in-2.jsonl": ""},
		later: []addition{{time.Second, "in-1.jsonl", at("wm", 4999)}, {2 * time.Second, "in-0.jsonl", at("a", 3000)}, {3 * time.Second, "in-1.jsonl", at("wm", 9999)}},
		until: 5 * time.Second}.run(t)
	same(t, texts(rows), counted("a", 0, 5, 2), counted("a", 5, 10, 1))
	if l := report.Steps[0].Inputs[0]; l.Late != 1 {
		t.Errorf("%d late, want the one of 3,000", l.Late)
	}

	yaml = strategy(watermark + "}")
	got, _, err := run(t, yaml, map[string]string{"in.jsonl": at("a", 1000) + at("wm", 4999) + at("a", 2000)})
	if err != nil {
		t.Fatal(err)
	}
	same(t, values(got), counted("a", 0, 5, 1))
	_, _, err = run(t, yaml, map[string]string{"in-0.jsonl": "", "in-1.jsonl": ""})
	if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "source in: for_all: the source has 2 files") {
		t.Errorf("two files in an ordered replay: %v", err)
	}
}

// Within one batch a marker counts for the records of its own split that stand behind it
// and for none before.
func TestAMarkerForAllStandsAtItsPlaceInTheBatch(t *testing.T) {
	yaml := strings.Replace(strategy(`{marker: 'k == "wm"', for_all: true, idle_timeout: off}`), `"in*.jsonl"`, `"in*.jsonl", follow: true`, 1)
	rows, report := timed{yaml: yaml, files: map[string]string{"in-0.jsonl": at("a", 1000) + at("a", 9000) + at("a", 2000) + at("wm", 4999) + at("a", 3000), "in-1.jsonl": at("b", 4000)},
		until: time.Second}.run(t)
	same(t, texts(rows), counted("a", 0, 5, 2))
	if l := report.Steps[0].Inputs[0]; l.Late != 2 {
		t.Errorf("%d late, want 3,000 of a and 4,000 of b, which is read behind the marker", l.Late)
	}
}

// The first file has no record for 5 s, but each second a marker speaks for it: it is not
// quiet, and its idle timeout of 2 s does not run.
func TestASplitThatIsSpokenForIsNotIdle(t *testing.T) {
	yaml := strings.Replace(strategy(`{marker: 'k == "wm"', for_all: true, idle_timeout: 2s}`), `"in*.jsonl"`, `"in*.jsonl", follow: true`, 1)
	var later []addition
	for s := range 5 {
		later = append(later, addition{time.Duration(s+1) * time.Second, "in-1.jsonl", at("wm", s*1000)})
	}
	_, report := timed{yaml: yaml, files: map[string]string{"in-0.jsonl": "", "in-1.jsonl": ""}, later: later, until: 5500 * time.Millisecond}.run(t)
	if s := report.Sources[0].Splits[0]; s.Idle || s.Watermark != begin+4000 {
		t.Errorf("split %+v", s)
	}
}
