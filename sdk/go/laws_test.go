//go:build !wasip1

package tidemark

import (
	"errors"
	"strings"
	"testing"
)

// sum is a well-behaved accumulator; the rows of TestLaws break it in one way each.
type sum struct{ total, n int64 }

var (
	number = Int64("number")
	total  = OutInt64("total")
)

func (s *sum) Add(r Row) error     { s.total += number.Of(r); s.n++; return nil }
func (s *sum) Merge(o *sum) error  { s.total += o.total; s.n += o.n; return nil }
func (s *sum) Result(w *Out) error { total.Set(w, s.total); return nil }

type forgetful struct{ sum }

func (s *forgetful) Merge(o *forgetful) error { s.sum = o.sum; return nil }

type greedy struct{ sum }

func (s *greedy) Merge(o *greedy) error { return s.sum.Merge(&o.sum) }
func (s *greedy) Result(w *Out) error   { total.Set(w, s.total); s.n++; return nil }

type first1 struct{ sum } // remembers the first record only

func (s *first1) Add(r Row) error {
	if s.n == 0 {
		s.total = number.Of(r)
	}
	s.n++
	return nil
}
func (s *first1) Merge(o *first1) error {
	if s.n == 0 {
		s.total = o.total
	}
	s.n += o.n
	return nil
}

type early struct{ sum } // is not fresh as its zero value

func (s *early) Reset()               { s.total = 100 }
func (s *early) Merge(o *early) error { return s.sum.Merge(&o.sum) }

type sorry struct{ sum }

func (s *sorry) Merge(*sorry) error { return errors.New("cannot") }

func TestLaws(t *testing.T) {
	spec := Spec{Name: "sum", Inputs: []Input{number}, Outputs: []Output{total}, OrderInsensitive: true, Exact: true}
	ordered := spec
	ordered.OrderInsensitive = false
	for _, row := range []struct {
		name string
		a    *Aggregate
		want string
	}{
		{"a lawful sum", FixedAggregate[sum](spec), ""},
		{"a lawful sum over batches", BatchAggregate[sum](spec, func(b Batch[sum]) error {
			for i := range b.Len() {
				s, r := b.At(i)
				s.total += number.Of(r)
				s.n++
			}
			return nil
		}), ""},
		{"a merge that forgets", FixedAggregate[forgetful](spec), "merged at record 0 of 3, the parts exchanged"},
		{"a result that changes the accumulator", FixedAggregate[greedy](spec), "result changed the accumulator"},
		{"an order that matters, and the spec denies it", FixedAggregate[first1](spec), "the parts exchanged: "},
		{"an order that matters, as the spec says", FixedAggregate[first1](ordered), ""},
		{"a fresh accumulator that is not neutral", FixedAggregate[early](spec), "merged at record 0 of 3: "},
		{"a merge that refuses", FixedAggregate[sorry](spec), "merged at record 0 of 3: cannot"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := newTwin(t, row.a, nil).Laws(Values{"number": 1}, Values{"number": 2}, Values{"number": 4})
			if got := errorText(err); (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want it to say %q", got, row.want)
			}
		})
	}
}

func TestBatchLoops(t *testing.T) {
	spec := Spec{Name: "sum", Inputs: []Input{number}, Outputs: []Output{total}}
	loop := func(f func(Batch[sum]) error) (crash any, err error) {
		defer func() { crash = recover() }()
		tw := newTwin(t, BatchAggregate[sum](spec, f), nil)
		_, err = tw.Add(nil, Values{"number": 1}, Values{"number": 2}, Values{"number": 4})
		return nil, err
	}
	_, err := loop(func(b Batch[sum]) error {
		for i := range b.Len() {
			if _, r := b.At(i); number.Of(r) == 2 {
				return errors.New("two")
			}
		}
		return nil
	})
	var r *Refusal
	if !errors.As(err, &r) || r.Op != 1 || r.Message != "two" {
		t.Errorf("an error in the loop: got %v, want a refusal of record 1", err)
	}
	crash, _ := loop(func(b Batch[sum]) error { b.At(0); return nil })
	if text, _ := crash.(string); !strings.Contains(text, "all of them") {
		t.Errorf("a loop that ends early: got %v", crash)
	}
	crash, _ = loop(func(b Batch[sum]) error { b.At(3); return nil })
	if text, _ := crash.(string); !strings.Contains(text, "no such record") {
		t.Errorf("a loop that runs on: got %v", crash)
	}
}
