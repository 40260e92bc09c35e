package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	got := table([]Row{
		{Group: "W1", Measure: "reference loop", Unit: Ratio, Measured: 1, CPU: 0.7, Peak: 8 * mebibyte},
		{Group: "W1", Measure: "slow", Unit: Ratio, Must: 2.5, Goal: 2, Measured: 3, CPU: 2.1, Peak: 50*mebibyte + 1},
		{Group: "W5", Measure: "peak memory", Unit: Mebibytes, Must: 300, Goal: 200, Measured: 254},
		{Group: "W1", Measure: "quick", Unit: Ratio, Must: 2.5, Goal: 2, Measured: 1.234},
	})
	const want = `|    | measure        |      must |      goal | measured |                 | CPU s | peak MiB |
|----|----------------|----------:|----------:|---------:|-----------------|------:|---------:|
| W1 | reference loop |           |           |    1.00x |                 |  0.70 |        8 |
|    | slow           |    ≤ 2.5x |      ≤ 2x |    3.00x | MISSED must     |  2.10 |       51 |
|    | quick          |    ≤ 2.5x |      ≤ 2x |    1.23x | ok              |       |          |
| W5 | peak memory    | ≤ 300 MiB | ≤ 200 MiB |  254 MiB | ok, goal missed |       |          |
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestPublish(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	const around = "before\n<!-- bench:begin -->\n%<!-- bench:end -->\nafter\n"
	for _, step := range []struct{ name, old, want string }{
		{"into an empty place", strings.Replace(around, "%", "", 1), strings.Replace(around, "%", "table\n", 1)},
		{"in place of the last one", strings.Replace(around, "%", "old\nold\n", 1), strings.Replace(around, "%", "table\n", 1)},
		{"no place", "before\n<!-- bench:end -->\n<!-- bench:begin -->\n", ""},
	} {
		if err := os.WriteFile(page, []byte(step.old), 0o644); err != nil {
			t.Fatal(err)
		}
		err := publish(page, "table\n")
		if step.want == "" {
			if err == nil || !strings.Contains(err.Error(), "are missing") {
				t.Errorf("%s: %v", step.name, err)
			}
			step.want = step.old
		} else if err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got, err := os.ReadFile(page); err != nil || string(got) != step.want {
			t.Errorf("%s: %q, %v", step.name, got, err)
		}
	}
}
