package abi

import (
	"math"
	"slices"
)

// reservedPorts are the outputs that every step has: no side output may be called so.
var reservedPorts = [...]string{"results", "late", "failed", "bad"}

func (r *manifestReader) process(path string, n node) *Process {
	p := &Process{}
	lists := map[string][]Column{}
	list := func(name string) func(string, node) {
		return func(path string, n node) { lists[name] = r.columns(path, n, true) }
	}
	seen := r.object(path, n, map[string]func(string, node){
		"inputs":  func(path string, n node) { p.Inputs = r.columns(path, n, true) },
		"records": list("records"),
		"left":    list("left"),
		"right":   list("right"),
		"outputs": func(path string, n node) { p.Outputs = r.outputs(path, n) },
		"side":    func(path string, n node) { p.Side = r.sides(path, n) },
		"params":  func(path string, n node) { p.Params = r.params(path, n) },
		"state":   func(path string, n node) { r.state(path, n, p) },
	})
	r.need(path, seen, "inputs", "outputs")
	switch {
	case seen["left"] != seen["right"]:
		r.fail(path, "has one of left and right: a function of both sides has both")
	case seen["left"] && seen["records"]:
		r.fail(path+".records", "stands beside left and right: there are all records, or two sides")
	case seen["left"]:
		p.Lists = [][]Column{lists["left"], lists["right"]}
	case seen["records"]:
		p.Lists = [][]Column{lists["records"]}
	}
	return p
}

// outputs reads columns of which there must be one.
func (r *manifestReader) outputs(path string, n node) []Column {
	before := len(r.errs)
	cols := r.columns(path, n, false)
	if len(cols) == 0 && len(r.errs) == before {
		r.fail(path, "must have at least one entry")
	}
	return cols
}

func (r *manifestReader) sides(path string, n node) []SideOutput {
	var sides []SideOutput
	taken := map[string]bool{}
	r.array(path, n, MaxSides, func(path string, n node) {
		var s SideOutput
		r.need(path, r.object(path, n, map[string]func(string, node){
			"name": func(path string, n node) {
				r.fieldName(&s.Name, taken)(path, n)
				if slices.Contains(reservedPorts[:], s.Name) {
					r.fail(path, "%q is an output of every step; take another name", s.Name)
				}
			},
			"outputs": func(path string, n node) { s.Outputs = r.outputs(path, n) },
		}), "name", "outputs")
		sides = append(sides, s)
	})
	return sides
}

func (r *manifestReader) state(path string, n node, p *Process) {
	var schema int64
	before := len(r.errs)
	r.need(path, r.object(path, n, map[string]func(string, node){
		"key":      r.flag(&p.KeyState),
		"window":   r.flag(&p.WindowState),
		"schema":   r.number(&schema, 1, math.MaxUint32),
		"upgrades": func(path string, n node) { p.Upgrades = r.upgrades(path, n, false) },
	}), "schema")
	if !p.KeyState && !p.WindowState && len(r.errs) == before {
		r.fail(path, "is neither of key nor of window; leave it out")
	}
	p.Schema = uint32(schema)
	r.older(path+".upgrades", p.Schema, p.Upgrades)
}

func (r *manifestReader) pair(path string, n node) *Pair {
	p := &Pair{}
	r.need(path, r.object(path, n, map[string]func(string, node){
		"left":    func(path string, n node) { p.Left = r.columns(path, n, true) },
		"right":   func(path string, n node) { p.Right = r.columns(path, n, true) },
		"outputs": func(path string, n node) { p.Outputs = r.outputs(path, n) },
		"params":  func(path string, n node) { p.Params = r.params(path, n) },
	}), "left", "right", "outputs")
	return p
}

func (r *manifestReader) generator(path string, n node) *Generator {
	g := &Generator{}
	r.need(path, r.object(path, n, map[string]func(string, node){
		"inputs": func(path string, n node) { g.Inputs = r.columns(path, n, true) },
		"params": func(path string, n node) { g.Params = r.params(path, n) },
		"state":  r.schema(&g.Schema, &g.Upgrades),
	}), "inputs")
	return g
}

func (r *manifestReader) mapping(path string, n node) *Map {
	m := &Map{}
	r.need(path, r.object(path, n, map[string]func(string, node){
		"inputs":  func(path string, n node) { m.Inputs = r.columns(path, n, true) },
		"outputs": func(path string, n node) { m.Outputs = r.outputs(path, n) },
		"params":  func(path string, n node) { m.Params = r.params(path, n) },
	}), "inputs", "outputs")
	return m
}

// schema reads the state of what keeps one sort of it.
func (r *manifestReader) schema(dst *uint32, upgrades *[]Upgrade) func(string, node) {
	return func(path string, n node) {
		var schema int64
		r.need(path, r.object(path, n, map[string]func(string, node){
			"schema":   r.number(&schema, 1, math.MaxUint32),
			"upgrades": func(path string, n node) { *upgrades = r.upgrades(path, n, false) },
		}), "schema")
		*dst = uint32(schema)
		r.older(path+".upgrades", *dst, *upgrades)
	}
}
