package abi_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/internal/fault"
)

const stats = `{"name": "stats", "version": "1.0.0", "sdk": "go",
 "aggregate": {
   "inputs":  [{"name": "value", "type": "float64", "nullable": true}],
   "outputs": [{"name": "count", "type": "int64"}, {"name": "mean", "type": "float64"}],
   "params":  [{"name": "scale", "type": "float64", "default": 1},
               {"name": "big", "type": "int64", "default": 9223372036854775807},
               {"name": "unit", "type": "string", "default": "m"},
               {"name": "on", "type": "bool", "default": true},
               {"name": "limit", "type": "int64", "required": true}],
   "accumulator": {"width": 32, "schema": 1},
   "order_insensitive": true, "exact": false, "apply": true}}`

func TestParseManifest(t *testing.T) {
	got, err := abi.ParseManifest([]byte(stats))
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Manifest{Name: "stats", Version: "1.0.0", SDK: "go", Aggregate: &abi.Aggregate{
		Inputs:  []abi.Column{{Name: "value", Kind: abi.Float64, Nullable: true}},
		Outputs: []abi.Column{{Name: "count", Kind: abi.Int64}, {Name: "mean", Kind: abi.Float64}},
		Params: []abi.Param{
			{Name: "scale", Kind: abi.Float64, HasDefault: true, Default: abi.Value{Float: 1}},
			{Name: "big", Kind: abi.Int64, HasDefault: true, Default: abi.Value{Int: 1<<63 - 1}},
			{Name: "unit", Kind: abi.String, HasDefault: true, Default: abi.Value{Str: "m"}},
			{Name: "on", Kind: abi.Bool, HasDefault: true, Default: abi.Value{Bool: true}},
			{Name: "limit", Kind: abi.Int64, Required: true},
		},
		Width: 32, Schema: 1, OrderInsensitive: true, Apply: true,
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseManifestRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"an unknown member", `"sdk"`, `"skd"`, "manifest skd: unknown member"},
		{"another case", `"exact"`, `"Exact"`, "manifest aggregate.Exact: unknown member"},
		{"a member twice", `"sdk": "go"`, `"sdk": "go", "sdk": "c"`, "manifest sdk: occurs twice"},
		{"a name that is none", `"stats"`, `"Stats"`, `manifest name: "Stats" is no name`},
		{"no name", `"name": "stats", `, ``, "manifest name: is missing"},
		{"an empty name", `"stats"`, `""`, `manifest name: "" is no name`},
		{"a version too long", `"1.0.0"`, `"` + strings.Repeat("1", 65) + `"`, "manifest version: has 65 bytes, at most 64"},
		{"no kind", `"aggregate"`, `"gatherer"`, "manifest: must have a member that says what the module is: aggregate, process, pair, watermark, map, trigger or assigner"},
		{"two kinds", `"sdk": "go"`, `"process": {"inputs": [], "outputs": [{"name": "n", "type": "int64"}]}`, "manifest process: stands beside aggregate: a module is one of them"},
		{"an unknown type", `"type": "int64"}, {`, `"type": "int32"}, {`, `manifest aggregate.outputs[0].type: is "int32", it must be int64, float64, bool, string or timestamp`},
		{"a column twice", `"mean"`, `"count"`, `manifest aggregate.outputs[1].name: "count" occurs twice`},
		{"a nullable output", `"type": "float64"}],`, `"type": "float64", "nullable": true}],`, "manifest aggregate.outputs[1].nullable: unknown member"},
		{"a width that is no multiple of 8", `"width": 32`, `"width": 12`, "manifest aggregate.accumulator.width: must be a multiple of 8"},
		{"a width too large", `"width": 32`, `"width": 4104`, "manifest aggregate.accumulator.width: must be a whole number from 0 to 4096"},
		{"one call for accumulators that vary in size", `"width": 32`, `"width": 0`, "manifest aggregate.apply: needs accumulators of fixed size"},
		{"an upgrade from the present schema", `"schema": 1`, `"schema": 3, "upgrades": [{"schema": 3, "width": 8}]`, "manifest aggregate.accumulator.upgrades[0].schema: is 3, it must be below the present schema, 3"},
		{"two upgrades from one schema", `"schema": 1`, `"schema": 3, "upgrades": [{"schema": 2, "width": 8}, {"schema": 2, "width": 16}]`, "manifest aggregate.accumulator.upgrades[1].schema: 2 occurs twice"},
		{"an upgrade without the old width", `"schema": 1`, `"schema": 3, "upgrades": [{"schema": 2}]`, "manifest aggregate.accumulator.upgrades[0].width: is missing"},
		{"an old width that is no multiple of 8", `"schema": 1`, `"schema": 3, "upgrades": [{"schema": 2, "width": 9}]`, "manifest aggregate.accumulator.upgrades[0].width: must be a multiple of 8"},
		{"an upgrade from accumulators that varied in size", `"schema": 1`, `"schema": 3, "upgrades": [{"schema": 2, "width": 0}]`, "manifest aggregate.accumulator.upgrades[0].width: is 0 beside a width of 32"},
		{"schema 0", `"schema": 1`, `"schema": 0`, "manifest aggregate.accumulator.schema: must be a whole number from 1"},
		{"a default of another type", `"default": "m"`, `"default": 1`, "manifest aggregate.params[2].default: must be a string"},
		{"an int64 with exponent", `9223372036854775807`, `1e3`, "manifest aggregate.params[1].default: must be an int64"},
		{"an int64 out of range", `9223372036854775807`, `9223372036854775808`, "manifest aggregate.params[1].default: must be an int64"},
		{"a float64 out of range", `"default": 1}`, `"default": 1e999}`, "manifest aggregate.params[0].default: must be a number"},
		{"required with a default", `"required": true`, `"required": true, "default": 3`, "manifest aggregate.params[4]: is required and has a default"},
		{"a timestamp parameter", `"type": "bool"`, `"type": "timestamp"`, `is "timestamp", a parameter must be int64, float64, bool or string`},
		{"a flag that is a number", `"order_insensitive": true`, `"order_insensitive": 1`, "manifest aggregate.order_insensitive: must be true or false"},
		{"an array in place of an object", `{"width": 32, "schema": 1}`, `[]`, "manifest aggregate.accumulator: must be an object"},
		{"something behind the object", `"apply": true}}`, `"apply": true}} {}`, "something follows the object"},
		{"half an object", `"apply": true}}`, `"apply": true`, "manifest is not a JSON object: unexpected EOF"},
		{"deep nesting", `"go"`, strings.Repeat("[", 100), "nested too deeply"},
		{"no UTF-8", `"go"`, "\"\xff\"", "manifest is not UTF-8"},
		{"a manifest too long", `"go"`, `"` + strings.Repeat("x", 70_000) + `"`, "at most 65536 are allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(stats, c.old) != 1 {
				t.Fatalf("%q occurs %d times", c.old, strings.Count(stats, c.old))
			}
			_, err := abi.ParseManifest([]byte(strings.Replace(stats, c.old, c.new, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if !errors.Is(err, fault.ErrUser) {
				t.Error("class is not ErrUser")
			}
		})
	}
}

func TestParseManifestNamesAllProblems(t *testing.T) {
	text := strings.NewReplacer(`"stats"`, `"9"`, `"width": 32`, `"width": 1`, `"sdk"`, `"x"`).Replace(stats)
	_, err := abi.ParseManifest([]byte(text))
	if n := strings.Count(err.Error(), "\n") + 1; n != 3 {
		t.Errorf("got %d lines, want 3:\n%v", n, err)
	}
}

func TestNoOutputsAreRefused(t *testing.T) {
	_, err := abi.ParseManifest([]byte(`{"name":"x","version":"","aggregate":{"inputs":[],"outputs":[],"accumulator":{"width":8,"schema":1}}}`))
	if err == nil || !strings.Contains(err.Error(), "manifest aggregate.outputs: must have at least one entry") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(stats))
	f.Add([]byte(`{"a":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := abi.ParseManifest(text)
		if (m == nil) == (err == nil) {
			t.Errorf("manifest %v with error %v", m, err)
		}
	})
}

const alerts = `{"name": "alerts", "version": "1.0.0", "process": {
   "inputs":  [{"name": "count", "type": "int64"}, {"name": "user", "type": "string", "nullable": true}],
   "records": [{"name": "amount", "type": "float64"}],
   "outputs": [{"name": "level", "type": "int64"}],
   "side":    [{"name": "quiet", "outputs": [{"name": "minutes", "type": "int64"}]}, {"name": "loud", "outputs": [{"name": "at", "type": "timestamp"}]}],
   "params":  [{"name": "limit", "type": "int64", "default": 3}],
   "state":   {"key": true, "window": false, "schema": 2}}}`

func TestParseManifestOfAProcessFunction(t *testing.T) {
	got, err := abi.ParseManifest([]byte(alerts))
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Manifest{Name: "alerts", Version: "1.0.0", Process: &abi.Process{
		Inputs:  []abi.Column{{Name: "count", Kind: abi.Int64}, {Name: "user", Kind: abi.String, Nullable: true}},
		Lists:   [][]abi.Column{{{Name: "amount", Kind: abi.Float64}}},
		Outputs: []abi.Column{{Name: "level", Kind: abi.Int64}},
		Side: []abi.SideOutput{{Name: "quiet", Outputs: []abi.Column{{Name: "minutes", Kind: abi.Int64}}},
			{Name: "loud", Outputs: []abi.Column{{Name: "at", Kind: abi.Timestamp}}}},
		Params:   []abi.Param{{Name: "limit", Kind: abi.Int64, HasDefault: true, Default: abi.Value{Int: 3}}},
		KeyState: true, Schema: 2,
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got.Process, want.Process)
	}
	both := strings.Replace(alerts, `"records": [{"name": "amount", "type": "float64"}]`, `"left": [], "right": [{"name": "amount", "type": "float64"}]`, 1)
	if got, err = abi.ParseManifest([]byte(both)); err != nil || len(got.Process.Lists) != 2 || len(got.Process.Lists[0]) != 0 || got.Process.Lists[1][0].Name != "amount" {
		t.Errorf("both sides: %v, %v", got, err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no outputs", `[{"name": "level", "type": "int64"}]`, `[]`, "manifest process.outputs: must have at least one entry"},
		{"no inputs", `"inputs"`, `"input"`, "manifest process.input: unknown member"},
		{"one side", `"records"`, `"left"`, "manifest process: has one of left and right: a function of both sides has both"},
		{"records beside sides", `"records"`, `"left": [], "right": [], "records"`, "manifest process.records: stands beside left and right"},
		{"a side output that every step has", `"quiet"`, `"late"`, `manifest process.side[0].name: "late" is an output of every step; take another name`},
		{"a side output twice", `"loud"`, `"quiet"`, `manifest process.side[1].name: "quiet" occurs twice`},
		{"a side output without columns", `[{"name": "minutes", "type": "int64"}]`, `[]`, "manifest process.side[0].outputs: must have at least one entry"},
		{"state of nothing", `"key": true`, `"key": false`, "manifest process.state: is neither of key nor of window; leave it out"},
		{"state without a version", `, "schema": 2`, ``, "manifest process.state.schema: is missing"},
		{"too many side outputs", `"side":    [`, `"side":    [` + strings.Repeat(`{}, `, 15), "manifest process.side: has 17 entries, at most 16 are allowed"},
	} {
		if _, err := abi.ParseManifest([]byte(strings.Replace(alerts, c.old, c.new, 1))); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestParseManifestOfAPairFunction(t *testing.T) {
	const text = `{"name": "match", "version": "1", "pair": {"left": [{"name": "sum", "type": "float64"}], "right": [],
		"outputs": [{"name": "open", "type": "float64"}], "params": [{"name": "limit", "type": "int64", "required": true}]}}`
	got, err := abi.ParseManifest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Manifest{Name: "match", Version: "1", Pair: &abi.Pair{
		Left: []abi.Column{{Name: "sum", Kind: abi.Float64}}, Outputs: []abi.Column{{Name: "open", Kind: abi.Float64}}, Params: []abi.Param{{Name: "limit", Kind: abi.Int64, Required: true}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got.Pair, want.Pair)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"one side", `, "right": []`, ``, "manifest pair.right: is missing"},
		{"no outputs", `[{"name": "open", "type": "float64"}]`, `[]`, "manifest pair.outputs: must have at least one entry"},
		{"state", `"right": []`, `"right": [], "state": {}`, "manifest pair.state: unknown member"},
	} {
		if _, err := abi.ParseManifest([]byte(strings.Replace(text, c.old, c.new, 1))); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestParseManifestOfAGenerator(t *testing.T) {
	const text = `{"name": "adaptive", "version": "1", "watermark": {"inputs": [{"name": "kind", "type": "string", "nullable": true}],
		"params": [{"name": "slack", "type": "int64", "default": 5}], "state": {"schema": 2}}}`
	got, err := abi.ParseManifest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Manifest{Name: "adaptive", Version: "1", Generator: &abi.Generator{
		Inputs: []abi.Column{{Name: "kind", Kind: abi.String, Nullable: true}}, Schema: 2,
		Params: []abi.Param{{Name: "slack", Kind: abi.Int64, HasDefault: true, Default: abi.Value{Int: 5}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got.Generator, want.Generator)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no inputs", `"inputs": [{"name": "kind", "type": "string", "nullable": true}],`, ``, "manifest watermark.inputs: is missing"},
		{"outputs", `"state"`, `"outputs": [], "state"`, "manifest watermark.outputs: unknown member"},
		{"a state without schema", `"schema": 2`, ``, "manifest watermark.state.schema: is missing"},
		{"a schema of 0", `"schema": 2`, `"schema": 0`, "manifest watermark.state.schema: "},
	} {
		if _, err := abi.ParseManifest([]byte(strings.Replace(text, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestParseManifestOfAFunctionOfSingleRecords(t *testing.T) {
	const text = `{"name": "sections", "version": "1", "map": {"inputs": [{"name": "path", "type": "string"}], "outputs": [{"name": "section", "type": "string"}]}}`
	got, err := abi.ParseManifest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Manifest{Name: "sections", Version: "1", Map: &abi.Map{Inputs: []abi.Column{{Name: "path", Kind: abi.String}}, Outputs: []abi.Column{{Name: "section", Kind: abi.String}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got.Map, want.Map)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no outputs", `[{"name": "section", "type": "string"}]`, `[]`, "manifest map.outputs: must have at least one entry"},
		{"state", `"inputs"`, `"state": {}, "inputs"`, "manifest map.state: unknown member"},
		{"two kinds", `"map"`, `"watermark": {"inputs": []}, "map"`, "stands beside"},
	} {
		if _, err := abi.ParseManifest([]byte(strings.Replace(text, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestParseManifestOfATrigger(t *testing.T) {
	const text = `{"name": "urgent", "version": "1", "trigger": {"inputs": [{"name": "kind", "type": "string", "nullable": true}],
		"params": [{"name": "n", "type": "int64", "default": 5}], "state": {"schema": 2}, "may_purge": true, "merges": true}}`
	got, err := abi.ParseManifest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Manifest{Name: "urgent", Version: "1", Trigger: &abi.Trigger{
		Inputs: []abi.Column{{Name: "kind", Kind: abi.String, Nullable: true}}, Schema: 2, MayPurge: true, Merges: true,
		Params: []abi.Param{{Name: "n", Kind: abi.Int64, HasDefault: true, Default: abi.Value{Int: 5}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got.Trigger, want.Trigger)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no inputs", `"inputs": [{"name": "kind", "type": "string", "nullable": true}],`, ``, "manifest trigger.inputs: is missing"},
		{"outputs", `"state"`, `"outputs": [], "state"`, "manifest trigger.outputs: unknown member"},
		{"a state without schema", `"schema": 2`, ``, "manifest trigger.state.schema: is missing"},
		{"a flag that is none", `"merges": true`, `"merges": 1`, "manifest trigger.merges: must be true or false"},
	} {
		if _, err := abi.ParseManifest([]byte(strings.Replace(text, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestParseManifestOfAnAssigner(t *testing.T) {
	const text = `{"name": "own_gap", "version": "1", "assigner": {"inputs": [{"name": "gap_ms", "type": "int64", "nullable": true}],
		"params": [{"name": "gap_ms", "type": "int64", "default": 60000}], "merges": true}}`
	got, err := abi.ParseManifest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Manifest{Name: "own_gap", Version: "1", Assigner: &abi.Assigner{
		Inputs: []abi.Column{{Name: "gap_ms", Kind: abi.Int64, Nullable: true}}, Merges: true,
		Params: []abi.Param{{Name: "gap_ms", Kind: abi.Int64, HasDefault: true, Default: abi.Value{Int: 60_000}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got.Assigner, want.Assigner)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"no inputs", `"inputs": [{"name": "gap_ms", "type": "int64", "nullable": true}],`, ``, "manifest assigner.inputs: is missing"},
		{"state", `"merges"`, `"state": {"schema": 1}, "merges"`, "manifest assigner.state: unknown member"},
		{"outputs", `"merges"`, `"outputs": [], "merges"`, "manifest assigner.outputs: unknown member"},
		{"a flag that is none", `"merges": true`, `"merges": 1`, "manifest assigner.merges: must be true or false"},
		{"two kinds", `"assigner"`, `"trigger": {"inputs": []}, "assigner"`, "stands beside"},
	} {
		if _, err := abi.ParseManifest([]byte(strings.Replace(text, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}
