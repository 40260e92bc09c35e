//go:build !wasip1

package tidemark

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

func TestGaps(t *testing.T) {
	type inner struct {
		A int16
		B bool
	}
	type deep struct {
		A uint8
		B [2]inner
		C uint32
	}
	for _, c := range []struct {
		of   reflect.Type
		size uintptr
		want []gap
	}{
		{reflect.TypeFor[int64](), 8, nil},
		{reflect.TypeFor[bool](), 8, []gap{{1, 8}}},
		{reflect.TypeFor[struct{ A, B int64 }](), 16, nil},
		{reflect.TypeFor[struct {
			A int64
			B bool
			C int64
		}](), 24, []gap{{9, 16}}},
		{reflect.TypeFor[deep](), 16, []gap{{1, 2}, {5, 6}, {9, 12}}},
	} {
		if got := gapsIn(c.of, c.size); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.of, got, c.want)
		}
	}
}

// smudged is an accumulator whose gap holds what happened to be in memory.
type smudged struct {
	n    int64
	even bool
	m    int64
}

func (s *smudged) smudge() {
	b := unsafe.Slice((*byte)(unsafe.Pointer(s)), unsafe.Sizeof(*s))
	for i := 9; i < 16; i++ {
		b[i] = 0xa5
	}
}

func (s *smudged) Add(Row) error          { s.n++; s.even = !s.even; s.smudge(); return nil }
func (s *smudged) Merge(o *smudged) error { s.m += o.n; s.smudge(); return nil }
func (s *smudged) Result(w *Out) error    { smudgedN.Set(w, s.n); return nil }
func (s *smudged) Reset()                 { *s = smudged{}; s.smudge() }

var (
	smudgedN   = OutInt64("n")
	smudgedOne = FixedAggregate[smudged](Spec{Name: "smudged", Version: "1", Outputs: []Output{smudgedN}})
	smudgedAll = BatchAggregate[smudged](Spec{Name: "smudged", Version: "1", Outputs: []Output{smudgedN}}, func(b Batch[smudged]) error {
		for i := range b.Len() {
			s, r := b.At(i)
			if err := s.Add(r); err != nil {
				return err
			}
		}
		return nil
	})
)

func TestGapsAreNoPartOfAnAccumulator(t *testing.T) {
	want := append([]byte{3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0)
	merged := append(slices.Clone(want[:16]), 3, 0, 0, 0, 0, 0, 0, 0)
	for _, a := range []*Aggregate{smudgedOne, smudgedAll} {
		twin, err := NewTwin(a, nil)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := twin.Add(nil)
		if err != nil || !bytes.Equal(fresh, make([]byte, 24)) {
			t.Errorf("fresh: %x, %v", fresh, err)
		}
		acc, err := twin.Add(nil, Values{}, Values{}, Values{})
		if err != nil || !bytes.Equal(acc, want) {
			t.Errorf("added: %x, %v", acc, err)
		}
		acc, err = twin.Merge(acc, acc)
		if err != nil || !bytes.Equal(acc, merged) {
			t.Errorf("merged: %x, %v", acc, err)
		}
	}
}
