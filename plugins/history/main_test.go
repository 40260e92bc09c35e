//go:build !wasip1

package main

import (
	"reflect"
	"testing"

	tidemark "tidemark/sdk/go"
)

func TestHistory(t *testing.T) {
	twin, err := tidemark.NewTwin(plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ old, now string }{{"", ""}, {"a\n\nbc\n", "\x01a\x00\x02bc"}} {
		if got, err := twin.Upgrade(1, tidemark.Acc(row.old)); err != nil || string(got) != row.now {
			t.Errorf("%q: %q, %v", row.old, got, err)
		}
	}
	if _, err := twin.Upgrade(1, tidemark.Acc("a\nb")); err == nil || err.Error() != "a text does not end" {
		t.Error(err)
	}
	old, err := twin.Upgrade(1, tidemark.Acc("a\nb\n"))
	if err != nil {
		t.Fatal(err)
	}
	acc, err := twin.Add(old, tidemark.Values{"value": "c"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := twin.Result(acc); err != nil || !reflect.DeepEqual(got, tidemark.Values{"count": int64(3), "last": "c"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := twin.Result(nil); err != nil || !reflect.DeepEqual(got, tidemark.Values{"count": int64(0)}) {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	if _, err := twin.Result(tidemark.Acc("\x05a")); err == nil || err.Error() != "accumulator is not a list: its bytes are damaged" {
		t.Error(err)
	}
	if err := twin.Laws(tidemark.Values{"value": "x"}, tidemark.Values{"value": ""}, tidemark.Values{"value": "ä"}); err != nil {
		t.Error(err)
	}
}
