//go:build !wasip1

package main

import (
	"errors"
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

func TestResult(t *testing.T) {
	for _, row := range []struct {
		name string
		args tidemark.Values
		in   []tidemark.Values
		want string
	}{
		{"nothing", nil, nil, `[]`},
		{"the most frequent first", nil, values("b", "a", "b"), `[{"value":"b","count":2},{"value":"a","count":1}]`},
		{"of equals the lower, nulls are left out", tidemark.Values{"k": 2}, values("c", "b", nil, "a"), `[{"value":"a","count":1},{"value":"b","count":1}]`},
		{"what JSON escapes", nil, values("a\"\\\n\x1fä"), `[{"value":"a\"\\\u000a\u001fä","count":1}]`},
		{"one", tidemark.Values{"k": 1}, values("k", "j", "k", "j", "k"), `[{"value":"k","count":3}]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			tw, err := tidemark.NewTwin(plugin, row.args)
			if err != nil {
				t.Fatal(err)
			}
			acc, err := tw.Add(nil, row.in...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tw.Result(acc)
			if err != nil {
				t.Fatal(err)
			}
			if got["top"] != row.want {
				t.Errorf("got %v, want %s", got["top"], row.want)
			}
			if err := tw.Laws(row.in...); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKIsBounded(t *testing.T) {
	for _, k := range []int{0, 1001} {
		var r *tidemark.Refusal
		if _, err := tidemark.NewTwin(plugin, tidemark.Values{"k": k}); !errors.As(err, &r) || r.Message != "k is not from 1 to 1000" {
			t.Errorf("k = %d: got %v", k, err)
		}
	}
}

func TestATableIsOneSequenceOfBytes(t *testing.T) {
	tw, err := tidemark.NewTwin(plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	acc, err := tw.Add(nil, values("b", "a", "b")...)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x01a\x01" + "\x01b\x02"; string(acc) != want {
		t.Errorf("got %q, want %q", acc, want)
	}
	for _, damaged := range []string{"\x80", "\x05a", "\x01a", "\x01a\x80"} {
		var r *tidemark.Refusal
		if _, err := tw.Merge(acc, tidemark.Acc(damaged)); !errors.As(err, &r) {
			t.Errorf("%q: got %v, want a refusal", damaged, err)
		}
	}
}
