package main

import (
	"errors"
	"runtime/pprof"
	"slices"
	"testing"
	"time"
)

func TestDelaysOfBatches(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	turn := func(ended, cpu int) spent { return spent{at(ended), time.Duration(cpu) * time.Second} }
	taken := []stretch{{at(10), at(20)}, {at(30), at(35)}}
	turns := []spent{
		turn(5, 100),                          // before the first checkpoint: tables grow
		turn(10, 2), turn(15, 9), turn(20, 2), // 9 - 2
		turn(29, 5),                           // behind the end, but its copies are of this checkpoint
		turn(30, 2), turn(40, 6), turn(50, 2), // 6 - 2
	}
	// The median of 2, 9, 2, 5, 2, 6, 2 is 2.
	if got, want := delays(taken, turns), []float64{7, 4}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A turn is weighed by the CPU time of its thread, and only if it is that of a step.
func TestTheMeterWeighsTheTurnsOfAStep(t *testing.T) {
	var m meter
	if err := m.Acquire(t.Context()); err != nil { // it has no label
		t.Fatal(err)
	}
	m.Release(0, 0)
	if len(m.turns) > 0 {
		t.Fatalf("%d turns of no step", len(m.turns))
	}
	step := pprof.WithLabels(t.Context(), pprof.Labels("work", "step"))
	before := time.Now()
	if err := m.Acquire(step); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for i := range 1_000_000 { // some work
		sum += i % 7
	}
	m.Release(0, 0)
	elapsed := time.Since(before)
	if errors.Is(m.err, errors.ErrUnsupported) {
		return // this system does not tell the CPU time of a thread, and the meter says so
	}
	if m.err != nil || len(m.turns) != 1 || m.turns[0].cpu <= 0 || m.turns[0].cpu > elapsed {
		t.Errorf("%+v in %v (%d), %v", m.turns, elapsed, sum, m.err)
	}
}
