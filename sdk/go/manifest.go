package tidemark

import (
	"math"
	"strconv"
	"strings"
)

// The limits of abi/SPEC.md, section 2, so that a module that builds is a module
// that hosts take.
const (
	maxColumns      = 64
	maxNameBytes    = 63
	maxVersionBytes = 64
	maxDefaultBytes = 4096
)

// check says what is wrong with a declaration; empty: nothing.
func check(s Spec) string {
	switch {
	case !validName(s.Name, "_-"):
		return "a name matches [a-z][a-z0-9_-]{0,62}"
	case len(s.Version) > maxVersionBytes:
		return "version is longer than " + strconv.Itoa(maxVersionBytes) + " bytes"
	case len(s.Inputs) > maxColumns || len(s.Outputs) > maxColumns || len(s.Params) > maxColumns:
		return "more than " + strconv.Itoa(maxColumns) + " inputs, outputs or params"
	case len(s.Outputs) == 0:
		return "no output column"
	case s.Schema < 1 || s.Schema > math.MaxInt32:
		return "schema counts from 1"
	}
	var names []string
	for _, c := range s.Inputs {
		names = append(names, c.input().name)
	}
	if problem := checkNames("input", names); problem != "" {
		return problem
	}
	names = names[:0]
	for _, c := range s.Outputs {
		names = append(names, c.output().name)
	}
	if problem := checkNames("output", names); problem != "" {
		return problem
	}
	names = names[:0]
	for _, c := range s.Params {
		p := c.declared()
		names = append(names, p.name)
		if p.required && p.fallback != nil {
			return "param " + jsonString(p.name) + " is required and has a default"
		}
		if text, is := p.fallback.(string); is && len(text) > maxDefaultBytes {
			return "param " + jsonString(p.name) + " has a default of more than " + strconv.Itoa(maxDefaultBytes) + " bytes"
		}
	}
	return checkNames("param", names)
}

func checkNames(what string, names []string) string {
	for i, name := range names {
		if !validName(name, "_") {
			return what + " " + jsonString(name) + ": a name matches [a-z][a-z0-9_]{0,62}"
		}
		for _, other := range names[:i] {
			if name == other {
				return what + " " + jsonString(name) + " is declared twice"
			}
		}
	}
	return ""
}

// validName: a lower-case letter, then letters, digits and the marks.
func validName(name, marks string) bool {
	if name == "" || len(name) > maxNameBytes || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune(marks, c) {
			return false
		}
	}
	return true
}

// manifest writes section 2's JSON by hand: encoding/json would be a third of the
// module.
func (a *Aggregate) manifest() []byte {
	s := &a.spec
	b := []byte(`{"name":` + jsonString(s.Name) + `,"version":` + jsonString(s.Version) + `,"sdk":"go","aggregate":{"inputs":[`)
	for i, in := range s.Inputs {
		c := in.input()
		b = appendColumn(b, i, c.name, c.kind)
		if c.nullable {
			b = append(b, `,"nullable":true`...)
		}
		b = append(b, '}')
	}
	b = append(b, `],"outputs":[`...)
	for i, out := range s.Outputs {
		c := out.output()
		b = append(appendColumn(b, i, c.name, c.kind), '}')
	}
	b = append(b, `],"params":[`...)
	for i, in := range s.Params {
		p := in.declared()
		b = appendColumn(b, i, p.name, p.kind)
		if p.required {
			b = append(b, `,"required":true`...)
		}
		if p.fallback != nil {
			b = append(b, `,"default":`+p.json...)
		}
		b = append(b, '}')
	}
	b = append(b, `],"accumulator":{"width":`...)
	b = strconv.AppendInt(b, int64(a.width), 10)
	b = append(b, `,"schema":`...)
	b = strconv.AppendInt(b, int64(s.Schema), 10)
	return append(b, `},"order_insensitive":`+jsonBool(s.OrderInsensitive)+`,"exact":`+jsonBool(s.Exact)+`}}`...)
}

// appendColumn opens the object of a column; the caller closes it.
func appendColumn(b []byte, i int, name string, k kind) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(b, `{"name":`+jsonString(name)+`,"type":"`+k.String()+`"`...)
}

func jsonInt(v int64) string { return strconv.FormatInt(v, 10) }

func jsonBool(v bool) string { return strconv.FormatBool(v) }

func jsonFloat(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		panic("tidemark: a default must be finite, is " + strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// jsonString quotes text; what is not UTF-8 becomes U+FFFD.
func jsonString(text string) string {
	const hex = "0123456789abcdef"
	b := []byte{'"'}
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
		default:
			b = append(b, string(c)...)
		}
	}
	return string(append(b, '"'))
}
