package laws

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// What shows items to the five contracts of package udf, in one way.

// Maps makes a Function of one of single records.
func Maps(info udf.MapInfo, open func() (udf.Map, error)) Function {
	return Function{inputs: info.Inputs, open: func() (shower, error) {
		m, err := open()
		return mapShower{m}, err
	}}
}

// Pairs makes one of a function of pairs, whose records are two lists of an item.
func Pairs(info udf.PairInfo, open func() (udf.Pair, error)) Function {
	return Function{lists: [][]udf.Input{info.Left, info.Right}, least: 1, most: 1, open: func() (shower, error) {
		p, err := open()
		return pairShower{p}, err
	}}
}

// Processes makes one of a process function. Firings are of three keys and of windows of
// ten seconds.
func Processes(info udf.ProcessInfo, open func() (udf.Process, error)) Function {
	f := Function{inputs: info.Inputs, lists: info.Lists, most: 4, open: func() (shower, error) {
		p, err := open()
		return processShower{p}, err
	}}
	if info.KeyState || info.WindowState {
		f.states, f.keyed = "the state of key and window", true
	}
	return f
}

// Generators makes one of a watermark generator.
func Generators(info udf.GeneratorInfo, open func() (udf.Generator, error)) Function {
	return Function{inputs: info.Inputs, states: "the state of the split", open: func() (shower, error) {
		g, err := open()
		return generatorShower{g}, err
	}}
}

// Assigners makes one of a window assigner.
func Assigners(info udf.AssignerInfo, open func() (udf.Assigner, error)) Function {
	return Function{inputs: info.Inputs, open: func() (shower, error) {
		a, err := open()
		return assignerShower{a}, err
	}}
}

// answered writes rows for each of n items.
func answered(n int, outputs []stream.Field, e *udf.Emitted, name string, dst []string) []string {
	if dst == nil {
		dst = make([]string, n)
	}
	for row, of := range e.Of {
		cells := make([]string, len(outputs))
		for c, f := range outputs {
			v := cell(&e.Columns, c, row)
			cells[c] = f.Name + ": " + exactly(f.Kind, v)
		}
		dst[of] = strings.TrimPrefix(dst[of]+" ", " ") + name + "{" + strings.Join(cells, ", ") + "}"
	}
	return dst
}

// exactly writes a value in full, floats that differ in a bit differently.
func exactly(k stream.Kind, v Value) string {
	switch {
	case v.Null:
		return "null"
	case k == stream.String:
		return quote(v.Text)
	case k == stream.Float64 && v.Float != v.Float:
		return fmt.Sprintf("NaN(%x)", math.Float64bits(v.Float))
	}
	return v.Show(k)
}

type mapShower struct{ udf.Map }

func (s mapShower) show(items []Record, _ *states) ([]string, error) {
	info := s.Info()
	var out udf.Emitted
	out.Reset(info.Outputs)
	if err := s.Call(rowsOf(info.Inputs, items, 1), &out); err != nil {
		return nil, err
	}
	return answered(len(items), info.Outputs, &out, "", nil), nil
}

type pairShower struct{ udf.Pair }

func (s pairShower) show(items []Record, _ *states) ([]string, error) {
	info := s.Info()
	var sides [2][]Record
	in := udf.Pairs{}
	for i, it := range items {
		sides[0], sides[1] = append(sides[0], it.Lists[0]...), append(sides[1], it.Lists[1]...)
		in.L, in.R = append(in.L, uint32(i)), append(in.R, uint32(i))
		in.Time = append(in.Time, max(it.Lists[0][0].Time, it.Lists[1][0].Time))
	}
	l, r := table(info.Left, sides[0]), table(info.Right, sides[1])
	in.Left, in.Right = udf.PairSide{Columns: &l.Columns, Time: l.Time}, udf.PairSide{Columns: &r.Columns, Time: r.Time}
	var out udf.Emitted
	out.Reset(info.Outputs)
	if err := s.Call(&in, &out); err != nil {
		return nil, err
	}
	return answered(len(items), info.Outputs, &out, "", nil), nil
}

type processShower struct{ udf.Process }

// firingWindow is the window of a firing, ten seconds.
func firingWindow(t stream.Time) stream.Window {
	const size = 10_000
	start := t - (t%size+size)%size
	return stream.Window{Start: start, End: start + size}
}

// firingsOf lays out firings with the states that are kept; keys and windows are the slots
// of these.
func firingsOf(info *udf.ProcessInfo, items []Record, kept *states) (in *udf.Firings, keys map[int]uint32, windows map[[2]int64]uint32) {
	in = &udf.Firings{Inputs: table(info.Inputs, items).Columns}
	keys, windows = map[int]uint32{}, map[[2]int64]uint32{}
	place := func(it *Record) [2]int64 { return [2]int64{int64(it.Key), int64(firingWindow(it.Time).Start)} }
	lists := make([][]Record, len(info.Lists))
	in.Lists = make([]udf.FiringList, len(info.Lists))
	for l := range info.Lists {
		in.Lists[l].Off = append(in.Lists[l].Off, 0)
	}
	for i := range items {
		it := &items[i]
		w := firingWindow(it.Time)
		in.Window = append(in.Window, w)
		in.Watermark, in.Now = append(in.Watermark, w.End-1), append(in.Now, w.End+1000)
		in.Revision = append(in.Revision, 0)
		for l := range info.Lists {
			lists[l] = append(lists[l], it.Lists[l]...)
			in.Lists[l].Off = append(in.Lists[l].Off, uint32(len(lists[l])))
		}
		if info.KeyState {
			if _, ok := keys[it.Key]; !ok {
				keys[it.Key] = in.Keys.Add(kept.keys[it.Key])
			}
			in.Keys.Slot = append(in.Keys.Slot, keys[it.Key])
		}
		if info.WindowState {
			at := place(it)
			if _, ok := windows[at]; !ok {
				windows[at] = in.Windows.Add(kept.windows[at])
			}
			in.Windows.Slot = append(in.Windows.Slot, windows[at])
		}
	}
	for l, inputs := range info.Lists {
		b := table(inputs, lists[l])
		in.Lists[l].Columns, in.Lists[l].Time = b.Columns, b.Time
	}
	return in, keys, windows
}

func (s processShower) show(items []Record, kept *states) ([]string, error) {
	info := s.Info()
	in, keys, windows := firingsOf(&info, items, kept)
	out := make([]udf.Emitted, 1+len(info.Side))
	out[0].Reset(info.Outputs)
	for i, side := range info.Side {
		out[i+1].Reset(side.Outputs)
	}
	if err := s.Call(in, out); err != nil {
		return nil, err
	}
	for k, slot := range keys {
		kept.keys[k] = bytes.Clone(in.Keys.Data[slot])
	}
	for w, slot := range windows {
		kept.windows[w] = bytes.Clone(in.Windows.Data[slot])
	}
	answers := answered(len(items), info.Outputs, &out[0], "", nil)
	for i, side := range info.Side {
		answers = answered(len(items), side.Outputs, &out[i+1], side.Name, answers)
	}
	return answers, nil
}

type generatorShower struct{ udf.Generator }

func (s generatorShower) show(items []Record, kept *states) ([]string, error) {
	info := s.Info()
	b := table(info.Inputs, items)
	in := udf.Timed{Columns: &b.Columns, Time: b.Time}
	for i := range info.Inputs {
		in.Cols = append(in.Cols, i)
	}
	wm := make([]stream.Time, len(items))
	for i := range wm {
		wm[i] = stream.MinTime
	}
	state, err := s.Records(&in, kept.split, wm)
	if err != nil {
		return nil, err
	}
	kept.split = bytes.Clone(state)
	answers := make([]string, len(items))
	for i, at := range wm {
		if at != stream.MinTime {
			answers[i] = fmt.Sprintf("watermark %d", at)
		}
	}
	return answers, nil
}

type assignerShower struct{ udf.Assigner }

// show shows items to an assigner. Windows that break a rule are a failure of their record,
// as for the engine.
func (s assignerShower) show(items []Record, _ *states) ([]string, error) {
	info := s.Info()
	var out udf.Assigned
	if err := s.Assign(rowsOf(info.Inputs, items, 1), &out); err != nil {
		return nil, err
	}
	answers := make([]string, len(items))
	var fail error
	out.Each(len(items), func(item int, ws []stream.Window) {
		ws, f := info.Judge(ws)
		if f != nil && fail == nil {
			f.Op, fail = item, f
		}
		answers[item] = fmt.Sprint(ws)
	})
	if fail != nil {
		return nil, fail
	}
	return answers, nil
}
