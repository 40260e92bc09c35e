package main

import "tidemark/abi"

// assignerView is what inspect tells of a window assigner.
type assignerView struct {
	Inputs []columnView `json:"inputs"`
	Params []columnView `json:"params"`
	Merges bool         `json:"merges"`
}

func viewAssigner(a *abi.Assigner) *assignerView {
	if a == nil {
		return nil
	}
	return &assignerView{viewColumns(a.Inputs), viewParams(a.Params), a.Merges}
}

func (v *assignerView) show(line func(name, format string, args ...any), list func(name string, cols []columnView)) {
	line("windows", "%s", map[bool]string{true: "merge where they overlap or touch, as sessions do", false: "stay apart"}[v.Merges])
	list("inputs", v.Inputs)
	list("params", v.Params)
}
