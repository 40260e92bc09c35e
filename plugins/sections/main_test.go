//go:build !wasip1

package main

import (
	"errors"
	"slices"
	"testing"

	tidemark "tidemark/sdk/go"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		path  string
		depth int
		want  []string
	}{
		{"/", 3, []string{"/"}},
		{"/index.html", 3, []string{"/"}},
		{"/blog/2015/cats.html", 3, []string{"/", "/blog", "/blog/2015"}},
		{"/blog/2015/05/cats.html", 3, []string{"/", "/blog", "/blog/2015"}},
		{"/blog/2015/05/cats.html", 1, []string{"/"}},
		{"/blog//2015/cats.html", 3, []string{"/", "/blog", "/blog//2015"}},
		{"/blog/?next=/a/b/c", 5, []string{"/", "/blog"}},
		{"http://elsewhere/", 3, nil},
		{"", 3, nil},
	} {
		twin, err := tidemark.NewMapTwin(plugin, tidemark.Values{"depth": c.depth})
		if err != nil {
			t.Fatal(err)
		}
		made, err := twin.Show(tidemark.Record{Values: tidemark.Values{"path": c.path}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, row := range made[0] {
			got = append(got, row["section"].(string))
			if row["level"] != int64(i) {
				t.Errorf("%s: level %v of section %d", c.path, row["level"], i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, depth %d: got %q, want %q", c.path, c.depth, got, c.want)
		}
	}
}

func TestDepth(t *testing.T) {
	for _, depth := range []int{0, 101} {
		_, err := tidemark.NewMapTwin(plugin, tidemark.Values{"depth": depth})
		if refusal := (*tidemark.Refusal)(nil); !errors.As(err, &refusal) || refusal.Message != errDepth.Error() {
			t.Errorf("depth %d: got %v", depth, err)
		}
	}
}
