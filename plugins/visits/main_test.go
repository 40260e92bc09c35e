//go:build !wasip1

package main

import (
	"reflect"
	"testing"

	tidemark "tidemark/sdk/go"
)

func TestVisits(t *testing.T) {
	twin, err := tidemark.NewProcessTwin(plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		what      tidemark.Kept
		old, want string // or the refusal
	}{
		{tidemark.KeptOfKey, "\x01\x02\x00\x00", "\x01\x02\x00\x00\x00\x00\x00\x00"},
		{tidemark.KeptOfWindow, "\xff", "\xff\x00\x00\x00\x00\x00\x00\x00"},
		{tidemark.KeptOfKey, "\x01", "the count of a key has 4 bytes"},
		{tidemark.KeptOfWindow, "\x01\x02\x00\x00", "the count of a window has 1 byte"},
	} {
		got, err := twin.Upgrade(1, row.what, []byte(row.old))
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != row.want {
			t.Errorf("%d, %x: %q, want %q", row.what, row.old, got, row.want)
		}
	}
	fired := func(key string, start tidemark.Timestamp) tidemark.Fired {
		return tidemark.Fired{Key: key, Start: start, End: start + 10}
	}
	given, err := twin.Fire(fired("a", 0), fired("b", 0), fired("a", 0), fired("a", 10))
	counts := func(k, w int64) tidemark.Values { return tidemark.Values{"of_key": k, "of_window": w} }
	if want := []tidemark.Values{counts(1, 1), counts(1, 1), counts(2, 2), counts(3, 1)}; err != nil || !reflect.DeepEqual(given.Rows, want) {
		t.Errorf("got %v, %v", given.Rows, err)
	}
}
