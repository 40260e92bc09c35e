package engine_test

import (
	"slices"
	"testing"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/engine/stream"
)

func TestExpressionsAreCheckedOverTheFieldsOfAStep(t *testing.T) {
	fields := []stream.Field{{Name: "shop", Kind: stream.String}, {Name: "n", Kind: stream.Int64}, {Name: "usual.p50", Kind: stream.Float64}, {Name: "window_end", Kind: stream.Timestamp}}
	rows := []struct {
		src, wrong string
		kind       stream.Kind
	}{
		{"n * 2", "", stream.Int64},
		{"usual.p50 / 2.0", "", stream.Float64},
		{"shop == 'x' && n > 1", "", stream.Bool},
		{"window_end", "", stream.Timestamp},
		{"n + price", "column 5 of the expression: there is no field or function price; fields: shop, n, usual.p50, window_end", 0},
		{"n > 1 &&\n  shop > 1", "line 2, column 8 of the expression: > does not take (string, int64)", 0},
	}
	for _, row := range rows {
		kind, err := engine.Builtins{}.Expr(row.src, fields)
		if got := errText(err); got != row.wrong || kind != row.kind {
			t.Errorf("%s: %v, %q; want %v, %q", row.src, kind, got, row.kind, row.wrong)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOutputsOfBuiltinsFollowFromTheirColumns(t *testing.T) {
	rows := []struct {
		name  string
		kinds []stream.Kind
		args  []job.Arg
		want  []stream.Kind
	}{
		{"count", nil, nil, []stream.Kind{stream.Int64}},
		{"sum", []stream.Kind{stream.Int64}, nil, []stream.Kind{stream.Int64}},
		{"max", []stream.Kind{stream.Timestamp}, nil, []stream.Kind{stream.Timestamp}},
		{"list", []stream.Kind{stream.String}, nil, []stream.Kind{stream.JSON}},
		{"quantiles", []stream.Kind{stream.Int64}, []job.Arg{{Name: "quantiles", Kind: stream.Float64, List: []float64{0.5, 0.9}}}, []stream.Kind{stream.Float64, stream.Float64}},
	}
	for _, row := range rows {
		bound, err := engine.Builtins{}.Bind(row.name, row.kinds, row.args)
		var got []stream.Kind
		for _, f := range bound.Outputs {
			got = append(got, f.Kind)
		}
		if err != nil || !slices.Equal(got, row.want) || bound.OrderInsensitive != (row.name != "list") {
			t.Errorf("%s: %v, any order %t, %v; want %v", row.name, got, bound.OrderInsensitive, err, row.want)
		}
	}
}
