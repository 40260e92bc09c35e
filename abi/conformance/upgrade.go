package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark/abi"
)

// tm_upgrade: states of an older schema become those of today, one to one. A call carries
// them as accumulators of varying size, whatever they are.

// keptOf are the words for what is upgraded, by number.
var keptOf = []string{"accumulators", "keys", "windows", "splits"}

// upgrade reads what a call of tm_upgrade is about.
func (p *parser) upgrade(c *call, options []string) (*call, error) {
	schema, of := false, false
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "schema":
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o, err)
			}
			c.schema, schema = uint32(n), true
		case "of":
			i := slices.Index(keptOf, value)
			if i < 0 {
				return nil, fmt.Errorf("%s: it is of one of %s", o, strings.Join(keptOf, ", "))
			}
			c.what, of = abi.Kept(i), true
		default:
			return nil, fmt.Errorf("%s is not known here", o)
		}
	}
	if !schema || !of {
		return nil, fmt.Errorf("tm_upgrade schema=N of=%s", strings.Join(keptOf, "|"))
	}
	return c, nil
}

// oldStates reads the states that are upgraded.
func (c *call) oldStates(words []string) error {
	b, err := parseBytes(words)
	c.accs = append(c.accs, b)
	c.groups = len(c.accs)
	return err
}

// upgradeBlock lays out what a frame of tm_upgrade is about.
func (f *frame) upgradeBlock(c *call) {
	raw := make([]byte, abi.BlockBytes)
	b := abi.Block{Items: c.schema, Keys: uint32(c.what)}
	b.Put(raw)
	f.area(raw, func(at uint32) { f.header.Block = at })
}

// upgraded reads the answer of tm_upgrade.
func (r *reply) upgraded(c *call, s *shape, out []byte, done int) error {
	if err := r.accumulators(out, done); err != nil {
		return err
	}
	for i, b := range r.accs {
		switch {
		case c.what == abi.KeptAccumulator && s.width > 0 && len(b) != s.width:
			return fmt.Errorf("state %d has %d bytes, accumulators have %d", i, len(b), s.width)
		case c.what != abi.KeptAccumulator && len(b) == 0:
			return fmt.Errorf("state %d has no bytes", i)
		}
		r.said[i] = sayUpgraded(i, b)
	}
	return nil
}

func sayUpgraded(item int, b []byte) said {
	return said{item, saidAcc, "", "upgraded " + showBytes(b)}
}
