package window

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/state/disk"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/internal/fault"
)

// apartSaved is a checkpoint of an operator that has what was on disk apart.
type apartSaved struct {
	task   []byte
	groups map[int]state.GroupCut
}

// next is the checkpoint of a cut behind this one: what is on disk is taken over from it,
// with what has changed since, as far as the cut can tell and limit allows.
func (c *apartSaved) next(t *testing.T, cut *state.Cut, limit int, count func(state.Change)) *apartSaved {
	t.Helper()
	to := &apartSaved{task: cut.Task, groups: map[int]state.GroupCut{}}
	if cut.Apart == nil {
		p, err := cut.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range p.Groups {
			to.groups[g.Group] = g
		}
		return to
	}
	for g, err := range cut.Apart.Groups {
		if err != nil {
			t.Fatal(err)
		}
		g.State = bytes.Clone(g.State)
		var w state.Writer
		c, was := state.Unknown, c.groups[g.Group].Runs
		if len(was) > 0 {
			if c, err = cut.Apart.Disk.Changes(g.Group, limit, cut.Apart.Form, &w); err != nil {
				t.Fatal(err)
			}
			count(c)
		}
		switch c {
		case state.Written:
			g.Runs = append(was[:len(was):len(was)], w.Buf)
		case state.None:
			g.Runs = was
		case state.Unknown:
			w.Buf = nil
			some, err := cut.Apart.Disk.Whole(g.Group, cut.Apart.Form, &w)
			if err != nil {
				t.Fatal(err)
			}
			if some {
				g.Runs = [][]byte{w.Buf}
			}
		}
		if !g.None || len(g.Runs) > 0 {
			to.groups[g.Group] = g.GroupCut
		}
	}
	return to
}

func (c *apartSaved) restore() state.Restore {
	r := state.Restore{Tasks: [][]byte{c.task}, Exact: true, Counts: true}
	for _, g := range c.groups {
		r.Groups = append(r.Groups, g)
	}
	return r
}

// A checkpoint of runs is the operator, as the cut is that has everything in one piece: to the
// last byte, whatever cuts were taken between and came to nothing.
func TestRunsAreWhatIsOnDisk(t *testing.T) {
	store, err := disk.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	seen, jobs := map[string][3]int{}, 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 33))
		for _, j := range spillJobs(t, r) {
			kind, _, _ := strings.Cut(j.name, ",")
			what := fmt.Sprintf("seed %d: %s", seed, j.name)
			open := func(to func() state.Backing, memory int64) Operator {
				p := j.spec(j.fns())
				p.Spill = &Spill{Memory: memory, Open: to}
				op, err := New(p, &recorder{})
				return opened(t, op, err)
			}
			ram := func() state.Backing { return state.NewRAM() }
			real := ram
			if seed%8 == 0 {
				real = func() state.Backing { return store.Backing(what) }
			}
			op := open(real, pick[int64](r, 0, 2000, 6000))
			last := &apartSaved{}
			every, n := pick(r, 1, 3, 7), 0
			jobs++
			j.feed(t, func() Operator { return op }, pick(r, 1, 7, 20), func() {
				if n++; n%every > 0 {
					return
				}
				cut := op.Freeze()
				if r.IntN(4) == 0 { // given up
					if err := cut.Close(); err != nil {
						t.Fatal(err)
					}
					return
				}
				c := seen[kind]
				now := last.next(t, &cut, pick(r, 50, 10_000), func(is state.Change) { c[is]++ })
				seen[kind] = c
				if err := cut.Close(); err != nil {
					t.Fatal(err)
				}
				if r.IntN(3) > 0 {
					last = now
					if cut.Apart != nil {
						cut.Apart.Disk.Published()
					}
				}
				if r.IntN(4) > 0 {
					return
				}
				memory := pick[int64](r, 0, 1<<40)
				next := open(ram, memory)
				if err := next.Restore(now.restore()); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				diff(t, what, stateOf(next), stateOf(op))
				if memory > 0 { // what is on disk is in order of keys, not of arrival
					if got, want := saved(next), saved(op); !bytes.Equal(got, want) {
						t.Fatalf("%s: restored from runs it is\n%x, want\n%x", what, got, want)
					}
				}
				if err := next.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	for kind, c := range seen {
		t.Logf("%s: %d times whole, %d times as it was, %d runs of changes", kind, c[state.Unknown], c[state.None], c[state.Written])
		if c[state.Unknown] < 20 || c[state.Written] < 20 || c[state.None] < 5 {
			t.Errorf("%s: %v: they show too little", kind, c)
		}
	}
	if len(seen) != 7 {
		t.Errorf("%d kinds of jobs", len(seen))
	}
}

// Runs of another operator than the one that was in memory are refused, and so are cells that
// are no cells.
func TestRunsThatCannotBeRead(t *testing.T) {
	header := func(kind byte) []byte { return append([]byte{kind, 1}, make([]byte, headerSize-2)...) }
	run := func(header []byte, pairs ...string) []byte {
		var w state.Writer
		w.Bytes(header)
		w.Len(0)
		w.Len(len(pairs) / 2)
		for i := 0; i < len(pairs); i += 2 {
			w.Bytes([]byte(pairs[i]))
			w.U8(1)
			w.Bytes([]byte(pairs[i+1]))
		}
		return w.Buf
	}
	for name, g := range map[string]state.GroupCut{
		"another kind":            {State: header(5), Runs: [][]byte{run(header(6))}},
		"a short header":          {State: header(5), Runs: [][]byte{run(header(5)[:4])}},
		"nothing of memory":       {Runs: [][]byte{run(header(5))}},
		"a cell without a window": {State: header(1), Runs: [][]byte{run(header(1), "12345678", "1234567")}},
		"a name without a window": {State: header(1), Runs: [][]byte{run(header(1), "1234567", "12345678")}},
	} {
		if _, err := joined(g); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bytes of runs by hand, as STATE.md draws them: tumbling windows of a key that counts.
// Between two cuts the first window goes, the second one fires, a third one comes.
func TestRunsByHand(t *testing.T) {
	var w []byte
	u8 := func(b ...byte) { w = append(w, b...) }
	u32 := func(n uint32) { w = binary.LittleEndian.AppendUint32(w, n) }
	i64 := func(n int64) { w = binary.LittleEndian.AppendUint64(w, uint64(n)) }
	name := func(start int64, key string) {
		u32(uint32(8 + len(key)))
		w = binary.BigEndian.AppendUint64(w, uint64(start)^1<<63)
		u8([]byte(key)...)
	}
	header := func() {
		w = nil
		u32(12)
		u8(1, 1, 0, 0) // tumbling windows, version 1, no flags, no words of a trigger
		u32(8)         // one count
		u32(0)         // and nothing of varying size
	}
	cell := func(start, records int64, firings uint32) {
		name(start, "a")
		u8(1)
		u32(8 + 4 + 8 + 8 + 4)
		i64(start + 10)
		u32(8)
		i64(records) // the count
		i64(records)
		u32(firings)
	}
	header()
	u32(0) // ranges
	u32(2)
	cell(0, 2, 2)
	cell(10, 1, 0)
	first := w
	header()
	u32(1)
	name(0, "")
	name(1, "")
	u32(2)
	cell(10, 1, 1)
	cell(60, 1, 0)
	second := w

	p := stepOf(&shape{lateness: 50}, tiles(10, 0), trigger.NewEventTime(), []Function{builtin(t, "count", 0)})
	p.Spill = &Spill{Open: func() state.Backing { return state.NewRAM() }}
	op, err := New(p, &recorder{})
	opened(t, op, err)
	for n, step := range []struct {
		rows     []row
		trailing stream.Time
		want     []byte
	}{
		{[]row{{"a", 3, 1, stream.MinTime}, {"a", 12, 1, 10}, {"a", 4, 1, 12}}, 15, first},
		{[]row{{"a", 63, 1, 15}}, 60, second},
	} {
		feedTo(t, op, step.rows, 3, step.trailing)
		cut := op.Freeze()
		group := groupOfRow(row{key: "a"})
		var got state.Writer
		c, err := cut.Apart.Disk.Changes(group, 1000, cut.Apart.Form, &got)
		if n == 0 {
			_, err = cut.Apart.Disk.Whole(group, cut.Apart.Form, &got)
		}
		if err != nil || n > 0 && c != state.Written || !bytes.Equal(got.Buf, step.want) {
			t.Errorf("run %d is\n%x, want\n%x (%v, %v)", n, got.Buf, step.want, c, err)
		}
		cut.Apart.Disk.Published()
		if err := cut.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
