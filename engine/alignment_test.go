package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/engine"
)

// alignedJob has two sources in a group: fast and slow, whose idle timeout is in place of
// IDLE. Each batch has one record and waits 100 ms for its turn, so that a file gives ten
// records a second, if it may.
const alignedJob = `
version: 1
job: t
sources:
  fast:
    file: {path: "fast*.jsonl", follow: true}
    format: json
    schema: {k: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, idle_timeout: 2s, align: {group: g, max_drift: 10s, update: 1s}}
  slow:
    file: {path: "slow.jsonl", follow: true}
    format: json
    schema: {k: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, idle_timeout: IDLE, align: {group: g, max_drift: 10s, update: 1s}}
steps:
  s:
    from: {union: [fast, slow]}
    window: {tumbling: 50s}
    aggregates: {n: {function: count}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
settings: {batch: {rows: 1}}
`

// every5 is a record each 5 s from one second to another, both included.
func every5(from, to int) string {
	var out strings.Builder
	for s := from; s <= to; s += 5 {
		out.WriteString(at("a", s*1000))
	}
	return out.String()
}

func alignedRun(t *testing.T, idle string, until time.Duration, later ...addition) (rows []row, fast, slow engine.SplitReport, l engine.Ledger) {
	t.Helper()
	rows, report := timed{yaml: strings.Replace(alignedJob, "IDLE", idle, 1), turn: 100 * time.Millisecond, until: until, later: later,
		files: map[string]string{"fast.jsonl": every5(0, 100), "slow.jsonl": at("b", 0)}}.run(t)
	return rows, report.Sources[0].Splits[0], report.Sources[1].Splits[0], report.Steps[0].Inputs[0]
}

// high is the highest time of a split in seconds after begin.
func high(s engine.SplitReport) int { return (int(s.High) - begin) / 1000 }

// The first bound comes after 1 s, when ten records have been read (0 to 45 s): it is
// -1 ms of slow + 10 s, and fast stops. It has more to read all the time, so it is not
// idle (S12).
func TestASourceAheadOfItsGroupIsNotReadAndNotIdle(t *testing.T) {
	rows, fast, slow, l := alignedRun(t, "off", 20*time.Second)
	if fast.Read != 10 || high(fast) != 45 || fast.Idle || slow.Idle {
		t.Errorf("fast %+v, slow %+v", fast, slow)
	}
	if len(rows) != 0 || l.Counted != 11 {
		t.Errorf("rows %v, ledger %+v", rows, l)
	}
}

// With 45 s in slow the bound is 54,999: equal to the watermark behind 55 s, so 60 s is
// read too, and nothing more (S25).
func TestABoundIsAsFarAsOneMayReadAndOneRecordMore(t *testing.T) {
	_, fast, _, _ := alignedRun(t, "off", 20*time.Second, addition{5 * time.Second, "slow.jsonl", at("b", 45000)})
	if high(fast) != 60 || fast.Read != 13 {
		t.Errorf("fast %+v", fast)
	}
}

// Nothing is lost or made late by waiting (S27): 0 to 45 s and one of slow, then 50 to
// 95 s and another, then 100 s, when fast has fallen idle; 200 s is in an open window.
func TestAlignmentOnlyStopsReading(t *testing.T) {
	rows, fast, _, l := alignedRun(t, "off", 20*time.Second, addition{5 * time.Second, "slow.jsonl", at("b", 55000)}, addition{10 * time.Second, "slow.jsonl", at("b", 200000)})
	if fast.Read != 21 || l.Late != 0 || l.Counted != 24 {
		t.Errorf("fast %+v, ledger %+v", fast, l)
	}
	want := make([]string, 3)
	for i := range want {
		want[i] = fmt.Sprintf(`"key":null,"window":{"start":%d,"end":%d},"kind":"on_time","revision":0,"value":{"n":%d}}`, begin+i*50000, begin+(i+1)*50000, []int{11, 11, 1}[i])
	}
	same(t, texts(rows), want...)
}

// An idle reader leaves the minimum (S23): fast goes on alone.
func TestAnIdleReaderHoldsNobody(t *testing.T) {
	_, fast, slow, _ := alignedRun(t, "2s", 20*time.Second)
	if fast.Read != 21 || !slow.Idle {
		t.Errorf("fast %+v, slow %+v", fast, slow)
	}
}

// slow falls idle between 2 and 3 s. From then on the bound is fast's own watermark and
// 10 s: at 3 s 54,999, which lets it read to 60 s, at 4 s to 75 s, at 5 s to 90 s and at
// 6 s to 105 s. Then slow comes back with 46 s: at 7 s the bound falls to 55,999 (S24),
// and fast stays where it is.
func TestABoundCanFall(t *testing.T) {
	_, fast, slow, _ := alignedRun(t, "2s", 8*time.Second, addition{5 * time.Second, "fast.jsonl", every5(105, 300)}, addition{6 * time.Second, "slow.jsonl", at("b", 46000)})
	if slow.Idle || high(fast) != 105 {
		t.Errorf("fast %+v, slow %+v", fast, slow)
	}
}

// A reader that has ended reports MAX (S23), as a bounded source beside a followed one.
func TestAReaderThatHasEndedHoldsNobody(t *testing.T) {
	yaml := strings.Replace(alignedJob, "slow.jsonl\", follow: true", "slow.jsonl\"", 1)
	yaml = strings.Replace(yaml, "idle_timeout: IDLE, ", "", 1)
	_, report := timed{yaml: yaml, turn: 100 * time.Millisecond, until: 10 * time.Second, files: map[string]string{"fast.jsonl": every5(0, 100), "slow.jsonl": at("b", 0)}}.run(t)
	if fast := report.Sources[0].Splits[0]; fast.Read != 21 || !report.Sources[1].Splits[0].Finished {
		t.Errorf("%+v", report.Sources)
	}
}

// Two files of one source: the one ahead is paused, the other read on (S26). Behind its
// 39 s the bound is 48,999, so the first goes on to 50 s, whose watermark is above.
func TestASplitAheadOfTheOthersIsPaused(t *testing.T) {
	yaml := strings.Replace(alignedJob, `"slow.jsonl"`, `"none*.jsonl"`, 1)
	yaml = strings.Replace(yaml, "IDLE", "2s", 1)
	var seconds strings.Builder
	for s := range 40 {
		seconds.WriteString(at("b", s*1000))
	}
	yaml = strings.Replace(yaml, "idle_timeout: 2s", "idle_timeout: off", 1)
	_, report := timed{yaml: yaml, turn: 100 * time.Millisecond, until: time.Minute, files: map[string]string{"fast-0.jsonl": every5(0, 100), "fast-1.jsonl": seconds.String()}}.run(t)
	splits := report.Sources[0].Splits
	if high(splits[0]) != 50 || high(splits[1]) != 39 || splits[0].Idle {
		t.Errorf("splits %+v", splits)
	}
	if l := report.Steps[0].Inputs[0]; l.Late != 0 {
		t.Errorf("ledger %+v", l)
	}
}

// The reader as a whole is ahead at 45 s, so that a new file of it is not read either,
// though that has no watermark yet (S26).
func TestAReaderThatWaitsReadsNoNewSplit(t *testing.T) {
	yaml := strings.Replace(alignedJob, "IDLE", "off", 1)
	_, report := timed{yaml: yaml, turn: 100 * time.Millisecond, until: 10 * time.Second, files: map[string]string{"fast-0.jsonl": every5(0, 100), "slow.jsonl": at("b", 0)},
		later: []addition{{5 * time.Second, "fast-1.jsonl", at("a", 1000)}}}.run(t)
	if s := report.Sources[0].Splits; len(s) != 2 || s[0].Read != 10 || s[1].Read != 0 || s[1].Idle {
		t.Errorf("splits %+v", s)
	}
}
