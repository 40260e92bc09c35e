package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// The first outputs that the algorithm's authors and others publish for this seed.
func TestSplitmix64GivesThePublishedNumbers(t *testing.T) {
	s := splitmix64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.next(); got != want {
			t.Errorf("output %d is %d, want %d", i, got, want)
		}
	}
}

func TestZipfKeyAtTheEdgesOfItsWeights(t *testing.T) {
	z := newZipf(3) // weights 2^32/10, /11, /12, rounded down
	const a, b, c = 429496729, 390451572, 357913941
	for _, row := range []struct {
		name string
		draw uint64
		want int
	}{
		{"the lowest draw", 0, 0},
		{"the last of the first key", a - 1, 0},
		{"the first of the second key", a, 1},
		{"the last of the second key", a + b - 1, 1},
		{"the first of the third key", a + b, 2},
		{"the last of all", a + b + c - 1, 2},
		{"the sum wraps to the first key", a + b + c, 0},
	} {
		if got := z.key(row.draw); got != row.want {
			t.Errorf("%s: key %d, want %d", row.name, got, row.want)
		}
	}
}

func TestLinesAreAsDescribed(t *testing.T) {
	w := Data{Keys: 10_000, StepMicros: 100}
	w.Lines = 20_000
	var out bytes.Buffer
	if err := w.Generate(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != w.Lines {
		t.Fatalf("%d lines, want %d", len(lines), w.Lines)
	}
	highest, delayed := firstTime, 0
	for seq, line := range lines {
		var e struct {
			EventTime int64   `json:"event_time"`
			Key       string  `json:"key"`
			UserID    string  `json:"user_id"`
			Amount    float64 `json:"amount"`
			Type      string  `json:"type"`
			Seq       int     `json:"seq"`
			Region    string  `json:"region"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %d: %v", seq, err)
		}
		again := fmt.Sprintf(`{"event_time":%d,"key":"%s","user_id":"%s","amount":%.2f,"type":"%s","seq":%d,"region":"%s"}`,
			e.EventTime, e.Key, e.UserID, e.Amount, e.Type, e.Seq, e.Region)
		if line != again {
			t.Fatalf("line %d is %s, want the form %s", seq, line, again)
		}
		onTime := firstTime + int64(seq)/10 // 100 µs a line
		if e.EventTime > onTime || e.EventTime < onTime-disorder || e.EventTime < firstTime {
			t.Errorf("line %d has the time %d, its place is %d", seq, e.EventTime, onTime)
		}
		if e.EventTime < onTime {
			delayed++
		}
		highest = max(highest, e.EventTime)
		if e.EventTime < highest-disorder {
			t.Errorf("line %d is %d ms behind", seq, highest-e.EventTime)
		}
		if e.Seq != seq || len(e.Key) != 8 || len(e.UserID) != 9 || e.Amount < 0.25 || e.Amount > 1000 || math.Mod(e.Amount, 0.25) != 0 {
			t.Errorf("line %d: %s", seq, line)
		}
	}
	// Half of the lines draw a delay; a few of those draw 0, and the first second has
	// no room for all.
	if delayed < 9000 || delayed > 10_500 {
		t.Errorf("%d of %d lines are delayed, want about half", delayed, w.Lines)
	}
}

// fieldsOf generates lines and splits them into time, key and the rest.
func fieldsOf(t *testing.T, d Data) (times []int64, keys, rest []string) {
	t.Helper()
	var out bytes.Buffer
	if err := d.Generate(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var time int64
		var key, tail string
		if n, err := fmt.Sscanf(strings.Replace(line, `,"key":`, " ", 1), `{"event_time":%d %q,%s`, &time, &key, &tail); n != 3 {
			t.Fatalf("%s: %v", line, err)
		}
		times, keys, rest = append(times, time), append(keys, key), append(rest, tail)
	}
	return times, keys, rest
}

func TestPermutedKeysComeInTurn(t *testing.T) {
	_, keys, _ := fieldsOf(t, Data{Lines: 2000, Keys: 1000, StepMicros: 10, Permuted: true})
	seen := map[string]int{}
	for seq, key := range keys {
		if want := fmt.Sprintf("k%07d", seq*7919%1000); key != want {
			t.Fatalf("line %d has key %s, want %s", seq, key, want)
		}
		seen[key]++
	}
	if len(seen) != 1000 || seen["k0000000"] != 2 {
		t.Errorf("%d keys, the first one %d times", len(seen), seen["k0000000"])
	}
}

func TestOneLineInAHundredIsLate(t *testing.T) {
	d := Data{Lines: 20_000, Keys: 10, StepMicros: 72_000}
	plain, plainKeys, plainRest := fieldsOf(t, d)
	d.Late = 60_000
	times, keys, rest := fieldsOf(t, d)
	late, highest := 0, int64(0)
	for seq := range times {
		onTime := firstTime + int64(seq)*72
		highest = max(highest, times[seq])
		switch behind := onTime - times[seq]; {
		case behind > d.Late:
			t.Errorf("line %d is %d ms behind", seq, behind)
		case highest-times[seq] > disorder:
			late++
		case times[seq] != plain[seq] && times[seq] != firstTime:
			t.Errorf("line %d has the time %d, without late ones %d", seq, times[seq], plain[seq])
		}
	}
	if late < 150 || late > 250 {
		t.Errorf("%d of %d lines are late, want about one in a hundred", late, d.Lines)
	}
	if !slices.Equal(keys, plainKeys) || !slices.Equal(rest, plainRest) {
		t.Error("late lines change other columns than time")
	}
}
