package main

import (
	"strings"
	"testing"

	"tidemark/abi/guest"
	"tidemark/engine/wasm"
	"tidemark/internal/env"
)

func TestReportOfLoops(t *testing.T) {
	free := &loop{ns: []float64{10, 20, 10}}
	rows := reportLoops([]*loop{
		{Title: "loop in Go", ns: []float64{2, 4, 2}},
		{Title: "quick", ns: []float64{12, 24, 8}, target: target{9, 7}, unmetered: free, metering: target{1.25, 1.1}}, // 6, 6, 4 and 1.2, 1.2, 0.8
		{Title: "slow", ns: []float64{20, 40, 16}, target: target{9, 7}},                                               // 10, 10, 8
	})
	for i, want := range []Row{
		{Group: "guest loop", Measure: "loop in Go (2.0 ns a record)", Unit: Ratio, Measured: 1},
		{Group: "guest loop", Measure: "quick (12.0 ns a record)", Unit: Ratio, Must: 9, Goal: 7, Measured: 6},
		{Group: "guest loop", Measure: "slow (20.0 ns a record)", Unit: Ratio, Must: 9, Goal: 7, Measured: 10},
		{Group: "guest loop", Measure: "quick, against unmetered", Unit: Ratio, Must: 1.25, Goal: 1.1, Measured: 1.2},
	} {
		if i >= len(rows) || rows[i] != want {
			t.Errorf("row %d of %+v, want %+v", i, rows, want)
		}
	}
}

// What is measured does the loop's work, in every number of every group.
func TestLoopsGiveTheSame(t *testing.T) {
	batches := loopData()
	table := make([]tally, loopGroups)
	nativeLoop(table, batches)
	records := int64(0)
	for _, c := range table {
		records += c.count
	}
	if records != loopBatches*loopRows || len(batches) != loopBatches {
		t.Fatalf("%d records in %d batches", records, len(batches))
	}
	for name, newCompiler := range map[string]func() (*guest.InProcess, error){
		"metered":   func() (*guest.InProcess, error) { return guest.NewInProcess(t.Context(), "") },
		"unmetered": func() (*guest.InProcess, error) { return guest.NewUnmetered(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			compiler, err := newCompiler()
			if err != nil {
				t.Fatal(err)
			}
			modules := wasm.NewPlugins(compiler, wasm.Files(env.Real().FS))
			for _, lang := range languages("", "../internal/wasmtest/built")[:3] {
				l := &loop{file: lang.file}
				if err := l.open(t.Context(), modules); err != nil {
					t.Fatal(err)
				}
				if err := l.run(batches); err != nil {
					t.Fatal(err)
				}
				if err := l.compare(table); err != nil {
					t.Errorf("%s: %v", lang.name, err)
				}
				if err := l.run(batches[:1]); err != nil {
					t.Fatal(err)
				}
				if err := l.compare(table); err == nil || !strings.Contains(err.Error(), "the loop in Go has") {
					t.Errorf("%s: a batch more is %v", lang.name, err)
				}
				if err := l.fn.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := modules.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := compiler.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
