//go:build !wasip1

package main

import (
	"errors"
	"slices"
	"testing"

	tidemark "tidemark/sdk/go"
)

const (
	cont = tidemark.Continue
	fire = tidemark.Fire
)

func twin(t *testing.T, args tidemark.Values) *tidemark.TriggerTwin {
	t.Helper()
	twin, err := tidemark.NewTriggerTwin(plugin, args)
	if err != nil {
		t.Fatal(err)
	}
	return twin
}

func elements(t *testing.T, p *tidemark.TwinPane, want []tidemark.Verdict, times ...tidemark.Timestamp) {
	t.Helper()
	var records []tidemark.Record
	for _, ts := range times {
		records = append(records, tidemark.Record{Time: ts})
	}
	if got, err := p.Elements(records...); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func timers(t *testing.T, p *tidemark.TwinPane, d tidemark.Domain, want ...tidemark.Timestamp) {
	t.Helper()
	if got := p.Timers(d); !slices.Equal(got, want) {
		t.Errorf("timers %v, want %v", got, want)
	}
}

func at(t *testing.T, p *tidemark.TwinPane, d tidemark.Domain, ts tidemark.Timestamp, want tidemark.Verdict) {
	t.Helper()
	if got, err := p.Timer(d, ts); err != nil || got != want {
		t.Errorf("the timer at %d: got %v, %v; want %v", ts, got, err, want)
	}
}

// S62a, by event time: the first record and the first behind each firing arm the timeout.
func TestFirings(t *testing.T) {
	p := twin(t, tidemark.Values{"n": 3, "after_ms": 50}).Pane(0, 1000)
	elements(t, p, []tidemark.Verdict{cont, cont, fire, cont}, 100, 110, 120, 130)
	timers(t, p, tidemark.EventTime, 180, 999) // that of 100 is taken back
	at(t, p, tidemark.EventTime, 150, cont)
	at(t, p, tidemark.EventTime, 180, fire)
	elements(t, p, []tidemark.Verdict{cont}, 949) // would time out at the window's end
	timers(t, p, tidemark.EventTime, 999)
	at(t, p, tidemark.EventTime, 999, fire)
	timers(t, p, tidemark.EventTime)
}

func TestALateRecordFiresAtOnce(t *testing.T) {
	tw := twin(t, tidemark.Values{"n": 3, "after_ms": 50})
	tw.Watermark = 999
	p := tw.Pane(0, 1000)
	elements(t, p, []tidemark.Verdict{fire, fire}, 1, 2)
	timers(t, p, tidemark.EventTime)
}

func TestByTheClock(t *testing.T) {
	tw := twin(t, tidemark.Values{"n": 2, "after_ms": 50, "by_the_clock": true})
	tw.Now = 7000
	p := tw.Pane(0, 1000)
	elements(t, p, []tidemark.Verdict{cont}, 100)
	timers(t, p, tidemark.ProcessingTime, 7050)
	timers(t, p, tidemark.EventTime, 999)
	at(t, p, tidemark.ProcessingTime, 7050, fire)
	elements(t, p, []tidemark.Verdict{cont, fire}, 101, 102)
	timers(t, p, tidemark.ProcessingTime)
	if err := p.Clear(); err != nil {
		t.Error(err)
	}
	timers(t, p, tidemark.EventTime)
}

// Two sessions become one: it has the records of both and the earlier timeout.
func TestSessions(t *testing.T) {
	tw := twin(t, tidemark.Values{"n": 4, "after_ms": 50})
	a, b, both := tw.Pane(100, 200), tw.Pane(210, 310), tw.Pane(100, 310)
	elements(t, a, []tidemark.Verdict{cont}, 100)
	elements(t, b, []tidemark.Verdict{cont, cont}, 210, 211)
	for _, old := range []*tidemark.TwinPane{b, a} {
		if err := both.Merge(old); err != nil {
			t.Fatal(err)
		}
	}
	timers(t, both, tidemark.EventTime, 150, 309)
	at(t, both, tidemark.EventTime, 260, cont) // the later one was taken back
	elements(t, both, []tidemark.Verdict{fire}, 205)
	timers(t, both, tidemark.EventTime, 309)
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args tidemark.Values
		want error
	}{
		{tidemark.Values{"n": 0, "after_ms": 1}, errN},
		{tidemark.Values{"n": 1, "after_ms": 0}, errAfter},
	} {
		_, err := tidemark.NewTriggerTwin(plugin, c.args)
		if refusal := (*tidemark.Refusal)(nil); !errors.As(err, &refusal) || refusal.Message != c.want.Error() {
			t.Errorf("%v: got %v, want %v", c.args, err, c.want)
		}
	}
}
