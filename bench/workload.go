package main

import (
	"io"
	"slices"

	"tidemark/engine/stream"
)

// query is one question over one stream of lines: what is asked, how a plain loop answers
// it, how a job does, and what is demanded of the job.
type query struct {
	group string // the workload that it belongs to
	name  string // for files and on the command line
	title string // in the table
	data  Data
	small Data // the same for the tests, in a fraction of a second
	// reference is the plain loop that answers this question and no other.
	reference func(in io.Reader, out io.Writer) error
	allKeys   bool   // not per key
	window    string // as in a job file
	// aggregates are those of the built-in run, values what they and the reference give.
	aggregates []aggregate
	runs       []engineRun
	decode     target // of reading the lines and nothing else; zero: not measured
}

// aggregate is one of a job, and the name and kind of its value in rows.
type aggregate struct {
	name, function, column string
	kind                   stream.Kind
}

// engineRun is the query as a job, by built-in aggregates or by the plug-in stats.
type engineRun struct {
	language string // of the plug-in; empty: built-in aggregates
	target
	peak   target // of the largest resident memory, in MiB
	always bool   // measured also when nothing was asked for by name
}

// target is what is demanded, as an upper bound; 0: nothing.
type target struct{ must, goal float64 }

func (t target) given() bool { return t != target{} }

// countSumMax is what most workloads compute of a window and key: 24 bytes of accumulator.
func countSumMax() []aggregate {
	return []aggregate{
		{"count", "count", "", stream.Int64},
		{"sum", "sum", "amount", stream.Float64},
		{"max", "max", "amount", stream.Float64},
	}
}

// queries is the table of the workloads, in the order of the report.
func queries() []query {
	w1 := Data{Lines: 2_000_000, Keys: 10_000, StepMicros: 100}
	smallW1 := Data{Lines: 20_000, Keys: 100, StepMicros: 10_000}
	return []query{{
		group: "W1", name: "W1", title: "tumbling 10 s",
		data: w1, small: smallW1,
		reference: Reference, window: "{tumbling: 10s}", aggregates: countSumMax(),
		decode: target{1, 0.75},
		runs: []engineRun{
			{target: target{2, 1.3}, always: true},
			{language: "c", target: target{2.2, 1.5}, always: true},
			{language: "rust", target: target{2.2, 1.5}, always: true},
			{language: "assemblyscript", target: target{2.2, 1.5}, always: true},
			{language: "go", target: target{3, 2}, always: true},
		},
	}}
}

// groups are the names of the workloads.
func groups() []string {
	var names []string
	for _, q := range queries() {
		if !slices.Contains(names, q.group) {
			names = append(names, q.group)
		}
	}
	return names
}
