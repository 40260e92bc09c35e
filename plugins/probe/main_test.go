//go:build !wasip1

package main

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	tidemark "tidemark/sdk/go"
)

func twin(t *testing.T, args tidemark.Values) *tidemark.MapTwin {
	t.Helper()
	twin, err := tidemark.NewMapTwin(plugin, args)
	if err != nil {
		t.Fatal(err)
	}
	return twin
}

func TestRows(t *testing.T) {
	full := tidemark.Values{"i": math.MinInt64, "f": -0.5, "b": true, "s": "ä\x00", "t": tidemark.Timestamp(-1)}
	for _, c := range []struct {
		name string
		args tidemark.Values
		in   tidemark.Values
		want []tidemark.Values
	}{
		{"every type", nil, full, []tidemark.Values{{"i": int64(math.MinInt64), "f": -0.5, "b": true, "s": "ä\x00", "t": tidemark.Timestamp(-1), "row": int64(0)}}},
		{"nulls", nil, nil, []tidemark.Values{{"row": int64(0)}}},
		{"twice, scaled, behind a prefix", tidemark.Values{"times": 2, "scale": 4, "prefix": "a "}, tidemark.Values{"what": "", "f": 0.25, "s": ""},
			[]tidemark.Values{{"f": 1.0, "s": "a ", "row": int64(0)}, {"f": 1.0, "s": "a ", "row": int64(1)}}},
		{"a prefix is not put before nothing", tidemark.Values{"prefix": "a"}, tidemark.Values{"b": false}, []tidemark.Values{{"b": false, "row": int64(0)}}},
		{"off", tidemark.Values{"on": false}, full, nil},
		{"no copies", tidemark.Values{"times": 0}, full, nil},
		{"none", nil, tidemark.Values{"what": "none", "i": 1}, nil},
		{"log", nil, tidemark.Values{"what": "log", "s": "x"}, nil},
		{"big", tidemark.Values{"prefix": "no", "on": false}, tidemark.Values{"what": "big", "s": "xy", "i": 3, "f": 1}, []tidemark.Values{{"s": "xyxyxy", "row": int64(0)}}},
		{"big of a negative number", nil, tidemark.Values{"what": "big", "s": "xy", "i": -1}, []tidemark.Values{{"s": "", "row": int64(0)}}},
		{"big of nothing", nil, tidemark.Values{"what": "big", "i": 5}, []tidemark.Values{{"s": "", "row": int64(0)}}},
	} {
		got, err := twin(t, c.args).Show(tidemark.Record{Values: c.in})
		if err != nil || !reflect.DeepEqual(got[0], c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		in   tidemark.Values
		want string
	}{
		{tidemark.Values{"what": "refuse", "s": "because"}, "refused: because"},
		{tidemark.Values{"what": "refuse"}, "refused: "},
		{tidemark.Values{"what": "Big"}, "unknown: Big"},
	} {
		_, err := twin(t, nil).Show(tidemark.Record{}, tidemark.Record{Values: c.in})
		if refusal := (*tidemark.Refusal)(nil); !errors.As(err, &refusal) || refusal.Op != 1 || refusal.Message != c.want {
			t.Errorf("%v: got %v", c.in, err)
		}
	}
	for _, n := range []int{-1, 1001} {
		_, err := tidemark.NewMapTwin(plugin, tidemark.Values{"times": n})
		if refusal := (*tidemark.Refusal)(nil); !errors.As(err, &refusal) || refusal.Message != errTimes.Error() {
			t.Errorf("times %d: got %v", n, err)
		}
	}
}

func TestTraps(t *testing.T) {
	for _, c := range []struct {
		in   tidemark.Values
		want string
	}{
		{tidemark.Values{"what": "trap"}, "trap"},
		{tidemark.Values{"what": "trap", "s": "no luck"}, "no luck"},
	} {
		func() {
			defer func() {
				if got := recover(); got == nil || !strings.Contains(got.(string), c.want) {
					t.Errorf("%v: got %v", c.in, got)
				}
			}()
			_, err := twin(t, nil).Show(tidemark.Record{Values: c.in})
			t.Errorf("%v: returned %v", c.in, err)
		}()
	}
}
