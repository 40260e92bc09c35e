package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// recordLine is a record as a source reads it: an object as one line of JSON, a scalar as
// it stands.
func recordLine(n *yaml.Node) ([]byte, error) {
	if n.Kind == yaml.ScalarNode {
		if strings.ContainsAny(n.Value, "\n") {
			return nil, fmt.Errorf("line %d: a record is one line", n.Line)
		}
		return []byte(n.Value + "\n"), nil
	}
	line, err := appendJSON(nil, n)
	return append(line, '\n'), err
}

// appendJSON writes a YAML value as JSON. Members keep their order, and numbers and times
// the way they are written.
func appendJSON(dst []byte, n *yaml.Node) ([]byte, error) {
	var err error
	switch n.Kind {
	case yaml.AliasNode:
		return appendJSON(dst, n.Alias)
	case yaml.MappingNode:
		dst = append(dst, '{')
		for i := 0; i < len(n.Content); i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSONText(dst, n.Content[i].Value), ':')
			if dst, err = appendJSON(dst, n.Content[i+1]); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, c := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSON(dst, c); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	switch n.ShortTag() {
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		var b bool
		err = n.Decode(&b)
		return strconv.AppendBool(dst, b), err
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return append(dst, n.Value...), nil
		}
		var f float64
		var i int64
		if n.Decode(&i) == nil {
			return strconv.AppendInt(dst, i, 10), nil
		}
		if err = n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("line %d: %s is no number of JSON; in quotes it is text, and a whole record in quotes is a raw line", n.Line, n.Value)
		}
		return strconv.AppendFloat(dst, f, 'g', -1, 64), nil
	}
	return appendJSONText(dst, n.Value), nil
}

func appendJSONText(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("BUG: text is always JSON: " + err.Error())
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// parseJSON reads a value with numbers as they are written.
func parseJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// differences says how got differs from what is wanted of it: an object may have more
// fields than that, everything else must be equal. A time may be wanted as text or as
// milliseconds.
func differences(path string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		var out []string
		for _, name := range sortedNames(w) {
			at := strings.TrimPrefix(path+"."+name, ".")
			v, there := g[name]
			if !there {
				out = append(out, fmt.Sprintf("%s: want %s, got nothing", at, show(w[name])))
				continue
			}
			out = append(out, differences(at, w[name], v)...)
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			break
		}
		var out []string
		for i := range w {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
		return out
	default:
		if sameScalar(want, got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: want %s, got %s", path, show(want), show(got))}
}

// sameScalar compares numbers by value and times by instant.
func sameScalar(want, got any) bool {
	if want == got {
		return true
	}
	w, number := want.(json.Number)
	if g, ok := got.(json.Number); ok && number {
		a, aerr := w.Int64()
		b, berr := g.Int64()
		if aerr == nil && berr == nil {
			return a == b
		}
		x, xerr := w.Float64()
		y, yerr := g.Float64()
		return xerr == nil && yerr == nil && x == y
	}
	text, ok := got.(string)
	if !ok {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return false
	}
	if number {
		ms, err := w.Int64()
		return err == nil && ms == at.UnixMilli()
	}
	wanted, ok := want.(string)
	if !ok {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, wanted)
	return err == nil && t.Equal(at)
}

func show(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: not JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sortedNames(m map[string]any) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
