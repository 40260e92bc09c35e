//go:build !wasip1

package main

import (
	"errors"
	"slices"
	"testing"

	tidemark "tidemark/sdk/go"
)

func at(ts tidemark.Timestamp, kind ...string) tidemark.Record {
	r := tidemark.Record{Time: ts, Values: tidemark.Values{}}
	if len(kind) > 0 {
		r.Values["kind"] = kind[0]
	}
	return r
}

func TestFollow(t *testing.T) {
	twin, err := tidemark.NewGeneratorTwin(plugin, tidemark.Values{"slack": 100})
	if err != nil {
		t.Fatal(err)
	}
	// Slack 100 until a record is 80 behind: from there on it is 160, and with one that is
	// 300 behind 600. A flush moves time to itself; the next record says what it would.
	got, err := twin.Show(at(1000), at(1200), at(1150), at(1120), at(1500, "other"))
	if want := []tidemark.Timestamp{899, 1099, 1099, 1039, 1339}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	got, err = twin.Show(at(1200), at(1400, "flush"), at(3000))
	if want := []tidemark.Timestamp{899, 1400, 2399}; err != nil || !slices.Equal(got, want) {
		t.Errorf("in a second call: got %v, %v; want %v", got, err, want)
	}
	if wm, err := twin.Tick(1 << 40); err != nil || wm != tidemark.NoTime {
		t.Errorf("a tick says %d, %v", wm, err)
	}
}

func TestSlackIsNotNegative(t *testing.T) {
	_, err := tidemark.NewGeneratorTwin(plugin, tidemark.Values{"slack": -1})
	if refusal := (*tidemark.Refusal)(nil); !errors.As(err, &refusal) || refusal.Message != errSlack.Error() {
		t.Errorf("got %v", err)
	}
}
