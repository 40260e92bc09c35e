//go:build !wasip1

package main

import (
	"reflect"
	"testing"

	tidemark "tidemark/sdk/go"
)

const minute = 60_000

// fired is window i of ann's with a count.
func fired(i int, n int64) tidemark.Fired {
	start := tidemark.Timestamp(i * minute)
	return tidemark.Fired{Key: "ann", Start: start, End: start + minute, Watermark: start + minute - 1, Inputs: tidemark.Values{"count": n}}
}

func TestARunOfBusyWindows(t *testing.T) {
	twin, err := tidemark.NewProcessTwin(plugin, tidemark.Values{"limit": 5, "after": 2})
	if err != nil {
		t.Fatal(err)
	}
	alert := func(windows, total, since int) []tidemark.Values {
		return []tidemark.Values{{"windows": int64(windows), "total": int64(total), "since": tidemark.Timestamp(since * minute)}}
	}
	calm := func(minutes, over int) []tidemark.Values {
		return []tidemark.Values{{"lasted_ms": int64(minutes * minute), "over": tidemark.Timestamp(over * minute)}}
	}
	late := fired(3, 9)
	late.Revision = 1
	for i, c := range []struct {
		what string
		f    tidemark.Fired
		rows []tidemark.Values
		calm []tidemark.Values
	}{
		{"too little", fired(0, 4), nil, nil},
		{"the first of a run", fired(1, 5), nil, nil},
		{"a run long enough", fired(2, 7), alert(2, 12, 1), nil},
		{"and longer", fired(3, 5), alert(3, 17, 1), nil},
		{"an update counts no second time", late, nil, nil},
		{"over", fired(4, 1), nil, calm(3, 4)},
		{"once only", fired(5, 1), nil, nil},
		{"a new run", fired(6, 5), nil, nil},
		{"in a row", fired(7, 5), alert(2, 10, 6), nil},
		{"after a gap the next is another run", fired(10, 5), nil, calm(2, 8)},
		{"of its own length", fired(11, 6), alert(2, 11, 10), nil},
	} {
		got, err := twin.Fire(c.f)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Rows, c.rows) || !reflect.DeepEqual(got.Side["calm"], c.calm) {
			t.Errorf("%d, %s: got %v and %v", i, c.what, got.Rows, got.Side)
		}
	}
}

func TestKeysAreApartAndExpire(t *testing.T) {
	twin, err := tidemark.NewProcessTwin(plugin, tidemark.Values{"limit": 5, "after": 2})
	if err != nil {
		t.Fatal(err)
	}
	bob := fired(1, 5)
	bob.Key = "bob"
	// All in one call, as firings of a batch may come.
	got, err := twin.Fire(fired(0, 5), bob, fired(1, 5))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 1 || got.Rows[0]["windows"] != int64(2) {
		t.Errorf("got %v", got.Rows)
	}
	twin.Expire("ann")
	if got, err = twin.Fire(fired(2, 5)); err != nil || len(got.Rows) != 0 {
		t.Errorf("after its state has gone: %v, %v", got.Rows, err)
	}
}

func TestArgumentsThatMakeNoSense(t *testing.T) {
	if _, err := tidemark.NewProcessTwin(plugin, tidemark.Values{"after": 0}); err == nil || err.Error() != errLimit.Error() {
		t.Errorf("got %v", err)
	}
}
