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
	if problem := checkModule(s.Name, s.Version, s.Params); problem != "" {
		return problem
	}
	if problem := checkSchema(s.Schema); problem != "" {
		return problem
	}
	if problem := checkInputs("input", s.Inputs); problem != "" {
		return problem
	}
	return checkOutputs("output", s.Outputs)
}

// checkModule checks what every plug-in has.
func checkModule(name, version string, params []Param) string {
	switch {
	case !validName(name, "_-"):
		return "a name matches [a-z][a-z0-9_-]{0,62}"
	case len(version) > maxVersionBytes:
		return "version is longer than " + strconv.Itoa(maxVersionBytes) + " bytes"
	case len(params) > maxColumns:
		return tooMany("param")
	}
	var names []string
	for _, c := range params {
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

func tooMany(what string) string { return "more than " + strconv.Itoa(maxColumns) + " " + what + "s" }

func checkSchema(schema int) string {
	if schema < 1 || schema > math.MaxInt32 {
		return "schema counts from 1"
	}
	return ""
}

func checkInputs(what string, inputs []Input) string {
	if len(inputs) > maxColumns {
		return tooMany(what)
	}
	var names []string
	for _, c := range inputs {
		names = append(names, c.input().name)
	}
	return checkNames(what, names)
}

func checkOutputs(what string, outputs []Output) string {
	switch {
	case len(outputs) == 0:
		return "no " + what + " column"
	case len(outputs) > maxColumns:
		return tooMany(what)
	}
	var names []string
	for _, c := range outputs {
		names = append(names, c.output().name)
	}
	return checkNames(what, names)
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
	b = appendInputs(b, s.Inputs)
	b = append(b, `],"outputs":[`...)
	b = appendOutputs(b, s.Outputs)
	b = append(b, `],"params":[`...)
	b = appendParams(b, s.Params)
	b = append(b, `],"accumulator":{"width":`...)
	b = strconv.AppendInt(b, int64(a.width), 10)
	b = append(b, `,"schema":`...)
	b = strconv.AppendInt(b, int64(s.Schema), 10)
	b = upgrades(s.Upgrades).appendJSON(b, true)
	b = append(b, `},"order_insensitive":`+jsonBool(s.OrderInsensitive)+`,"exact":`+jsonBool(s.Exact)...)
	if _, fixed := a.calls.(steps); fixed {
		b = append(b, `,"apply":true`...)
	}
	return append(b, `}}`...)
}

func appendInputs(b []byte, inputs []Input) []byte {
	for i, in := range inputs {
		c := in.input()
		b = appendColumn(b, i, c.name, c.kind)
		if c.nullable {
			b = append(b, `,"nullable":true`...)
		}
		b = append(b, '}')
	}
	return b
}

func appendOutputs(b []byte, outputs []Output) []byte {
	for i, out := range outputs {
		c := out.output()
		b = append(appendColumn(b, i, c.name, c.kind), '}')
	}
	return b
}

func appendParams(b []byte, params []Param) []byte {
	for i, in := range params {
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
	return b
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
