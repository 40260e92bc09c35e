package spec_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tidemark/spec"
)

func TestPublishedScenarios(t *testing.T) {
	all := spec.Published()
	if len(all) != 249 {
		t.Errorf("%d scenarios, README.md says 249", len(all))
	}
	for i := range all {
		s := &all[i]
		if d := spec.Diff(s, s.Expect); d != "" {
			t.Errorf("%s differs from itself: %s", s.ID, d)
		}
		// What is written must read back as the same scenario: generated ones are
		// reported as JSON.
		text, err := json.Marshal(all[i : i+1])
		if err != nil {
			t.Fatal(err)
		}
		back, err := spec.Read(strings.NewReader(string(text)))
		if err != nil {
			t.Errorf("%s does not read back: %v", s.ID, err)
			continue
		}
		again, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(text) {
			t.Errorf("%s reads back as\n%s\nwant\n%s", s.ID, again, text)
		}
	}
}

func TestReadIsStrict(t *testing.T) {
	scenario := func(job, steps, expect string) string {
		return `[{"id":"X-1","area":"","rule":[],"source":"","job":` + job + `,"steps":` + steps + `,"expect":` + expect + `}]`
	}
	for _, c := range []struct{ name, text, want string }{
		{"an unknown field of a job", scenario(`{"windw":{}}`, `[]`, `[]`), `scenario X-1: json: unknown field "windw"`},
		{"an unknown field of a record", scenario(`{}`, `[{"record":{"ts":1,"k":2}}]`, `[]`), `scenario X-1: json: unknown field "k"`},
		{"an unknown kind", scenario(`{"kind":"wndow"}`, `[]`, `[]`), `scenario X-1: kind "wndow" is not known`},
		{"an empty step", scenario(`{}`, `[{}]`, `[]`), "step 0 says 0 things"},
		{"a step that says two things", scenario(`{}`, `[{"probe":true,"watermark":1}]`, `[]`), "step 0 says 2 things"},
		{"an input that is not there", scenario(`{"inputs":2}`, `[{"watermark":1,"input":2}]`, `[]`), "no input 2"},
		{"an expectation of no step", scenario(`{}`, `[{"probe":true}]`, `[{"after_step":1}]`), "after step 1"},
		{"expectations out of order", scenario(`{}`, `[{"probe":true},{"probe":true}]`, `[{"after_step":1},{"after_step":0}]`), "not in order"},
		{"a fraction of a millisecond", scenario(`{}`, `[{"watermark":1.5}]`, `[]`), "cannot unmarshal number 1.5"},
		{"a time beyond 64 bits", scenario(`{}`, `[{"watermark":9223372036854775808}]`, `[]`), "9223372036854775808"},
		{"a window with three ends", scenario(`{}`, `[{"probe":true}]`, `[{"after_step":0,"windows":[[1,2,3]]}]`), "[start, end] or null"},
		{"an id twice", strings.Replace(scenario(`{}`, `[]`, `[]`), "]}]", `]},{"id":"X-1"}]`, 1), "scenario X-1: the id is taken"},
		{"no id", `[{"job":{}}]`, "scenario #0: the id is missing"},
		{"something after the array", `[] []`, "more follows"},
		{"no array", `{}`, "cannot unmarshal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := spec.Read(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestReadKeepsEveryDigit(t *testing.T) {
	s, err := spec.Read(strings.NewReader(`[{"id":"X-1","job":{},
		"steps":[{"record":{"ts":9223372036854774057,"key":"ax","value":9007199254740993}},{"record":{"ts":null}}],
		"expect":[{"after_step":0,"out":[{"key":null,"window":[-9223372036854775808,9223372036854775807],"value":{"b":[1.50,1e2],"a":"é"},"ts":1}]}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	r := s[0].Steps[0].Record
	if *r.TS != 9223372036854774057 || r.Value != "9007199254740993" || r.Key != spec.Text("ax") {
		t.Errorf("record %v", r)
	}
	if s[0].Steps[1].Record.TS != nil {
		t.Errorf("a null timestamp reads as %d", *s[0].Steps[1].Record.TS)
	}
	want := spec.Result{Key: spec.Null, Window: spec.Span{Start: math.MinInt64, End: math.MaxInt64}, Value: `{"a":"é","b":[1.5,100]}`, TS: 1}
	if got := s[0].Expect[0].Out[0]; got != want {
		t.Errorf("row %v, want %v", got, want)
	}
	if s[0].Job.Kind != spec.KindWindow || !s[0].Job.IsKeyed() || s[0].Job.InputCount() != 1 {
		t.Errorf("defaults: %+v", s[0].Job)
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ name, a, b string }{
		{"blanks do not count", ` [ 1 , 2 ] `, `[1,2]`},
		{"nor does the order of names", `{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{"a whole float is an integer", `3.0`, `3`},
		{"so is one with an exponent", `1e3`, `1000`},
		{"minus zero is zero", `-0`, `0`},
		{"and as a float too", `-0.0`, `0`},
		{"escapes are read", `"\u0061"`, `"a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := spec.Canonical([]byte(c.a))
			if err != nil {
				t.Fatal(err)
			}
			b, err := spec.Canonical([]byte(c.b))
			if err != nil {
				t.Fatal(err)
			}
			if a != b {
				t.Errorf("%s and %s", a, b)
			}
		})
	}
	if got := spec.List(spec.Int(-4), spec.List(), spec.Null, spec.Text("é")); got != `[-4,[],null,"é"]` {
		t.Errorf("list %s", got)
	}
	if _, err := spec.Canonical([]byte(`1 2`)); err == nil {
		t.Error("two values are one")
	}
}
