package tidemark

import (
	"encoding/binary"
	"errors"
)

// keptAccs bounds the decoded accumulators that stay for the next call: one call has
// at most about as many groups as a batch has records.
const keptAccs = 1024

var errLongAcc = errors.New("accumulator is longer than 1 MiB")

// VariableAggregate registers an aggregate whose accumulator varies in size: sets,
// sketches, lists. What the host keeps is what AppendBinary wrote. A module registers
// one aggregate.
func VariableAggregate[A any, P VariableAccumulator[A]](s Spec) *Aggregate {
	return newAggregate(s, 0, &variable[A, P]{accs: make([]A, 2)})
}

// variable serves accumulators that are decoded for a call and encoded after it. accs
// keeps their memory between calls, never their contents.
type variable[A any, P VariableAccumulator[A]] struct {
	accs []A
}

// fresh makes accumulator i fresh.
func (k *variable[A, P]) fresh(i int) P {
	p := P(&k.accs[i])
	if r, own := any(p).(Resetter); own {
		r.Reset()
	} else {
		var zero A
		*p = zero
	}
	return p
}

// decode makes accumulator i what the bytes say.
func (k *variable[A, P]) decode(i int, b []byte) (P, error) {
	p := k.fresh(i)
	if len(b) == 0 { // written by AppendBinary, which had nothing to say
		return p, nil
	}
	return p, p.UnmarshalBinary(b)
}

// answer appends accumulator p to the output area; fits is false when it must wait
// for the next call.
func (k *variable[A, P]) answer(f frame, p P) (fits bool, err error) {
	used := int(f.outUsed)
	room := len(f.out) - used - 4
	if room < 0 {
		return false, nil
	}
	area := f.out[used+4 : used+4 : len(f.out)]
	b, err := p.AppendBinary(area)
	if err != nil {
		return false, err
	}
	if len(b) > accBytes {
		return false, errLongAcc
	}
	end := used + 4 + (len(b)+3)&^3
	if end > len(f.out) {
		return false, nil
	}
	if len(b) > 0 {
		copy(area[:len(b)], b) // onto itself, unless AppendBinary moved away
	}
	clear(f.out[used+4+len(b) : end])
	binary.LittleEndian.PutUint32(f.out[used:], uint32(len(b)))
	f.outUsed = uint32(end)
	return true, nil
}

func (k *variable[A, P]) create(f frame) status {
	for i := range int(f.groups) {
		f.op = uint32(i)
		if fits, err := k.answer(f, k.fresh(0)); err != nil {
			return f.refuse(err)
		} else if !fits {
			return f.full(i)
		}
	}
	return ok
}

func (k *variable[A, P]) add(f frame) status {
	groups, good := f.groupOf()
	if !good {
		return badFrame
	}
	n := int(f.groups)
	for len(k.accs) < n {
		k.accs = append(k.accs, make([]A, n-len(k.accs))...)
	}
	for g := range n {
		k.fresh(g)
	}
	for i, g := range groups { // the record path
		f.op = uint32(i)
		if err := P(&k.accs[g]).Add(Row{i}); err != nil {
			return f.refuse(err)
		}
	}
	f.op = f.rows // section 3: no record, the accumulators are being answered
	for g := range n {
		if fits, err := k.answer(f, P(&k.accs[g])); err != nil {
			return f.refuse(err)
		} else if !fits {
			return f.full(g)
		}
	}
	if n > keptAccs {
		k.accs = append([]A(nil), k.accs[:keptAccs]...)
	}
	return ok
}

func (k *variable[A, P]) merge(f frame) status {
	off, data, good := f.varAccs(f.acc)
	fromOff, fromData, good2 := f.varAccs(f.from)
	if !good || !good2 {
		return badFrame
	}
	for i := range int(f.groups) {
		f.op = uint32(i)
		into, err := k.decode(0, data[off[i]:off[i+1]])
		if err != nil {
			return f.refuse(err)
		}
		from, err := k.decode(1, fromData[fromOff[i]:fromOff[i+1]])
		if err != nil {
			return f.refuse(err)
		}
		if err := into.Merge(from); err != nil {
			return f.refuse(err)
		}
		if fits, err := k.answer(f, into); err != nil {
			return f.refuse(err)
		} else if !fits {
			return f.full(i)
		}
	}
	return ok
}

func (k *variable[A, P]) result(f frame) status {
	off, data, good := f.varAccs(f.acc)
	if !good {
		return badFrame
	}
	return writeRows(f, func(i int, w *Out) error {
		p, err := k.decode(0, data[off[i]:off[i+1]])
		if err != nil {
			return err
		}
		return p.Result(w)
	})
}
