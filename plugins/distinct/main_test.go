//go:build !wasip1

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tidemark "tidemark/sdk/go"
)

func values(vs ...any) []tidemark.Values {
	var rows []tidemark.Values
	for _, v := range vs {
		rows = append(rows, tidemark.Values{"value": v})
	}
	return rows
}

func twin(t *testing.T) *tidemark.Twin {
	t.Helper()
	tw, err := tidemark.NewTwin(plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tw
}

// alike are texts that differ only behind their first 8 bytes.
func alike(n int) []tidemark.Values {
	var rows []tidemark.Values
	for i := range n {
		rows = append(rows, tidemark.Values{"value": fmt.Sprintf("visitor-%04d", i*7919%n)})
	}
	return rows
}

func TestResult(t *testing.T) {
	for _, row := range []struct {
		name string
		in   []tidemark.Values
		want int64
	}{
		{"no record", nil, 0},
		{"one record", values("a"), 1},
		{"repetitions count once", values("a", "b", "a", "a", "b"), 2},
		{"the empty text is a text", values("", "a", ""), 2},
		{"nulls are left out", values("a", nil), 1},
		{"a text and its beginning differ", values("ab", "abc", "a", "ab\x00", "abcdefgh", "abcdefghi"), 6},
		{"texts that begin alike", alike(1000), 1000},
		{"long texts", values(strings.Repeat("x", 300), strings.Repeat("x", 301), strings.Repeat("x", 300)), 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			tw := twin(t)
			acc, err := tw.Add(nil, row.in...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tw.Result(acc)
			if err != nil {
				t.Fatal(err)
			}
			if got["distinct"] != row.want {
				t.Errorf("got %v, want %d", got["distinct"], row.want)
			}
		})
	}
}

func TestASetIsOneSequenceOfBytes(t *testing.T) {
	acc, err := twin(t).Add(nil, values("b", "", "ab", "b")...)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x03" + "\x00" + "\x02ab" + "\x01b"; string(acc) != want {
		t.Errorf("got %q, want %q", acc, want)
	}
}

func TestLaws(t *testing.T) {
	for _, in := range [][]tidemark.Values{
		nil, values("a"), values("", "", "b"), values("c", "a", "b", "a", "", "cc"), alike(40),
	} {
		if err := twin(t).Laws(in...); err != nil {
			t.Errorf("%v: %v", in, err)
		}
	}
}

func TestMoreThanAnAccumulatorHoldsIsRefused(t *testing.T) {
	tw := twin(t)
	var rows []tidemark.Values
	for i := range 11 {
		rows = append(rows, tidemark.Values{"value": strings.Repeat(string(rune('a'+i)), 100_000)})
	}
	_, err := tw.Add(nil, rows...)
	var r *tidemark.Refusal
	if !errors.As(err, &r) || r.Message != "accumulator is longer than 1 MiB" {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestDamagedBytesAreRefused(t *testing.T) {
	tw := twin(t)
	for _, acc := range []string{"\x80", "\x01\x05ab", "\x01\xff"} {
		_, err := tw.Merge(tidemark.Acc(acc), tidemark.Acc("\x01\x01a"))
		var r *tidemark.Refusal
		if !errors.As(err, &r) {
			t.Errorf("%q: got %v, want a refusal", acc, err)
		}
	}
}
