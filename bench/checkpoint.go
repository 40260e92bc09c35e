package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/engine"
)

// What it costs to survive a kill.
//
// Cells: a job with a million open cells, one for each key of a tumbling window that none of
// its lines closes, and a checkpoint after each million lines, while lines come as fast as they
// are read. What a batch is delayed is CPU time of the thread that works on it (see meter): the
// longest of all batches from the begin of a checkpoint to that of the next one, less the
// median of all batches. The turn in which the state is frozen is one of those. How long a
// checkpoint takes until it is decided, all of it synced, is wall time, since the disk is part of it;
// what else runs on the machine can only make it longer, so the shortest of all counts.
//
// Through: the first workload ten times as long, whole processes, with a checkpoint after
// each half a million lines and with none.
//
// Restore: a process with these cells is killed behind a checkpoint, and another one goes on.
// What counts is all CPU time of that process until it has worked on its first batch.
const (
	cellsEvery   = 1_000_000 // lines, and keys
	cellsTaken   = 6         // checkpoints
	throughEvery = 500_000   // lines
	throughTimes = 10        // as many as W1 has
	throughLeast = 8         // checkpoints that must have come about
	// throughRounds bounds the rounds, each of which takes as long as all of a workload's.
	throughRounds = 5
)

// cells is the question about them. Its window is as long as all lines, and longer.
func cells() query {
	return query{group: checkpoints, name: "cells", data: Data{Lines: cellsEvery * (cellsTaken + 2), Keys: cellsEvery, StepMicros: 1, Permuted: true},
		window: "{tumbling: 1h}", aggregates: countSumMax()}
}

const checkpoints = "checkpoints" // the group of the rows

func measureCheckpoints(ctx context.Context, s *settings) ([]Row, error) {
	q := cells()
	input, err := s.write(q.data)
	if err != nil {
		return nil, err
	}
	defer os.Remove(input)
	rows, err := s.measureCells(ctx, &q, input)
	if err != nil {
		return nil, fmt.Errorf("cells: %w", err)
	}
	restore, err := s.measureRestore(ctx, input)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	through, err := s.measureThrough()
	if err != nil {
		return nil, fmt.Errorf("with and without checkpoints: %w", err)
	}
	return append(rows, restore, through), nil
}

// write writes lines.
func (s *settings) write(d Data) (file string, err error) {
	progress("%s: writing %d lines", checkpoints, d.Lines)
	file = s.path(d.name() + ".jsonl")
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	return file, errors.Join(d.Generate(f), f.Close())
}

// fresh is an empty directory for checkpoints.
func (s *settings) fresh() (string, error) {
	dir := s.path("checkpoints")
	return dir, os.RemoveAll(dir)
}

// stretch is the time that a checkpoint took.
type stretch struct {
	begin, end time.Time
}

var errEnough = errors.New("enough was seen")

// measureCells makes the rows about the job while it runs.
func (s *settings) measureCells(ctx context.Context, q *query, input string) ([]Row, error) {
	progress("%s: cells", checkpoints)
	dir, err := s.fresh()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var m meter
	var taken []stretch
	d := durable{text: q.jobFile(input, ""), dir: dir, rows: io.Discard, every: cellsEvery, turns: &m, watch: func(e engine.Event) {
		if c, ok := e.(engine.Checkpointed); ok {
			if c.Err != nil {
				cancel(c.Err)
				return
			}
			now := time.Now()
			if taken = append(taken, stretch{now.Add(-c.Took), now}); len(taken) == cellsTaken {
				cancel(errEnough)
			}
		}
	}}
	report, err := d.run(ctx)
	if err := expectCells(report, err); err != nil {
		return nil, err
	}
	var took []float64
	for _, w := range taken {
		took = append(took, w.end.Sub(w.begin).Seconds())
	}
	complete := Row{Group: checkpoints, Measure: fmt.Sprintf("1 M cells: complete and synced, job at full speed, shortest of %d", cellsTaken), Unit: Seconds, Must: 1, Goal: 0.4, Measured: slices.Min(took)}
	if errors.Is(m.err, errors.ErrUnsupported) {
		return []Row{complete}, nil
	}
	return []Row{{Group: checkpoints, Measure: "1 M cells: longest delay of a batch, CPU", Unit: Milliseconds, Must: 60, Goal: 20,
		Measured: median(delays(taken, m.turns)) * 1000}, complete}, m.err
}

// expectCells is what a run comes to that was ended because enough was seen.
func expectCells(report engine.Report, err error) error {
	if !errors.Is(err, errEnough) {
		return fmt.Errorf("the job did not run until enough was seen: %w", err)
	}
	if n := report.Steps[0].Panes; n != cellsEvery {
		return fmt.Errorf("%d cells are open, want %d", n, cellsEvery)
	}
	return nil
}

// delays is how much longer, in s, the longest turn from the begin of each checkpoint to that of the
// next one was than turns are.
func delays(taken []stretch, turns []spent) []float64 {
	var all []float64
	longest := make([]float64, len(taken))
	for _, t := range turns {
		at := -1
		for at+1 < len(taken) && !t.ended.Before(taken[at+1].begin) {
			at++
		}
		if at >= 0 {
			cpu := t.cpu.Seconds()
			all, longest[at] = append(all, cpu), max(longest[at], cpu)
		}
	}
	for i := range longest {
		longest[i] -= median(all)
	}
	return longest
}

// measureRestore kills a process behind a checkpoint, and has others go on from that.
func (s *settings) measureRestore(ctx context.Context, input string) (row Row, err error) {
	dir, err := s.fresh()
	if err != nil {
		return row, err
	}
	progress("%s: kill -9", checkpoints)
	if err := killed(ctx, s.Self, input, dir); err != nil {
		return row, err
	}
	m := &measured{process: Process{Args: []string{s.Self, "durable", "restore", input, dir}}}
	var cpu []float64
	for round := range s.Rounds {
		progress("%s: restore %d of %d", checkpoints, round+1, s.Rounds)
		used, err := m.number(s)
		if err != nil {
			return row, err
		}
		cpu = append(cpu, time.Duration(used).Seconds())
	}
	return Row{Group: checkpoints, Measure: "1 M cells: restore after kill -9, CPU from start to the first batch", Unit: Seconds,
		Must: 1.5, Goal: 0.8, Measured: median(cpu)}, nil
}

// number runs a process, and returns the one that it prints.
func (m *measured) number(s *settings) (n int64, err error) {
	out := s.path("number")
	cost, err := m.process.Run(out)
	if err != nil {
		return 0, err
	}
	m.costs = append(m.costs, cost)
	text, err := os.ReadFile(out)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &n)
	return n, err
}

// killed runs a job with cells until it has told of a checkpoint, and kills it.
func killed(ctx context.Context, self, input, dir string) error {
	cmd := exec.CommandContext(ctx, self, "durable", "hold", input, dir)
	var messages strings.Builder
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	kill := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if err != nil || line != holding {
		return fmt.Errorf("the job told of no checkpoint: %w\n%s", errors.Join(err, kill), messages.String())
	}
	return kill
}

const holding = "there is a checkpoint\n"

// measureThrough weighs the long first workload.
func (s *settings) measureThrough() (row Row, err error) {
	q := first()
	q.data.Lines *= throughTimes
	input, err := s.write(q.data)
	if err != nil {
		return row, err
	}
	defer os.Remove(input)
	dir, err := s.fresh()
	if err != nil {
		return row, err
	}
	none := &measured{process: Process{Args: []string{s.Self, "durable", "through", input, ""}}}
	with := &measured{process: Process{Args: []string{s.Self, "durable", "through", input, dir}}}
	least, rounds := int64(0), min(s.Rounds, throughRounds)
	for round := range rounds {
		progress("%s: with and without, round %d of %d", checkpoints, round+1, rounds)
		if _, err := none.number(s); err != nil {
			return row, err
		}
		if _, err := s.fresh(); err != nil {
			return row, err
		}
		taken, err := with.number(s)
		if err != nil {
			return row, err
		}
		if round == 0 || taken < least {
			least = taken
		}
	}
	if least < throughLeast {
		return row, fmt.Errorf("%d checkpoints came about, want at least %d", least, throughLeast)
	}
	return Row{Group: checkpoints, Measure: fmt.Sprintf("W1 of %d M lines, %d checkpoints against none: all CPU", q.data.Lines/1_000_000, least), Unit: Ratio,
		Must: 1.15, Goal: 1.05, Measured: with.ratio(none), CPU: with.seconds()}, nil
}

// durablePart is what processes of these measures do.
func durablePart(ctx context.Context, what, input, dir string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := cells()
	d := durable{dir: dir, rows: io.Discard}
	switch what {
	case "hold": // until it is killed
		taken := 0
		d.text, d.every = q.jobFile(input, ""), cellsEvery
		d.watch = func(e engine.Event) {
			if c, ok := e.(engine.Checkpointed); ok && c.Err != nil {
				cancel(c.Err)
			} else if ok {
				if taken++; taken == 2 { // the first one may have the last of the cells as lines on their way
					fmt.Print(holding)
				}
			}
		}
		_, err := d.run(ctx)
		return fmt.Errorf("the job has ended: %w", err)
	case "restore": // and print the CPU time until the first batch
		var first firstBatch
		first.done = func() { cancel(errEnough) }
		d.text, d.turns = q.jobFile(input, ""), &first
		if err := expectCells(d.run(ctx)); err != nil {
			return err
		}
		fmt.Println(int64(first.cpu))
		return first.err
	case "through": // and print how many checkpoints there were
		var taken int
		q = first()
		d.text, d.every = q.jobFile(input, ""), throughEvery
		d.watch = func(e engine.Event) {
			if c, ok := e.(engine.Checkpointed); ok && c.Err == nil {
				taken++
			}
		}
		if _, err := d.run(ctx); err != nil {
			return err
		}
		fmt.Println(taken)
		return nil
	}
	return fmt.Errorf("nothing is called %q", what)
}

// firstBatch notes the CPU time of the process when its step has worked on one batch and begins
// with the next one.
type firstBatch struct {
	turns atomic.Int64
	cpu   time.Duration
	err   error
	done  func()
}

// Acquire implements engine.Turns.
func (f *firstBatch) Acquire(ctx context.Context) error {
	if ofStep(ctx) && f.turns.Add(1) == 2 {
		f.cpu, f.err = ownCPU()
		f.done()
	}
	return ctx.Err()
}

// Release implements engine.Turns.
func (f *firstBatch) Release(time.Duration, int64) {}

// Yield implements engine.Turns.
func (f *firstBatch) Yield(ctx context.Context, _ time.Duration, _ int64) error { return ctx.Err() }
