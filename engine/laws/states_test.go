package laws

import (
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// highest says the highest time so far, from its state or from a variable of its own.
type highest struct {
	cheats bool
	high   stream.Time
}

func (g *highest) Info() udf.GeneratorInfo { return udf.GeneratorInfo{} }

func (g *highest) Records(rows *udf.Timed, state []byte, wm []stream.Time) ([]byte, error) {
	high := stream.MinTime
	if g.cheats {
		high = g.high
	} else if state != nil {
		high = stream.Time(get(state))
	}
	for i, t := range rows.Time {
		high = max(high, t)
		wm[i] = high
	}
	g.high = high
	out := make([]byte, 8)
	put(out, int64(high))
	return out, nil
}

func (g *highest) Tick(stream.Time, []byte) (stream.Time, []byte, error) {
	return stream.MinTime, nil, nil
}
func (g *highest) Close() error { return nil }

// numbers numbers the firings of each key, by its state or by a variable of its own, and says
// how many records they have.
type numbers struct {
	cheats bool
	n      int64
}

func (p *numbers) Info() udf.ProcessInfo {
	return udf.ProcessInfo{
		Inputs: []udf.Input{{Name: "v", Kind: stream.Int64, Nullable: true}}, Lists: [][]udf.Input{{{Name: "w", Kind: stream.String}}},
		Outputs: []stream.Field{{Name: "n", Kind: stream.Int64}, {Name: "records", Kind: stream.Int64}}, KeyState: true,
	}
}

func (p *numbers) Call(in *udf.Firings, out []udf.Emitted) error {
	for i := range in.Inputs.N {
		p.n++
		n := p.n
		if !p.cheats {
			n = 1
			if s := in.Keys.Get(i); s != nil {
				n = get(s) + 1
			}
			state := make([]byte, 8)
			put(state, n)
			in.Keys.Set(i, state)
		}
		out[0].Cols[0].AppendInt(n)
		out[0].Cols[1].AppendInt(int64(in.Lists[0].Off[i+1] - in.Lists[0].Off[i]))
		out[0].Of = append(out[0].Of, uint32(i))
	}
	return nil
}

func (p *numbers) Close() error { return nil }

// State that the host does not see is found out, and state that it keeps is carried.
func TestStatesCarryEverything(t *testing.T) {
	for _, cheats := range []bool{false, true} {
		for name, f := range map[string]Function{
			"watermarks": Generators(udf.GeneratorInfo{}, func() (udf.Generator, error) { return &highest{cheats: cheats}, nil }),
			"firings":    Processes((&numbers{}).Info(), func() (udf.Process, error) { return &numbers{cheats: cheats}, nil }),
		} {
			r, err := f.Check(Options{Seed: 4, Records: 400})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Laws, func(l Law) bool { return l.Name == "amnesia" })
			if l := r.Laws[i]; (l.Broken != nil) != cheats || l.Judged == 0 || r.Broken() != cheats || !strings.Contains(l.Says, "state") {
				t.Errorf("%s, cheating %v: %+v", name, cheats, r.Laws)
			} else if b := l.Broken; cheats && name == "firings" && (len(b.Input) != 2 || !strings.HasPrefix(b.Input[0], "{v: 0} [] at ")) {
				t.Errorf("the smallest input is two plain firings without records, not %q", b.Input)
			}
		}
	}
}
