package window

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// newer is a function as its next version: what it keeps has a mark in front, which its first
// version did not have.
type newer struct {
	udf.Aggregate
	t        testing.TB
	upgraded *int
}

var secondMark = []byte("version2")

func (n newer) Info() udf.Info {
	info := n.Aggregate.Info()
	if info.Width > 0 {
		info.Width += len(secondMark)
	}
	info.Schema = 2
	return info
}

func (n newer) Former(schema uint32) (int, bool) { return n.Aggregate.Info().Width, schema == 1 }

func (n newer) Upgrade(what udf.Kept, schema uint32, states [][]byte) ([][]byte, error) {
	if what != udf.KeptAccumulator || schema != 1 {
		n.t.Errorf("upgrade of %d from schema %d", what, schema)
	}
	var out [][]byte
	for _, s := range states {
		out = append(out, slices.Concat(secondMark, s))
	}
	*n.upgraded += len(states)
	return out, nil
}

// bare are accumulators without their marks.
func (n newer) bare(a *udf.Accs) *udf.Accs {
	var out udf.Accs
	out.Reset(n.Aggregate.Info().Width)
	for i := range a.N() {
		if !bytes.HasPrefix(a.At(i), secondMark) {
			n.t.Fatalf("accumulator %d is %x, it was not upgraded", i, a.At(i))
		}
		out.Append(a.At(i)[len(secondMark):])
	}
	return &out
}

func (n newer) marked(dst, a *udf.Accs) {
	dst.Reset(n.Info().Width)
	for i := range a.N() {
		dst.Append(slices.Concat(secondMark, a.At(i)))
	}
}

func (n newer) Create(dst *udf.Accs, count int) error {
	var a udf.Accs
	err := n.Aggregate.Create(&a, count)
	n.marked(dst, &a)
	return err
}

func (n newer) Add(accs *udf.Accs, rows *udf.Rows) error {
	a := n.bare(accs)
	err := n.Aggregate.Add(a, rows)
	n.marked(accs, a)
	return err
}

func (n newer) Merge(into, from *udf.Accs) error {
	a := n.bare(into)
	err := n.Aggregate.Merge(a, n.bare(from))
	n.marked(into, a)
	return err
}

func (n newer) Result(a *udf.Accs, out *stream.Columns) error {
	return n.Aggregate.Result(n.bare(a), out)
}

// A step whose functions widen their accumulators goes on from cuts of their first version,
// of two subtasks that stand at different times, whichever way windows are kept: the rows are
// those of a run in which nothing changed.
func TestRenew(t *testing.T) {
	for _, job := range rescaledJobs() {
		t.Run(job.name, func(t *testing.T) {
			upgraded, functions := 0, 0
			next := rescaled{name: job.name, spec: func(t *testing.T, r *rand.Rand, s *shape) Spec {
				p := job.spec(t, r, s)
				functions = len(p.Functions)
				for i := range p.Functions {
					p.Functions[i].Agg = newer{p.Functions[i].Agg, t, &upgraded}
				}
				return p
			}}
			for seed := range uint64(8) {
				r := rand.New(rand.NewPCG(seed, 31))
				sh := randomShape(r)
				sh.keys = 12
				spec := job.spec(t, r, &sh)
				rows := randomRows(r, sh, 200)
				of := func(subtask int, x row) bool { return stream.Subtask(groupOfRow(x), 2, rescaleGroups) == subtask }
				schemas := state.Schemas{Aggregates: map[string]uint32{}}
				for _, f := range spec.Functions {
					schemas.Aggregates[f.Name] = 1
				}

				want, first := openSubtasks(t, job, seed, 2), openSubtasks(t, job, seed, 2)
				restore := state.Restore{Counts: true, Schemas: schemas}
				var rest []int
				for j := range 2 {
					place := 60 + r.IntN(60)
					var own, before []row
					for i, x := range rows {
						switch {
						case !of(j, x):
							continue
						case i < place:
							before = append(before, x)
						default:
							rest = append(rest, i)
						}
						own = append(own, x)
					}
					feedTo(t, want.ops[j], own, 7, stream.MaxTime)
					feedTo(t, first.ops[j], before, 7, rows[place].wm)
					cut := cutOf(first.ops[j])
					restore.Tasks, restore.Groups = append(restore.Tasks, cut.Task), append(restore.Groups, cut.Groups...)
				}
				slices.Sort(rest)
				var after []row
				for _, i := range rest {
					after = append(after, rows[i])
				}
				second := openSubtasks(t, next, seed, 1)
				if err := second.ops[0].Restore(restore); err != nil {
					t.Fatal(err)
				}
				feedTo(t, second.ops[0], after, 7, stream.MaxTime)
				got := append(slices.Clone(first.out.lines), second.out.lines...)
				slices.Sort(got)
				diff(t, fmt.Sprintf("seed %d: %v", seed, sh), got, want.out.take())
				if got, want := second.ops[0].Ledger(), totals(want.ops); got != want {
					t.Fatalf("seed %d: ledger %+v, want %+v", seed, got, want)
				}
			}
			if g, ok := openSubtasks(t, job, 0, 1).ops[0].(*staggered).part.(*General); upgraded == 0 && functions > 0 && !(ok && g.lists) {
				t.Error("nothing was upgraded: it shows too little")
			}
		})
	}
}

// flip turns the bits of states and makes them longer by a byte, or the other way round.
type flip struct {
	back  bool
	count *int
}

func (f flip) Former(uint32) (int, bool) { return 0, true }

func (f flip) Upgrade(_ udf.Kept, _ uint32, states [][]byte) (out [][]byte, err error) {
	for _, s := range states {
		s = slices.Clone(s)
		for i := range s {
			s[i] ^= 0xff
		}
		if f.back {
			s = s[:len(s)-1]
		} else {
			s = append(s, 7)
		}
		out = append(out, s)
		*f.count++
	}
	return out, nil
}

// What process functions and triggers keep is found in every piece: turned and turned back,
// a piece is what it was, and with all of it turned it is not.
func TestRenewFindsStates(t *testing.T) {
	found := map[string]int{}
	for _, job := range rescaledJobs() {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 31))
			sh := randomShape(r)
			job.spec(t, r, &sh)
			rows := randomRows(r, sh, 200)
			op := openSubtasks(t, job, seed, 1).ops[0]
			feedTo(t, op, rows[:120], 7, rows[120].wm)
			for _, g := range cutOf(op).Groups {
				turn := func(src []byte, back bool) (out []byte, n int) {
					w, err := renewalOf(op.(part), &state.Schemas{})
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range []*former{w.keys, w.windows, w.own} {
						f.up = flip{back, &n}
					}
					if out, err = w.piece(src, w.group); err != nil {
						t.Fatalf("%s: %v", job.name, err)
					}
					return out, n
				}
				there, n := turn(g.State, false)
				again, m := turn(there, true)
				if !bytes.Equal(again, g.State) || n != m || len(there) != len(g.State)+n {
					t.Fatalf("%s, seed %d: a piece of %d bytes has %d states, then %d bytes and %d states", job.name, seed, len(g.State), n, len(there), m)
				}
				found[job.name] += n
			}
		}
	}
	for _, name := range []string{"tumbling, states of keys that expire", "lists that a process function looks at", "a trigger of a user"} {
		if found[name] < 10 {
			t.Errorf("%s: %d states were found: they show too little", name, found[name])
		}
	}
	if found["tumbling"] > 0 {
		t.Errorf("found %d states of nobody", found["tumbling"])
	}
}
