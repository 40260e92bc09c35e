package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
)

func TestMemoryThatGrowsIsTold(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []int64 // MiB
		grows   bool
	}{
		{"grows in the first third only", []int64{10, 50, 90, 100, 100, 101, 100, 101, 100}, false},
		{"grows all the time", []int64{10, 20, 30, 40, 50, 60, 70, 80, 90}, true},
		{"goes up and down", []int64{90, 120, 90, 120, 90, 120, 90, 120, 90}, false},
		{"one peak at the end", []int64{90, 90, 90, 90, 90, 90, 90, 90, 200}, false},
		{"shrinks", []int64{90, 90, 90, 90, 90, 90, 50, 50, 50}, false},
	} {
		for i := range c.samples {
			c.samples[i] *= mebibyte
		}
		if _, err := judgeMemory(c.samples); (err != nil) != c.grows {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestPacedWritesAllUntilItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var to bytes.Buffer
	p := &paced{ctx: ctx, to: &to}
	text := bytes.Repeat([]byte("0123456789"), soakPace/100) // a tenth of a second
	start := time.Now()
	for range 2 {
		if n, err := p.Write(text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if !bytes.Equal(to.Bytes(), append(text, text...)) {
		t.Error("what was written is not what was given")
	}
	if took := time.Since(start); took < 90*time.Millisecond { // the second has to wait for the first
		t.Errorf("took %v", took)
	}
	over := errors.New("over")
	cancel(over)
	if _, err := p.Write(text); !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
}
