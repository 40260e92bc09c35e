package window

import (
	"fmt"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/state/disk"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// wide is a stream of many keys in no order, each of which comes back: what an operator
// holds is all of them, whichever it was asked for last.
type wide struct{ records, keys int }

func (w wide) each(f func(b *stream.Batch)) {
	var rows []row
	send := func() {
		b := batchOf(rows)
		b.SetKeys([]int{0})
		f(b)
		rows = rows[:0]
	}
	for i := range w.records {
		rows = append(rows, row{key: fmt.Sprintf("key-%07d", i*7919%w.keys), ts: stream.Time(i % 1000), value: i % 10, wm: -1})
		if len(rows) == benchBatch {
			send()
		}
	}
	send()
	send() // of no rows: the end
}

func wideSpecs(t testing.TB) map[string]Spec {
	fns := func() []Function {
		return []Function{builtin(t, "count", 0), builtin(t, "sum", 2), builtin(t, "max", 2)}
	}
	spec := func(a Assigner) Spec {
		return Spec{GeneralConfig: GeneralConfig{Assigner: a, Trigger: trigger.NewEventTime(), Key: sliceKeyFields, Functions: fns(), Groups: 128, GapCol: -1, ValueCol: -1}}
	}
	return map[string]Spec{"tumbling": spec(tiles(1000, 0)), "sessions": spec(session{gap: 1000})}
}

// used is what an operator has held while it took a stream.
type used struct {
	state  int64 // most of memory and disk together
	memory int64 // most of memory after a batch
	rows   int64
}

func (w wide) run(t testing.TB, s Spec) (u used) {
	out := &sinkhole{}
	op, err := New(s, out)
	op = opened(t, op, err)
	w.each(func(b *stream.Batch) {
		if err := op.Process(b); err != nil {
			t.Fatal(err)
		}
		u.memory = max(u.memory, op.Bytes())
		u.state = max(u.state, op.Bytes()+op.Spilled().Bytes)
	})
	u.rows = out.rows
	return u
}

// An operator with a fifth of the memory that its state takes keeps to that.
func TestAFifthOfTheMemoryIsEnough(t *testing.T) {
	for name, s := range wideSpecs(t) {
		t.Run(name, func(t *testing.T) {
			w := wide{records: 20_000, keys: 10_000}
			all := w.run(t, s)
			memory := all.memory / 5
			store, err := disk.Open(t.TempDir(), memory/3)
			if err != nil {
				t.Fatal(err)
			}
			s := wideSpecs(t)[name]
			s.Spill = &Spill{Memory: memory, Open: func() state.Backing { return store.Backing(name) }}
			some := w.run(t, s)
			if some.rows != all.rows || all.rows != 10_000 {
				t.Errorf("%d rows, and %d in memory", some.rows, all.rows)
			}
			if some.memory > memory+memory/10 { // cells that a batch has needed stay there, free
				t.Errorf("the operator holds %d bytes after a batch, and may hold %d", some.memory, memory)
			}
			if some.state < 2*memory {
				t.Errorf("with the disk it holds %d bytes: too little to show anything", some.state)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// BenchmarkSpill is the time of a record whose key is mostly on disk, next to one that has
// all in memory: operators with a fifth of the memory that their state takes; and to one that is
// cut now and then, so that it notes what it changes. heap is most of what was alive, where that
// was looked at.
func BenchmarkSpill(b *testing.B) {
	w := wide{records: 300_000, keys: 100_000}
	for _, name := range []string{"tumbling", "sessions"} {
		memory := w.run(b, wideSpecs(b)[name]).memory / 5
		for _, where := range []string{"memory", "a fifth of it", "a fifth of it with cuts"} {
			b.Run(name+" in "+where, func(b *testing.B) {
				heap := int64(0)
				for b.Loop() {
					b.StopTimer()
					before, n := liveHeap(), 0
					s := wideSpecs(b)[name]
					store, err := disk.Open(b.TempDir(), memory/3)
					if err != nil {
						b.Fatal(err)
					}
					if where != "memory" {
						s.Spill = &Spill{Memory: memory, Open: func() state.Backing { return store.Backing(name) }}
					}
					op, err := New(s, &sinkhole{})
					op = opened(b, op, err)
					b.StartTimer()
					w.each(func(batch *stream.Batch) {
						if err := op.Process(batch); err != nil {
							b.Fatal(err)
						}
						if n++; n%50 == 0 {
							b.StopTimer()
							if where == "a fifth of it with cuts" { // from then on changes are noted
								cut := op.Freeze()
								cut.Apart.Disk.Published()
								if err := cut.Close(); err != nil {
									b.Fatal(err)
								}
							}
							heap = max(heap, int64(liveHeap())-int64(before))
							b.StartTimer()
						}
					})
					b.StopTimer()
					if err := store.Close(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*w.records), "ns/record")
				b.ReportMetric(float64(heap)/(1<<20), "heap-MiB")
				b.ReportMetric(float64(memory*5)/(1<<20), "state-MiB")
			})
		}
	}
}
