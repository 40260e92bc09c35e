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
	lines := []*loop{
		{Title: "loop in Go", ns: []float64{2, 4, 2}},
		{Title: "quick", ns: []float64{12, 24, 8}, MaxRatio: 9, unmetered: free, MaxMetered: 1.25}, // 6, 6, 4 and 1.2, 1.2, 0.8
		{Title: "slow", ns: []float64{20, 36, 16}, MaxRatio: 9, unmetered: free, MaxMetered: 1.25}, // 10, 9, 8 and 2, 1.8, 1.6
		{Title: "late", ns: []float64{20, 40, 16}, MaxRatio: 9},                                    // 10, 10, 8
	}
	var out strings.Builder
	if missed := reportLoops(&out, lines); missed != 2 {
		t.Errorf("%d missed, want 2", missed)
	}
	const want = `  aggregate alone  ns a record  of the loop            must  of unmetered             must
       loop in Go          2.0         1.00                                               
            quick         12.0         6.00          <= 9.0          1.20          <= 1.25
             slow         20.0         9.00          <= 9.0          1.80  <= 1.25  MISSED
             late         20.0        10.00  <= 9.0  MISSED                               
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
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
