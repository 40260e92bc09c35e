package harness

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// output is a row that came out of the job.
type output struct {
	text  []byte
	value any
	order string // what has the same order must be wanted in the order that it came in
}

// maxTries bounds the search for a way to pair rows with expectations that leave much
// open: a person's test needs a handful.
const maxTries = 100_000

// compareRows pairs what is wanted with what came. Rows of one key must come in the order
// in which they are wanted; keys among each other may come in any. It returns the
// differences in words, none if there is a way to pair everything.
func compareRows(what string, wanted []yaml.Node, got []output) ([]string, error) {
	var wants []any
	for i := range wanted {
		text, err := appendJSON(nil, &wanted[i])
		if err != nil {
			return nil, err
		}
		v, err := parseJSON(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", wanted[i].Line, err)
		}
		if _, ok := v.(map[string]any); !ok {
			return nil, fmt.Errorf("line %d: what is expected of a row is an object with some of its fields", wanted[i].Line)
		}
		wants = append(wants, v)
	}
	p := pairing{wants: wants, got: got, taken: make([]bool, len(got)), left: maxTries}
	if len(wants) == len(got) && p.pair(0) {
		return nil, nil
	}
	if p.left <= 0 {
		return []string{what + ": the expected rows leave too much open to find out which is which; name more fields"}, nil
	}
	return p.explain(what), nil
}

// pairing is a search: each wanted row takes the first row of some key that is left.
type pairing struct {
	wants []any
	got   []output
	taken []bool
	left  int
}

func (p *pairing) pair(n int) bool {
	if n == len(p.wants) {
		return true
	}
	tried := map[string]bool{}
	for i := range p.got {
		if p.taken[i] || tried[p.got[i].order] {
			continue
		}
		tried[p.got[i].order] = true
		if p.left--; p.left <= 0 {
			return false
		}
		if len(differences("", p.wants[n], p.got[i].value)) > 0 {
			continue
		}
		p.taken[i] = true
		if p.pair(n + 1) {
			return true
		}
		p.taken[i] = false
	}
	return false
}

// explain tells what is left when equal rows have been paired, each wanted one beside the
// row that is most like it.
func (p *pairing) explain(what string) []string {
	free := make([]bool, len(p.got))
	for i := range free {
		free[i] = true
	}
	var missing []any
	for _, w := range p.wants {
		found := false
		for i := range p.got {
			if free[i] && len(differences("", w, p.got[i].value)) == 0 {
				free[i], found = false, true
				break
			}
		}
		if !found {
			missing = append(missing, w)
		}
	}
	var out []string
	for _, w := range missing {
		near, fewest := -1, 0
		for i := range p.got {
			if d := len(differences("", w, p.got[i].value)); free[i] && (near < 0 || d < fewest) {
				near, fewest = i, d
			}
		}
		text := fmt.Sprintf("%s: want %s\n", what, show(w))
		if near < 0 {
			out = append(out, text+strings.Repeat(" ", len(what))+"  got  nothing like it")
			continue
		}
		free[near] = false
		text += fmt.Sprintf("%s  got  %s", strings.Repeat(" ", len(what)), p.got[near].text)
		for _, d := range differences("", w, p.got[near].value) {
			text += "\n" + strings.Repeat(" ", len(what)) + "       " + d
		}
		out = append(out, text)
	}
	for i := range p.got {
		if free[i] {
			out = append(out, fmt.Sprintf("%s: not expected: %s", what, p.got[i].text))
		}
	}
	if len(out) == 0 {
		text := what + ": all rows came, but those of a key in another order:"
		for i := range p.got {
			text += fmt.Sprintf("\n%s  %s", strings.Repeat(" ", len(what)), p.got[i].text)
		}
		out = append(out, text)
	}
	return out
}
