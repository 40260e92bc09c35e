package decode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/fault"
)

// position reads a column's name in a file without header: c1, c2, …
func position(name string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "c"))
	if err != nil || n < 1 || name != "c"+strconv.Itoa(n) {
		return 0, fault.Userf("%q is no column of a CSV without header: they are called c1, c2 and so on", name)
	}
	return n - 1, nil
}

// start takes the first record of the split, whose fields are in spans. used says
// that it was the header; else it is a record, and the others must be as wide.
func (c *csvRecords) start(d []byte) (used bool, err error) {
	if !c.header {
		for _, t := range c.takes {
			if t.column >= len(c.spans) {
				return false, fault.Userf("field %s: the first record has no column c%d, it has %d fields",
					c.row.fields[t.field].Name, t.column+1, len(c.spans))
			}
		}
		c.width = len(c.spans)
		return false, nil
	}
	names := make([]string, len(c.spans))
	for i, sp := range c.spans {
		names[i] = string(sp.text(nil, d))
	}
	c.takes = c.takes[:0]
	for field, name := range c.columns {
		column := slices.Index(names, name)
		if column < 0 {
			return false, fault.Userf("field %s: the header has no column %q, it has %s",
				c.row.fields[field].Name, name, listed(names))
		}
		if slices.Contains(names[column+1:], name) {
			return false, fault.As(fault.ErrUser, fmt.Errorf("field %s: the header has two columns %q", c.row.fields[field].Name, name))
		}
		c.takes = append(c.takes, take{column, field})
	}
	c.width = len(names)
	return true, nil
}

// listed shows the names of a header.
func listed(names []string) string {
	const most = 50 // a screen of text; a header may have thousands
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return strings.Join(names, ", ") + more
}
