package agg

import (
	"os"
	"strings"
	"testing"

	"tidemark/engine/stream"
)

// docs/functions.md has a row for each function, with its columns, arguments and flags.
func TestTheDocumentationShowsTheFunctionsThatThereAre(t *testing.T) {
	text, err := os.ReadFile("../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			got = append(got, strings.Join([]string{cells[0], cells[1], cells[2], cells[5], cells[6]}, " | "))
		}
	}
	var want []string
	for _, f := range functions {
		columns := "none"
		var kinds []stream.Kind
		if len(f.Inputs) > 0 {
			var names []string
			kinds = f.Inputs[0].Kinds
			for _, k := range kinds {
				names = append(names, k.String())
			}
			if columns = strings.Join(names, ", "); len(names) == len(scalars) {
				columns = "any"
			}
			kinds = kinds[:1]
		}
		var params []string
		for _, p := range f.Params {
			params = append(params, "`"+p.Name+"`")
		}
		a, err := New(f.Name, kinds)
		if err != nil {
			t.Fatal(err)
		}
		yes := map[bool]string{true: "yes", false: "no"}
		exact := yes[a.Info().Exact]
		if len(kinds) > 0 && a.Info().Exact {
			if other, err := New(f.Name, []stream.Kind{stream.Float64}); err == nil && !other.Info().Exact {
				exact = "of int64"
			}
		}
		want = append(want, strings.Join([]string{"`" + f.Name + "`", columns, strings.Join(params, ", "), yes[a.Info().OrderInsensitive], exact}, " | "))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("docs/functions.md has\n%s\nthe functions are\n%s", g, w)
	}
}
