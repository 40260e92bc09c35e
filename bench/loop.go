package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"tidemark/abi/guest"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/wasm"
	"tidemark/internal/env"
)

// The loop of a guest alone: the aggregate stats in batches, with nothing of a job
// around it. Each batch takes the accumulators of its groups out of a table, as a
// window does, shows them to the plug-in with the records, and puts them back. Which
// groups a batch has is known before: finding them is the window's business.
//
// R here is a loop in Go over the same records that updates the same table in place.
const (
	loopGroups  = 10_000
	loopRows    = 1024
	loopBatches = 64
	// Figures are short, so that those of a round were taken under the same conditions:
	// a pass over the batches is 65,536 records. R's is longer, to be as long.
	loopPasses   = 3
	nativePasses = 20
	// loopRounds is how many rounds a round of the workloads stands for.
	loopRounds = 15
)

// accBytes is the width of the accumulators of stats in every language.
const accBytes = 32

// tally is what stats keeps of a group.
type tally struct {
	count         int64
	sum, min, max float64
}

// loopBatch is a batch, its groups numbered among all of them and among its own.
type loopBatch struct {
	all  []uint32
	own  []uint32 // which of all is number i of the batch's own
	rows udf.Rows
}

func loopData() []loopBatch {
	random := splitmix64(seed)
	batches := make([]loopBatch, loopBatches)
	for i := range batches {
		b := &batches[i]
		columns := &stream.Batch{}
		columns.Reset([]stream.Kind{stream.Float64})
		b.rows = udf.Rows{Batch: columns, Cols: []int{0}}
		number := map[uint32]uint32{}
		for row := range uint32(loopRows) {
			group := uint32(random.next() % loopGroups)
			n, ok := number[group]
			if !ok {
				n = uint32(len(b.own))
				number[group] = n
				b.own = append(b.own, group)
			}
			b.all = append(b.all, group)
			b.rows.Sel, b.rows.Group = append(b.rows.Sel, row), append(b.rows.Group, n)
			columns.Cols[0].AppendFloat(float64(1+random.next()%maxQuarters) / 4)
		}
		columns.N, b.rows.Groups = loopRows, len(b.own)
	}
	return batches
}

// nativeLoop is R.
func nativeLoop(table []tally, batches []loopBatch) {
	for i := range batches {
		values := batches[i].rows.Batch.Cols[0].Floats
		for row, group := range batches[i].all {
			t, v := &table[group], values[row]
			if t.count == 0 {
				t.min, t.max = v, v
			} else if v < t.min {
				t.min = v
			} else if v > t.max {
				t.max = v
			}
			t.count++
			t.sum += v
		}
	}
}

// loop is a line of the table.
type loop struct {
	Title     string
	file      string
	unmetered *loop  // the same without metering; nil: not measured
	target           // of the ratio to R
	metering  target // of the ratio to unmetered

	fn    udf.Aggregate
	table [][accBytes]byte
	accs  udf.Accs
	ns    []float64 // a record, by round
}

// run shows a plug-in all batches.
func (l *loop) run(batches []loopBatch) error {
	for i := range batches {
		b := &batches[i]
		data := l.accs.Data[:len(b.own)*accBytes]
		l.accs.Data = data
		for n, group := range b.own {
			*(*[accBytes]byte)(data[n*accBytes:]) = l.table[group]
		}
		if err := l.fn.Add(&l.accs, &b.rows); err != nil {
			return err
		}
		for n, group := range b.own {
			l.table[group] = *(*[accBytes]byte)(data[n*accBytes:])
		}
	}
	return nil
}

// open starts a plug-in with a table of fresh accumulators.
func (l *loop) open(ctx context.Context, modules *wasm.Plugins) error {
	plug := &job.Plugin{Name: filepath.Base(l.file), File: l.file}
	_, err := modules.Describe(plug)
	if err == nil {
		l.fn, err = modules.Aggregate(ctx, plug, &job.Aggregate{Plugin: plug.Name}, []stream.Kind{stream.Float64})
	}
	if err != nil {
		return err
	}
	if w := l.fn.Info().Width; w != accBytes {
		return fmt.Errorf("accumulators have %d bytes, those of stats %d", w, accBytes)
	}
	if err := l.fn.Create(&l.accs, loopRows); err != nil {
		return err
	}
	l.table = slices.Repeat([][accBytes]byte{[accBytes]byte(l.accs.At(0))}, loopGroups)
	return nil
}

// compare tells whether a plug-in's table says what R's does, to the bit.
func (l *loop) compare(want []tally) error {
	var out stream.Columns
	for _, f := range l.fn.Info().Outputs {
		out.Cols = append(out.Cols, stream.Column{Kind: f.Kind})
	}
	accs := udf.Accs{Width: accBytes}
	for i := range l.table {
		accs.Append(l.table[i][:])
	}
	if err := l.fn.Result(&accs, &out); err != nil {
		return err
	}
	for g, t := range want {
		got := tally{out.Cols[0].Ints[g], out.Cols[1].Floats[g], out.Cols[2].Floats[g], out.Cols[3].Floats[g]}
		if got.count != t.count || math.Float64bits(got.sum) != math.Float64bits(t.sum) ||
			math.Float64bits(got.min) != math.Float64bits(t.min) || math.Float64bits(got.max) != math.Float64bits(t.max) {
			return fmt.Errorf("group %d has %+v, the loop in Go has %+v", g, got, t)
		}
	}
	return nil
}

// loops are the lines of the table: R, then a plug-in in each language.
func loops(s *settings) []*loop {
	all := []*loop{{Title: "native loop, group index given"}}
	for _, lang := range languages(s.Plugin, s.Built) {
		l := &loop{Title: lang.title + ", metered", file: lang.file, target: target{9, 7}}
		switch lang.name {
		case "c":
			l.metering = target{1.25, 1.15}
		case "go":
			l.target, l.metering = target{14, 12}, target{1.9, 1.5}
		}
		if l.metering.given() {
			l.unmetered = &loop{file: lang.file}
		}
		all = append(all, l)
	}
	return all
}

// measureLoops measures in this process.
func measureLoops(ctx context.Context, s *settings) (rows []Row, err error) {
	lines := loops(s)
	native := lines[0]
	metered, err := guest.NewInProcess(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, metered.Close(ctx)) }()
	unmetered, err := guest.NewUnmetered(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unmetered.Close(ctx)) }()

	batches := loopData()
	table := make([]tally, loopGroups)
	nativeLoop(table, batches)
	var all []*loop
	start := func(l *loop, c guest.Compiler) error {
		all = append(all, l)
		if err := l.open(ctx, wasm.NewPlugins(c, wasm.Files(env.Real().FS))); err != nil {
			return err
		}
		if err := l.run(batches); err != nil {
			return err
		}
		return l.compare(table)
	}
	defer func() {
		for _, l := range all {
			if l.fn != nil {
				err = errors.Join(err, l.fn.Close())
			}
		}
	}()
	for _, l := range lines[1:] {
		err := start(l, metered)
		if err == nil && l.unmetered != nil {
			err = start(l.unmetered, unmetered)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Title, err)
		}
	}
	for range loopRounds * s.Rounds {
		if err := native.measure(nativePasses, func() error { nativeLoop(table, batches); return nil }); err != nil {
			return nil, err
		}
		for _, l := range all {
			if err := l.measure(loopPasses, func() error { return l.run(batches) }); err != nil {
				return nil, err
			}
		}
	}
	return reportLoops(lines), nil
}

// measure adds the figure of a round.
func (l *loop) measure(passes int, pass func() error) error {
	before, err := ownCPU()
	if err != nil {
		return err
	}
	for range passes {
		if err := pass(); err != nil {
			return err
		}
	}
	after, err := ownCPU()
	l.ns = append(l.ns, float64((after-before)/time.Nanosecond)/float64(passes*loopBatches*loopRows))
	return err
}

// ratio is the median of the rounds' own ratios.
func (l *loop) ratio(to *loop) float64 {
	ratios := make([]float64, len(l.ns))
	for round := range l.ns {
		ratios[round] = l.ns[round] / to.ns[round]
	}
	return median(ratios)
}

// reportLoops makes the rows; the first line is R.
func reportLoops(lines []*loop) []Row {
	const group = "guest loop"
	var rows []Row
	for _, l := range lines {
		rows = append(rows, Row{Group: group, Measure: fmt.Sprintf("%s (%.1f ns a record)", l.Title, median(l.ns)), Unit: Ratio,
			Must: l.must, Goal: l.goal, Measured: l.ratio(lines[0])})
	}
	for _, l := range lines {
		if l.unmetered != nil {
			rows = append(rows, Row{Group: group, Measure: l.Title + ", against unmetered", Unit: Ratio,
				Must: l.metering.must, Goal: l.metering.goal, Measured: l.ratio(l.unmetered)})
		}
	}
	return rows
}
