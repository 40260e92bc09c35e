package expr

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The examples of docs/expressions.md are what they say.
func TestTheExamplesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([^|]+)` \\| `([^|]+)` \\|")
	r, n := one, 0
	for _, part := range strings.Split(string(text), "## Nulls") {
		for _, m := range row.FindAllStringSubmatch(part, -1) {
			n++
			if got := eval(t, m[1], r); got != m[2] {
				t.Errorf("%s is %s, the documentation says %s", m[1], got, m[2])
			}
		}
		r = null
	}
	if n < 20 {
		t.Errorf("only %d examples were found", n)
	}
}
