//go:build !wasip1

package main

import (
	"reflect"
	"testing"

	tidemark "tidemark/sdk/go"
)

func TestEvery(t *testing.T) {
	twin, err := tidemark.NewTriggerTwin(plugin, tidemark.Values{"n": 3})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := twin.Upgrade(1, []byte("258")); err != nil || string(got) != "\x02\x01\x00\x00\x00\x00\x00\x00" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, old := range []string{"", "1x", "-1", "1234567890"} {
		if _, err := twin.Upgrade(1, []byte(old)); err == nil || err.Error() != "a count is no number of 1 to 9 digits" {
			t.Errorf("%q: %v", old, err)
		}
	}
	got, err := twin.Pane(0, 10).Elements(make([]tidemark.Record, 7)...)
	c, f := tidemark.Continue, tidemark.Fire
	if want := []tidemark.Verdict{c, c, f, c, c, f, c}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := tidemark.NewTriggerTwin(plugin, tidemark.Values{"n": 0}); err == nil || err.Error() != "n must be at least 1" {
		t.Error(err)
	}
}
