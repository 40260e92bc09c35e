// Command probe is a function of single records for tests of SDKs and hosts: it reads and
// writes a column of every type, and refuses, traps, or answers much or nothing when a
// record asks for it. There is one in each language, and the conformance kit shows that
// they do the same.
package main

import (
	"bytes"
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	what = tidemark.String("what").Nullable() // what the record asks for
	i    = tidemark.Int64("i").Nullable()
	f    = tidemark.Float64("f").Nullable()
	b    = tidemark.Bool("b").Nullable()
	s    = tidemark.String("s").Nullable()
	t    = tidemark.Time("t").Nullable()

	times  = tidemark.ParamInt64("times").Default(1)
	prefix = tidemark.ParamString("prefix")
	scale  = tidemark.ParamFloat64("scale").Default(1)
	on     = tidemark.ParamBool("on").Default(true)

	outI = tidemark.OutInt64("i")
	outF = tidemark.OutFloat64("f")
	outB = tidemark.OutBool("b")
	outS = tidemark.OutString("s")
	outT = tidemark.OutTime("t")
	row  = tidemark.OutInt64("row") // number of the copy

	errTimes = errors.New("times must be from 0 to 1000")
)

func answer(m *tidemark.Mapped) error {
	r := m.Row()
	switch what.Of(r) {
	case "":
		copies(m)
	case "refuse":
		return errors.New("refused: " + s.Of(r))
	case "trap":
		if s.Null(r) {
			panic("trap")
		}
		panic(s.Of(r))
	case "none", "log": // this SDK has no log
	case "fuel":
		for spins = 1; spins != 0; spins += 2 { // odd for ever
		}
	case "big":
		w := m.Emit()
		outS.SetBytes(w, bytes.Repeat(s.Bytes(r), int(max(0, i.Of(r)))))
		row.Set(w, 0)
	default:
		return errors.New("unknown: " + what.Of(r))
	}
	return nil
}

// spins is outside of the function, so that the loop that counts in it has to be kept.
var spins uint64

// copies answers what the record holds.
func copies(m *tidemark.Mapped) {
	if !on.Value() {
		return
	}
	r := m.Row()
	for n := range times.Value() {
		w := m.Emit()
		if !i.Null(r) {
			outI.Set(w, i.Of(r))
		}
		if !f.Null(r) {
			outF.Set(w, f.Of(r)*scale.Value())
		}
		if !b.Null(r) {
			outB.Set(w, b.Of(r))
		}
		if !s.Null(r) {
			outS.Set(w, prefix.Value()+s.Of(r))
		}
		if !t.Null(r) {
			outT.Set(w, t.Of(r))
		}
		row.Set(w, n)
	}
}

var plugin = tidemark.Map(tidemark.MapSpec{
	Name: "probe", Version: "1.0.0",
	Inputs:  []tidemark.Input{what, i, f, b, s, t},
	Outputs: []tidemark.Output{outI, outF, outB, outS, outT, row},
	Params:  []tidemark.Param{times, prefix, scale, on},
	Configure: func() error {
		if n := times.Value(); n < 0 || n > 1000 {
			return errTimes
		}
		return nil
	},
}, answer)

func main() {}
