package tidemark

import (
	"slices"
	"strconv"
)

// maxSides bounds side outputs (abi/SPEC.md, section 2).
const maxSides = 16

// reservedPorts are the outputs that every step has.
var reservedPorts = [...]string{"results", "late", "failed", "bad"}

// checkProcess says what is wrong with a declaration; empty: nothing.
func checkProcess(s *ProcessSpec) string {
	switch {
	case (s.Left == nil) != (s.Right == nil):
		return "one of Left and Right: a function of both sides has both"
	case s.Left != nil && s.Records != nil:
		return "Records beside Left and Right"
	case s.Left != nil && s.Left == s.Right:
		return "Left and Right are one list"
	case s.KeyState != nil && s.KeyState == s.WindowState:
		return "KeyState and WindowState are one state"
	case len(s.Side) > maxSides:
		return "more than " + strconv.Itoa(maxSides) + " side outputs"
	}
	problems := []string{checkModule(s.Name, s.Version, s.Params), checkSchema(s.Schema), upgrades(s.Upgrades).check(s.Schema, -1), checkInputs("input", s.Inputs), checkOutputs("output", s.Outputs)}
	for _, l := range []*List{s.Records, s.Left, s.Right} {
		if l != nil {
			problems = append(problems, checkInputs("record column", l.cols))
		}
	}
	var names []string
	for _, side := range s.Side {
		if slices.Contains(reservedPorts[:], side.name) {
			problems = append(problems, "side output "+jsonString(side.name)+": every step has an output of that name")
		}
		names = append(names, side.name)
		problems = append(problems, checkOutputs("output", side.outputs))
	}
	for _, problem := range append(problems, checkNames("side output", names)) {
		if problem != "" {
			return problem
		}
	}
	return ""
}

// manifest writes section 2's JSON.
func (p *ProcessFunction) manifest() []byte {
	s := &p.spec
	b := []byte(`{"name":` + jsonString(s.Name) + `,"version":` + jsonString(s.Version) + `,"sdk":"go","process":{"inputs":[`)
	b = append(appendInputs(b, s.Inputs), ']')
	b = appendList(b, "records", s.Records)
	b = appendList(b, "left", s.Left)
	b = appendList(b, "right", s.Right)
	b = append(b, `,"outputs":[`...)
	b = append(appendOutputs(b, s.Outputs), `],"side":[`...)
	for i, side := range s.Side {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`+jsonString(side.name)+`,"outputs":[`...)
		b = append(appendOutputs(b, side.outputs), `]}`...)
	}
	b = append(b, `],"params":[`...)
	b = append(appendParams(b, s.Params), ']')
	if s.KeyState != nil || s.WindowState != nil {
		b = append(b, `,"state":{"key":`+jsonBool(s.KeyState != nil)+`,"window":`+jsonBool(s.WindowState != nil)+`,"schema":`...)
		b = append(upgrades(s.Upgrades).appendJSON(strconv.AppendInt(b, int64(s.Schema), 10), false), '}')
	}
	return append(b, "}}"...)
}

func appendList(b []byte, name string, l *List) []byte {
	if l == nil {
		return b
	}
	b = append(b, `,"`+name+`":[`...)
	return append(appendInputs(b, l.cols), ']')
}
