//go:build !wasip1

package tidemark

import (
	"errors"
	"reflect"
	"testing"
)

// The dearest order of a window, and of equally dear ones the first: it depends on order.
var (
	reduceID    = Int64("id")
	reducePrice = Float64("price")
	dearestID   = OutInt64("id")
	dearest     = OutFloat64("price")
)

type order struct {
	id    int64
	price float64
}

var errFree = errors.New("an order for nothing")

var reducer = Reduce(Spec{
	Name: "dearest", Inputs: []Input{reduceID, reducePrice}, Outputs: []Output{dearestID, dearest}, Exact: true,
}, Reduction[order]{
	Read: func(r Row) (order, error) {
		o := order{reduceID.Of(r), reducePrice.Of(r)}
		if o.price == 0 {
			return o, errFree
		}
		return o, nil
	},
	Reduce: func(a, b order) (order, error) {
		if b.price > a.price {
			return b, nil
		}
		return a, nil
	},
	Write: func(v order, w *Out) error {
		dearestID.Set(w, v.id)
		dearest.Set(w, v.price)
		return nil
	},
})

func TestReduce(t *testing.T) {
	twin, err := NewTwin(reducer, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := []Values{{"id": 1, "price": 5}, {"id": 2, "price": 7}, {"id": 3, "price": 7}, {"id": 4, "price": -1}}
	acc, err := twin.Add(nil, rows...)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := twin.Result(acc); err != nil || !reflect.DeepEqual(got, Values{"id": int64(2), "price": 7.0}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := twin.Result(nil); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	if err := twin.Laws(rows...); err != nil {
		t.Error(err)
	}
	_, err = twin.Add(nil, rows[0], Values{"id": 9, "price": 0})
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Op != 1 || refusal.Message != errFree.Error() {
		t.Errorf("got %v", err)
	}
}

// A value of a size that is no multiple of 8 has its place all the same.
func TestReduceSmallValues(t *testing.T) {
	n, out := Int64("n"), OutInt64("xor")
	twin, err := NewTwin(Reduce(Spec{Name: "xor", Inputs: []Input{n}, Outputs: []Output{out}, OrderInsensitive: true, Exact: true}, Reduction[[3]byte]{
		Read:   func(r Row) ([3]byte, error) { v := n.Of(r); return [3]byte{byte(v), byte(v >> 8), byte(v >> 16)}, nil },
		Reduce: func(a, b [3]byte) ([3]byte, error) { return [3]byte{a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2]}, nil },
		Write: func(v [3]byte, w *Out) error {
			out.Set(w, int64(v[0])|int64(v[1])<<8|int64(v[2])<<16)
			return nil
		},
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := twin.Laws(Values{"n": 0x10203}, Values{"n": 0xffff}, Values{"n": 7}); err != nil {
		t.Error(err)
	}
	got, err := twin.call(opAdd, input{accs: []Acc{nil, nil, nil}, rows: []Values{{"n": 1}, {"n": 0x10000}, {"n": 3}}, group: []uint32{0, 2, 0}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Values{{"xor": int64(2)}, {}, {"xor": int64(0x10000)}} {
		if v, err := twin.Result(got.accs[i]); err != nil || !reflect.DeepEqual(v, want) {
			t.Errorf("accumulator %d: %v, %v, want %v", i, v, err, want)
		}
	}
}
