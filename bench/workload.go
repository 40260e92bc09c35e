package main

import (
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
	reference reference
	allKeys   bool   // not per key
	window    string // as in a job file
	// aggregates are those of the built-in run; stats and the reference give values of the same names.
	aggregates []aggregate
	runs       []engineRun
	decode     *target // of reading the lines and nothing else; nil: not measured
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

// wide and narrow are the names of the queries that a row of output is weighed in, with 3,600 and
// with 60 overlapping windows over the same lines. The second one is there for nothing else.
const wide, narrow = "W3", "W3-60s"

// queries is the table of the workloads, in the order of the report.
func queries() []query {
	var (
		w1 = Data{Lines: 2_000_000, Keys: 10_000, StepMicros: 100}
		w3 = Data{Lines: 200_000, Keys: 100, StepMicros: 72_000}
		// The same in small: as long in event time, or with as many lines to a second.
		smallW1 = Data{Lines: 20_000, Keys: 100, StepMicros: 10_000}
		smallW3 = Data{Lines: 20_000, Keys: 10, StepMicros: 72_000}

		overPanes = target{1.7, 1.2}
	)
	late := func(d Data) Data { d.Late = 60_000; return d }
	return []query{{
		group: "W1", name: "W1", title: "tumbling 10 s", data: w1, small: smallW1,
		window: "{tumbling: 10s}", reference: tumbling(10_000, writeKeys), aggregates: countSumMax(),
		decode: &target{1, 0.75},
		runs: []engineRun{
			{target: target{2, 1.3}, always: true},
			{language: "c", target: target{2.2, 1.5}, always: true},
			{language: "rust", target: target{2.2, 1.5}, always: true},
			{language: "assemblyscript", target: target{2.2, 1.5}, always: true},
			{language: "go", target: target{3, 2}, always: true},
		},
	}, {
		group: "W2", name: "W2", title: "sliding 60 s / 1 s", data: w1, small: smallW1,
		window: "{sliding: {size: 60s, slide: 1s}}", reference: sliding{size: 60_000, slide: 1000}.loop, aggregates: countSumMax(),
		runs: withPlugins(overPanes),
	}, {
		group: "W3", name: wide, title: "sliding 1 h / 1 s", data: w3, small: smallW3,
		window: "{sliding: {size: 1h, slide: 1s}}", reference: sliding{size: 3_600_000, slide: 1000}.loop, aggregates: countSumMax(),
		decode: &target{}, runs: withPlugins(overPanes, "c"),
	}, {
		group: "W3", name: narrow, title: "sliding 60 s / 1 s", data: w3, small: smallW3,
		window: "{sliding: {size: 60s, slide: 1s}}", reference: sliding{size: 60_000, slide: 1000}.loop, aggregates: countSumMax(),
		runs: builtinOnly(target{}),
	}, {
		group: "W3", name: "W3-late", title: "with lateness 60 s, 1 % late", data: late(w3), small: late(smallW3),
		window: "{sliding: {size: 1h, slide: 1s}, allowed_lateness: 60s}", reference: sliding{size: 3_600_000, slide: 1000, lateness: 60_000}.loop,
		aggregates: countSumMax(), runs: builtinOnly(overPanes),
	}, {
		group: "W3", name: "W3-users", title: "with distinct users", data: w3, small: Data{Lines: 5_000, Keys: 10, StepMicros: 72_000},
		window: "{sliding: {size: 1h, slide: 1s}}", reference: sliding{size: 3_600_000, slide: 1000, users: true}.loop,
		aggregates: append(countSumMax(), aggregate{"users", "distinct", "user_id", stream.Int64}),
		runs:       builtinOnly(target{}),
	}, {
		group: "W3", name: "W3-7s", title: "60 s / 7 s on W1's lines", data: w1, small: smallW1,
		window: "{sliding: {size: 60s, slide: 7s}}", reference: sliding{size: 60_000, slide: 7000}.loop, aggregates: countSumMax(),
		runs: builtinOnly(overPanes),
	}, {
		group: "W4", name: "W4", title: "session, gap 30 s", data: Data{Lines: 2_000_000, Keys: 10_000, StepMicros: 1000},
		small:  Data{Lines: 20_000, Keys: 100, StepMicros: 100_000},
		window: "{session: 30s}", reference: sessions(30_000), aggregates: countSumMax(),
		runs: withPlugins(target{2, 1.3}),
	}, {
		group: "W5", name: "W5", title: "tumbling 10 s, 1 M keys", data: Data{Lines: 2_000_000, Keys: 1_000_000, StepMicros: 10, Permuted: true},
		small:  Data{Lines: 20_000, Keys: 10_000, StepMicros: 1000, Permuted: true},
		window: "{tumbling: 10s}", reference: tumbling(10_000, writeKeys), aggregates: countSumMax(),
		runs: withPeak(target{300, 200}, withPlugins(target{1.2, 0.8})),
	}, {
		group: "W6", name: "W6", title: "all keys, tumbling 1 s", data: w1, small: smallW1, allKeys: true,
		window: "{tumbling: 1s}", reference: tumbling(1000, writeEverything),
		aggregates: []aggregate{
			{"count", "count", "", stream.Int64},
			{"distinct", "distinct", "key", stream.Int64},
			{"top", "top_k", "key", stream.Token},
		},
		runs: builtinOnly(target{1.8, 1.2}),
	}}
}

// first is the first of them, which further measures are about.
func first() query { return queries()[0] }

func builtinOnly(t target) []engineRun { return []engineRun{{target: t, always: true}} }

// withPlugins is the built-in aggregates, and stats in each language, of which nothing is
// demanded; always are those that are measured always.
func withPlugins(t target, always ...string) []engineRun {
	runs := builtinOnly(t)
	for _, l := range languages("", "") {
		runs = append(runs, engineRun{language: l.name, always: slices.Contains(always, l.name)})
	}
	return runs
}

// withPeak demands something of the memory of the built-in aggregates, too.
func withPeak(mebibytes target, runs []engineRun) []engineRun {
	runs[0].peak = mebibytes
	return runs
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
