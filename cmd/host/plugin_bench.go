package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tidemark/engine/agg"
	"tidemark/engine/laws"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/wasm"
)

const (
	benchBatch  = 1_024 // records in a call, as many as a job's batches have at most
	benchRounds = 7     // of which the median counts
	benchPool   = 16    // different batches, over and over: more would measure memory
	benchSeed   = 1     // records are the same every time, and so is the fuel

	defaultBenchRecords = 100_000
	maxBenchRecords     = 100_000_000
	maxBenchGroups      = 100_000
)

func newPluginBenchCommand() *cobra.Command {
	var b pluginBench
	var args []string
	cmd := &cobra.Command{
		Use:   "bench FILE.wasm",
		Short: "measure what a plug-in costs for each record",
		Long: "Measures the function of a plug-in on generated records, pairs, firings or operations in batches of 1,024: nanoseconds\n" +
			"and fuel for each, the median of seven rounds; an aggregate beside the built-in count and sum over its first numeric column, and a loop in Go that does\n" +
			"the same. Fuel is the same everywhere, nanoseconds are this machine's, and only those of one run compare.",
		Args: exactly(1, "the file of a plug-in"),
	}
	flags := cmd.Flags()
	flags.IntVar(&b.records, "records", defaultBenchRecords, "records in a round; pairs, firings or operations")
	flags.IntVar(&b.groups, "groups", 100, "accumulators that the records of a batch are dealt out to; keys of the firings")
	flags.StringSliceVar(&args, "args", nil, "arguments: NAME=VALUE,…")
	cmd.RunE = func(cmd *cobra.Command, files []string) (err error) {
		if b.records < 1 || b.records > maxBenchRecords || b.groups < 1 || b.groups > maxBenchGroups {
			return usagef("plugin bench: --records must be 1 to %d and --groups 1 to %d", maxBenchRecords, maxBenchGroups)
		}
		x, err := examine(cmd.Context(), files[0], args)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, x.Close()) }()
		x.watch = func(c wasm.Call) { b.fuel, b.memory = b.fuel+c.Fuel, max(b.memory, c.Memory) }
		return b.run(cmd.Context(), cmd.OutOrStdout(), x)
	}
	return cmd
}

// pluginBench is a run of plugin bench.
type pluginBench struct {
	records, groups int
	fuel            int64 // of the calls since it was set to 0
	memory          int64 // the most that an instance had
	lines           *table
	note            string // behind the lines; may be empty
}

// batches is how many make up a round.
func (b *pluginBench) batches() int { return (b.records + benchBatch - 1) / benchBatch }

// measure adds a line: round does its work on so many things.
func (b *pluginBench) measure(what string, things int, round func() error) error {
	times := make([]time.Duration, benchRounds)
	fuel := "-"
	for i := range times {
		b.fuel = 0
		began := time.Now()
		if err := round(); err != nil {
			return err
		}
		times[i] = time.Since(began)
		if i == 0 && b.fuel > 0 { // the later ones are the same calls on a used instance
			fuel = fmt.Sprintf("%.1f", float64(b.fuel)/float64(things))
		}
	}
	slices.Sort(times)
	b.lines.add(what, fmt.Sprintf("%.1f", float64(times[benchRounds/2].Nanoseconds())/float64(things)), fuel)
	return nil
}

func (b *pluginBench) run(ctx context.Context, w io.Writer, x *examined) error {
	b.lines = newTable("", ">ns", ">fuel")
	var err error
	var start time.Duration
	switch {
	case x.Aggregate != nil:
		if start, err = measureStart(ctx, x.openAggregate); err == nil {
			err = benched(ctx, x.openAggregate, b.aggregate)
		}
	case x.Map != nil:
		if start, err = measureStart(ctx, x.openMap); err == nil {
			err = benched(ctx, x.openMap, b.mapping)
		}
	case x.Pair != nil:
		if start, err = measureStart(ctx, x.openPair); err == nil {
			err = benched(ctx, x.openPair, b.pair)
		}
	case x.Generator != nil:
		if start, err = measureStart(ctx, x.openGenerator); err == nil {
			err = benched(ctx, x.openGenerator, b.generator)
		}
	case x.Assigner != nil:
		if start, err = measureStart(ctx, x.openAssigner); err == nil {
			err = benched(ctx, x.openAssigner, b.assigner)
		}
	case x.Process != nil:
		if start, err = measureStart(ctx, x.openProcess); err == nil {
			err = benched(ctx, x.openProcess, b.process)
		}
	case x.Trigger != nil:
		if start, err = measureStart(ctx, x.openTrigger); err == nil {
			err = benched(ctx, x.openTrigger, b.trigger)
		}
	default:
		return usagef("plugin bench: plug-ins of this kind cannot be measured yet")
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s %s: %s of %s, the median of %d rounds\n", x.Name, x.Version, batchesText(b.batches()), thousands(benchBatch), benchRounds)
	b.lines.write(w, "")
	if b.note != "" {
		fmt.Fprintln(w, b.note)
	}
	fmt.Fprintf(w, "an instance starts in %.1f ms and had at most %s of 64.0 MiB\n", float64(start.Microseconds())/1000, mebibytes(b.memory))
	return nil
}

func batchesText(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return thousands(int64(n)) + " batches"
}

func benched[F interface{ Close() error }](ctx context.Context, open func(context.Context) (F, error), run func(F) error) error {
	f, err := open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(run(f), f.Close())
}

// measureStart is how long an instance takes to start and to take its arguments, of a module
// that is compiled.
func measureStart[F interface{ Close() error }](ctx context.Context, open func(context.Context) (F, error)) (time.Duration, error) {
	if _, err := once(ctx, open, func(F) int { return 0 }); err != nil { // compiles
		return 0, err
	}
	times := make([]time.Duration, benchRounds)
	for i := range times {
		began := time.Now()
		f, err := open(ctx)
		times[i] = time.Since(began)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[benchRounds/2], nil
}

// pool makes the batches, without the records that the function refuses.
func (b *pluginBench) pool(inputs []udf.Input, groups int, call func(*udf.Rows) error) ([]*udf.Rows, error) {
	var pool []*udf.Rows
	for i := range min(benchPool, b.batches()) {
		rows := laws.Rows(inputs, benchSeed+uint64(i), benchBatch, groups)
		for {
			err := call(rows)
			f, refused := errors.AsType[*udf.Failure](err)
			if err == nil {
				break
			}
			if !refused || f.Op < 0 || f.Op >= len(rows.Sel) {
				return nil, err
			}
			if len(rows.Sel) == 1 {
				return nil, usagef("plugin bench: the plug-in refuses every record that can be generated: %s", f.Message)
			}
			rows.Sel, rows.Group = slices.Delete(rows.Sel, f.Op, f.Op+1), slices.Delete(rows.Group, f.Op, f.Op+1)
		}
		pool = append(pool, rows)
	}
	return pool, nil
}

// benchCalls measures rounds of calls over a pool, for each of the things in them. first
// comes at the beginning of each round.
func benchCalls[C any](b *pluginBench, what string, pool []C, size func(C) int, call func(C) error, first ...func() error) error {
	things := 0
	for i := range b.batches() {
		things += size(pool[i%len(pool)])
	}
	return b.measure(what, things, func() error {
		for _, f := range first {
			if err := f(); err != nil {
				return err
			}
		}
		for i := range b.batches() {
			if err := call(pool[i%len(pool)]); err != nil {
				return err
			}
		}
		return nil
	})
}

// sizeOf is how many records a call has.
func sizeOf(rows *udf.Rows) int { return len(rows.Sel) }

func (b *pluginBench) aggregate(a udf.Aggregate) error {
	info := a.Info()
	var accs udf.Accs
	add := adder(a, &accs)
	fresh := func() error { return a.Create(&accs, b.groups) }
	pool, err := b.pool(info.Inputs, b.groups, func(rows *udf.Rows) error { return errors.Join(fresh(), add(rows)) })
	if err != nil {
		return err
	}
	if err := b.adding("add, a record", pool, fresh, add); err != nil {
		return err
	}
	// accs has accumulators of a full round, or of a batch where they vary in size.
	from, into := accs, udf.Accs{}
	from.Data, from.Off = slices.Clone(accs.Data), slices.Clone(accs.Off)
	if err := b.measure("merge, an accumulator", b.groups, func() error {
		into.Reset(info.Width)
		for g := range from.N() {
			into.Append(from.At(g))
		}
		return a.Merge(&into, &from)
	}); err != nil {
		return err
	}
	out := &stream.Columns{Cols: make([]stream.Column, len(info.Outputs))}
	if err := b.measure("result, an accumulator", b.groups, func() error {
		for i, f := range info.Outputs {
			out.Cols[i].Reset(f.Kind)
		}
		out.Blob = out.Blob[:0]
		return a.Result(&from, out)
	}); err != nil {
		return err
	}
	return b.beside(info.Inputs, pool)
}

// adder folds batches into accs.
func adder(a udf.Aggregate, accs *udf.Accs) func(*udf.Rows) error {
	varies := a.Info().Width == 0
	return func(rows *udf.Rows) error {
		if varies {
			accs.Reset(0)
		}
		return a.Add(accs, rows)
	}
}

// adding measures rounds of batches, each on fresh accumulators.
func (b *pluginBench) adding(what string, pool []*udf.Rows, fresh func() error, add func(*udf.Rows) error) error {
	return benchCalls(b, what, pool, sizeOf, add, fresh)
}

// beside measures the built-in count and sum over the same records, and a loop.
func (b *pluginBench) beside(inputs []udf.Input, pool []*udf.Rows) error {
	col := slices.IndexFunc(inputs, func(in udf.Input) bool { return in.Kind == stream.Int64 || in.Kind == stream.Float64 })
	counted, err := agg.New("count", nil)
	if err != nil {
		return err
	}
	var counts, sums udf.Accs
	what := "built-in count"
	fresh := func() error { return counted.Create(&counts, b.groups) }
	add := adder(counted, &counts)
	if col >= 0 {
		summed, err := agg.New("sum", []stream.Kind{inputs[col].Kind})
		if err != nil {
			return err
		}
		what += " and sum"
		fresh = func() error { return errors.Join(counted.Create(&counts, b.groups), summed.Create(&sums, b.groups)) }
		add = func(rows *udf.Rows) error {
			one := udf.Rows{Batch: rows.Batch, Cols: []int{col}, Sel: rows.Sel, Group: rows.Group, Groups: rows.Groups}
			return errors.Join(counted.Add(&counts, &one), summed.Add(&sums, &one))
		}
	}
	if err := b.adding(what+", a record", pool, fresh, add); err != nil {
		return err
	}
	tallies := make([]tally, b.groups)
	if err := b.adding("a loop in Go, a record", pool, func() error { clear(tallies); return nil }, func(rows *udf.Rows) error {
		loop(tallies, rows, col)
		return nil
	}); err != nil {
		return err
	}
	for g := range tallies { // the loop has done the same work
		if n := int64(binary.LittleEndian.Uint64(counts.At(g))); tallies[g].n != n {
			return fmt.Errorf("BUG: group %d has %d records in the loop, and %d in count", g, tallies[g].n, n)
		}
	}
	return nil
}

// tally is what the loop keeps of a group.
type tally struct {
	n     int64
	ints  int64
	total float64
}

func loop(tallies []tally, rows *udf.Rows, col int) {
	switch {
	case col < 0:
		for _, g := range rows.Group {
			tallies[g].n++
		}
	case rows.Batch.Cols[col].Kind == stream.Float64:
		values := rows.Batch.Cols[col].Floats
		for i, r := range rows.Sel {
			t := &tallies[rows.Group[i]]
			t.n++
			t.total += values[r]
		}
	default:
		values := rows.Batch.Cols[col].Ints
		for i, r := range rows.Sel {
			t := &tallies[rows.Group[i]]
			t.n++
			t.ints += values[r]
		}
	}
}

func (b *pluginBench) mapping(m udf.Map) error {
	info := m.Info()
	var out udf.Emitted
	call := func(rows *udf.Rows) error {
		out.Reset(info.Outputs)
		return m.Call(rows, &out)
	}
	pool, err := b.pool(info.Inputs, 1, call)
	if err != nil {
		return err
	}
	return benchCalls(b, "map, a record", pool, sizeOf, call)
}

func (b *pluginBench) assigner(a udf.Assigner) error {
	info := a.Info()
	var out udf.Assigned
	call := func(rows *udf.Rows) error {
		out.Truncate(0)
		return a.Assign(rows, &out)
	}
	pool, err := b.pool(info.Inputs, 1, call)
	if err != nil {
		return err
	}
	return benchCalls(b, "assign, a record", pool, sizeOf, call)
}

func (b *pluginBench) generator(g udf.Generator) error {
	info := g.Info()
	var state []byte
	wm := make([]stream.Time, benchBatch)
	call := func(rows *udf.Rows) (err error) {
		state, err = g.Records(&udf.Timed{Columns: &rows.Batch.Columns, Cols: rows.Cols, Time: rows.Batch.Time}, state, wm)
		return err
	}
	pool, err := b.pool(info.Inputs, 1, call)
	if err != nil {
		return err
	}
	return benchCalls(b, "watermark, a record", pool, sizeOf, call)
}

// pair measures pairs of one record with one other: no record is in two.
func (b *pluginBench) pair(p udf.Pair) error {
	info := p.Info()
	rights := map[*udf.Rows]*udf.Rows{}
	var out udf.Emitted
	call := func(rows *udf.Rows) error {
		r := rights[rows]
		if r == nil {
			r = laws.Rows(info.Right, benchSeed+benchPool+uint64(len(rights)), benchBatch, 1)
			rights[rows] = r
		}
		out.Reset(info.Outputs)
		l := rows.Batch
		in := udf.Pairs{Left: udf.PairSide{Columns: &l.Columns, Time: l.Time}, Right: udf.PairSide{Columns: &r.Batch.Columns, Time: r.Batch.Time}, L: rows.Sel, R: rows.Sel}
		for _, i := range rows.Sel {
			in.Time = append(in.Time, max(l.Time[i], r.Batch.Time[i]))
		}
		return p.Call(&in, &out)
	}
	pool, err := b.pool(info.Left, 1, call)
	if err != nil {
		return err
	}
	return benchCalls(b, "pair", pool, sizeOf, call)
}
