package abi

import (
	"fmt"
	"math"
	"slices"
)

// MaxUpgrades bounds the older schemas that a manifest names.
const MaxUpgrades = 64

// Upgrade is an older layout of what a plug-in keeps, from which the module converts
// (SPEC section 2, `upgrades`).
type Upgrade struct {
	Schema uint32
	Width  int // bytes of its accumulators; 0: they varied in size, or it is no aggregate
}

// Kept says what a state is that tm_upgrade is given.
type Kept uint32

// What plug-ins keep. Stored in frames; never change.
const (
	KeptAccumulator Kept = 0
	KeptOfKey       Kept = 1 // of a process function
	KeptOfWindow    Kept = 2 // of a process function or a trigger
	KeptOfSplit     Kept = 3 // of a watermark generator
)

// Upgrades lists the older layouts that the module converts.
func (m *Manifest) Upgrades() []Upgrade {
	switch {
	case m.Aggregate != nil:
		return m.Aggregate.Upgrades
	case m.Process != nil:
		return m.Process.Upgrades
	case m.Generator != nil:
		return m.Generator.Upgrades
	case m.Trigger != nil:
		return m.Trigger.Upgrades
	}
	return nil
}

// Former finds the older layout with a schema.
func (m *Manifest) Former(schema uint32) (u Upgrade, ok bool) {
	list := m.Upgrades()
	if i := slices.IndexFunc(list, func(u Upgrade) bool { return u.Schema == schema }); i >= 0 {
		return list[i], true
	}
	return Upgrade{}, false
}

// upgrades reads a list of older layouts; sized: with the widths of accumulators.
func (r *manifestReader) upgrades(path string, n node, sized bool) []Upgrade {
	var out []Upgrade
	r.array(path, n, MaxUpgrades, func(path string, n node) {
		var schema, width int64
		known := map[string]func(string, node){"schema": r.number(&schema, 1, math.MaxUint32)}
		needed := []string{"schema"}
		if sized {
			known["width"] = r.number(&width, 0, MaxWidth)
			needed = append(needed, "width")
		}
		r.need(path, r.object(path, n, known), needed...)
		if width%8 != 0 {
			r.fail(path+".width", "must be a multiple of 8")
		}
		if slices.ContainsFunc(out, func(u Upgrade) bool { return int64(u.Schema) == schema }) {
			r.fail(path+".schema", "%d occurs twice", schema)
		}
		out = append(out, Upgrade{uint32(schema), int(width)})
	})
	return out
}

// older checks that layouts are of versions below the present one.
func (r *manifestReader) older(path string, schema uint32, upgrades []Upgrade) {
	for i, u := range upgrades {
		if u.Schema >= schema && schema > 0 {
			r.fail(fmt.Sprintf("%s[%d].schema", path, i), "is %d, it must be below the present schema, %d", u.Schema, schema)
		}
	}
}
