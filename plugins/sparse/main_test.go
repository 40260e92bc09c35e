//go:build !wasip1

package main

import (
	"reflect"
	"testing"

	tidemark "tidemark/sdk/go"
)

func TestSparse(t *testing.T) {
	twin, err := tidemark.NewGeneratorTwin(plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := twin.Upgrade(1, []byte("\x05\x01\x00\x00\x00\x00\x00\x00")); err != nil || string(got) != "\x05\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := twin.Upgrade(1, []byte("\x00\x00\x00\x00\x00\x00\x00\x80")); err == nil || err.Error() != "the highest time is below 0" {
		t.Error(err)
	}
	at := func(ms tidemark.Timestamp) tidemark.Record { return tidemark.Record{Time: ms} }
	got, err := twin.Show(at(10), at(5), at(30), at(20), at(7))
	none := tidemark.NoTime
	if want := []tidemark.Timestamp{none, 9, none, 29, none}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := tidemark.NewGeneratorTwin(plugin, tidemark.Values{"n": 0}); err == nil || err.Error() != "n must be at least 1" {
		t.Error(err)
	}
}
