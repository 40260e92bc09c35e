package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"text/tabwriter"
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
	random := splitmix64(w1.Seed)
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
	unmetered *loop // the same without metering; nil: not measured
	// MaxRatio and MaxMetered are what the project demands of the ratios to R and to
	// unmetered; 0: nothing.
	MaxRatio, MaxMetered float64

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

// measureLoops measures in this process and prints the table. plugin is stats in Go,
// built the directory of the others.
// It returns how many demands are not met.
func measureLoops(out io.Writer, plugin, built string, rounds int) (missed int, err error) {
	native := &loop{Title: "loop in Go"}
	lines := []*loop{native}
	for _, lang := range languages(plugin, built) {
		l := &loop{Title: lang.title, file: lang.file, MaxRatio: lang.maxLoop, MaxMetered: lang.maxMetering}
		if l.MaxMetered > 0 {
			l.unmetered = &loop{file: lang.file}
		}
		lines = append(lines, l)
	}
	ctx := context.Background()
	metered, err := guest.NewInProcess(ctx, "")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, metered.Close(ctx)) }()
	unmetered, err := guest.NewUnmetered(ctx)
	if err != nil {
		return 0, err
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
			return 0, fmt.Errorf("%s: %w", l.Title, err)
		}
	}
	for range rounds {
		if err := native.measure(nativePasses, func() error { nativeLoop(table, batches); return nil }); err != nil {
			return 0, err
		}
		for _, l := range all {
			if err := l.measure(loopPasses, func() error { return l.run(batches) }); err != nil {
				return 0, err
			}
		}
	}
	fmt.Fprintf(out, "\nAggregate stats alone: batches of %d records of %d groups; medians of %d alternating rounds.\nAll results equal those of the loop in Go, bit for bit.\n\n",
		loopRows, loopGroups, rounds)
	return reportLoops(out, lines), nil
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

// reportLoops prints the table, whose first line is R, and returns how many demands are
// not met.
func reportLoops(out io.Writer, lines []*loop) int {
	var d demands
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "aggregate alone\tns a record\tof the loop\tmust\tof unmetered\tmust\t")
	for _, l := range lines {
		ratio, metered, metering := l.ratio(lines[0]), "", ""
		if l.unmetered != nil {
			m := l.ratio(l.unmetered)
			metered, metering = fmt.Sprintf("%.2f", m), d.atMost(m, l.MaxMetered, fmt.Sprintf("<= %.2f", l.MaxMetered))
		}
		fmt.Fprintf(table, "%s\t%.1f\t%.2f\t%s\t%s\t%s\t\n", l.Title, median(l.ns),
			ratio, d.atMost(ratio, l.MaxRatio, fmt.Sprintf("<= %.1f", l.MaxRatio)), metered, metering)
	}
	table.Flush()
	return d.missed
}
