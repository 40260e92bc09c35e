package main

import (
	"errors"
	"fmt"

	"tidemark/engine/laws"
	"tidemark/engine/udf"
)

// What functions of firings and triggers cost. Calls begin without states, and leave them
// to nobody, so that all calls of a batch are alike.

// benchList is how many records each list of a firing has.
const benchList = 10

func (b *pluginBench) process(p udf.Process) error {
	info := p.Info()
	out := make([]udf.Emitted, 1+len(info.Side))
	call := func(in *udf.Firings) error {
		laws.Forget(&in.Keys)
		laws.Forget(&in.Windows)
		out[0].Reset(info.Outputs)
		for i, side := range info.Side {
			out[i+1].Reset(side.Outputs)
		}
		return p.Call(in, out)
	}
	var pool []*udf.Firings
	for i := range min(benchPool, b.batches()) {
		in, err := takenFirings(laws.Firings(info, benchSeed+uint64(i), benchBatch, b.groups, benchList), call)
		if err != nil {
			return err
		}
		pool = append(pool, in)
	}
	what := "process, a firing"
	if len(info.Lists) > 0 {
		what += fmt.Sprintf(" with %d records", benchList*len(info.Lists))
	}
	return benchCalls(b, what, pool, func(in *udf.Firings) int { return len(in.Window) }, call)
}

// takenFirings are firings without those that the function refuses.
func takenFirings(load *laws.FiringLoad, call func(*udf.Firings) error) (*udf.Firings, error) {
	for {
		in := load.Firings()
		err := call(in)
		f, refused := errors.AsType[*udf.Failure](err)
		switch {
		case err == nil:
			return in, nil
		case !refused || f.Op < 0 || f.Op >= load.N():
			return nil, err
		case load.N() == 1:
			return nil, usagef("plugin bench: the plug-in refuses every firing that can be generated: %s", f.Message)
		}
		load.Drop(f.Op)
	}
}

func (b *pluginBench) trigger(t udf.Trigger) error {
	var out udf.Decisions
	call := func(in *udf.TriggerOps) error {
		laws.Forget(&in.States)
		out.Reset(len(in.Ops))
		return t.Decide(in, &out)
	}
	var pool []*udf.TriggerOps
	counts := map[udf.TriggerOp]int{}
	for i := range min(benchPool, b.batches()) {
		in, err := laws.Operations(t, benchSeed+uint64(i), benchBatch)
		if err != nil {
			return err
		}
		if len(in.Ops) == 0 {
			return usagef("plugin bench: the plug-in refuses every record that can be generated")
		}
		for _, op := range in.Ops {
			counts[op.What]++
		}
		pool = append(pool, in)
	}
	records, timers := counts[udf.OnElement], counts[udf.OnEventTimer]+counts[udf.OnProcessingTimer]
	ends := counts[udf.OnMerge] + counts[udf.OnClear]
	all := records + timers + ends
	b.note = fmt.Sprintf("of the operations %d %% are records, %d %% timers and %d %% merges and ends of windows", percent(records, all), percent(timers, all), percent(ends, all))
	return benchCalls(b, "trigger, an operation", pool, func(in *udf.TriggerOps) int { return len(in.Ops) }, call)
}

func percent(n, of int) int { return (100*n + of/2) / of }
