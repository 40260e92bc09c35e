package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// extra is a measure beside the workloads. It runs in a process of its own, so that what
// it holds and does concerns nothing else, and may start others.
type extra struct {
	name string // to ask for it: bench NAME
	// everyCore lets its process use all cores; otherwise it is pinned to one, and so is
	// what it starts.
	everyCore bool
	measure   func(context.Context, *settings) ([]Row, error)
}

// extras is the list to add a measure to: a name, and a function that returns the rows of
// the table. They are measured in this order, behind the workloads.
func extras() []extra {
	return []extra{
		{name: "heap", measure: measureHeap},
		{name: "loop", measure: measureLoops},
		{name: "scaling", measure: measureScaling},
		{name: "checkpoint", everyCore: true, measure: measureCheckpoints},
		{name: "latency", everyCore: true, measure: measureLatency},
	}
}

// inOwnProcess starts the measure anew, as `bench rows NAME SETTINGS`.
func (x extra) inOwnProcess(s *settings) ([]Row, error) {
	given, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := s.path(x.name + ".json")
	p := Process{Args: []string{s.Self, "rows", x.name, string(given)}, EveryCore: x.everyCore}
	if _, err := p.Run(out); err != nil {
		return nil, fmt.Errorf("%s: %w", x.name, err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	var rows []Row
	return rows, json.Unmarshal(text, &rows)
}

// printRows is the other end of inOwnProcess.
func printRows(ctx context.Context, name, given string) error {
	var s settings
	if err := json.Unmarshal([]byte(given), &s); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	for _, x := range extras() {
		if x.name == name {
			rows, err := x.measure(ctx, &s)
			if err != nil {
				return err
			}
			return json.NewEncoder(os.Stdout).Encode(rows)
		}
	}
	return fmt.Errorf("there is no measure %q", name)
}
