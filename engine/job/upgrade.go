package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What a plug-in keeps has the layout that its manifest numbers, its schema. State of the
// same schema is taken over whatever else of the module has changed; of another one if the
// new module says that it converts from that.

// State parts of an operator, for Schema.
const (
	ProcessState   = partProcess + "." + partState
	TriggerState   = partTrigger + "." + partState
	WatermarkState = partWatermark + "." + partState
)

// AggregateState is the part of the state of an aggregate, counted from 0.
func AggregateState(n int) string {
	return fmt.Sprintf("%s %d.%s", partAggregate, n+1, partState)
}

const schemaPrefix = "schema "

// state adds the part that says which layout a plug-in keeps its state in.
func (d *describer) state(of string, p Plugin) {
	d.part(of+"."+partState, schemaText(p.Schema))
	part := &d.out[len(d.out)-1].Parts[len(d.out[len(d.out)-1].Parts)-1]
	for _, older := range p.Upgrades {
		part.takes = append(part.takes, schemaText(older))
	}
}

func schemaText(n uint32) string { return schemaPrefix + strconv.FormatUint(uint64(n), 10) }

// Schema is the version of the layout of what a plug-in of the operator keeps; 0: it keeps
// nothing, or is a built-in one.
func (o *Operator) Schema(part string) uint32 {
	text, ok := strings.CutPrefix(o.value(part), schemaPrefix)
	n, err := strconv.ParseUint(text, 10, 32)
	if !ok || err != nil {
		return 0
	}
	return uint32(n)
}

// takes reports whether the operator converts what it kept when a part had another value.
func (o *Operator) takes(part, was string) bool {
	i := slices.IndexFunc(o.Parts, func(p Part) bool { return p.Name == part })
	return i >= 0 && slices.Contains(o.Parts[i].takes, was)
}
