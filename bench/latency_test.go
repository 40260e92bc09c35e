package main

import (
	"testing"
	"time"
)

func TestTheShareOfRowsThatKeepsToALatency(t *testing.T) {
	var l latency
	for i := range 200 {
		l.rows = append(l.rows, time.Duration(i+1)*time.Millisecond)
	}
	// Of 200 rows two are above the 99th percentile's row.
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 101, 0.99: 199, 1: 200} {
		if got := l.at(share); got != want*time.Millisecond {
			t.Errorf("%v of the rows within %v, want %d ms", share, got, want)
		}
	}
}

// A window [0, 50) with times at most 20 ms late is closed by time 70: only then is 49,
// the last time that belongs to it, behind the watermark (70 - 20 - 1).
func TestTheRecordThatClosesAWindow(t *testing.T) {
	var a arrivals
	start := time.UnixMilli(0)
	for i := range 71 {
		a.add(start.Add(time.Duration(i) * time.Second))
	}
	if at, err := a.closing(firstTime + latencyWindow); err != nil || !at.Equal(start.Add(70*time.Second)) {
		t.Errorf("got %v, %v", at, err)
	}
	if _, err := a.closing(firstTime + 2*latencyWindow); err == nil {
		t.Error("a row before its time goes unnoticed")
	}
}

func TestLatencyRecordsAreWhatTheJobReads(t *testing.T) {
	got := string(appendLatencyRecord(nil, 13))
	want := `{"event_time":1760000400013,"key":"k3","amount":1}` + "\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}
