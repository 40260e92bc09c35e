package main

import (
	"fmt"
	"slices"
	"strings"
)

// The query as a job. Rows go to standard output, so that they can be thrown away without
// a file's cost. Only the fields that the question needs are read.

// jobFile returns the job that answers q over the file input; plugin is the file of stats, or
// empty for the built-in aggregates.
func (q *query) jobFile(input, plugin string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\njob: %s\n", strings.ToLower(q.name))
	if plugin != "" {
		fmt.Fprintf(&b, "plugins:\n  stats: {file: %q}\n", plugin)
	}
	fmt.Fprintf(&b, `sources:
  orders:
    file: {path: %q}
    format: json
    schema: {%s}
    time: {field: event_time, unit: ms}
    watermark: {out_of_orderness: 5s}
steps:
  answer:
    from: orders
`, input, q.schema())
	if !q.allKeys {
		b.WriteString("    key: [key]\n")
	}
	fmt.Fprintf(&b, "    window: %s\n    aggregates:\n", q.window)
	if plugin != "" {
		b.WriteString("      " + pluginName + ": {plugin: stats, columns: {value: amount}}\n")
	} else {
		for _, a := range q.aggregates {
			fmt.Fprintf(&b, "      %s: {function: %s", a.name, a.function)
			if a.column != "" {
				fmt.Fprintf(&b, ", columns: {value: %s}", a.column)
			}
			b.WriteString("}\n")
		}
	}
	b.WriteString("sinks:\n  rows: {from: answer, stdout: {}}\n")
	return b.String()
}

// pluginName is the plug-in's member of value in rows, which holds what it gives.
const pluginName = "stats"

// fields are the names of those of a line that the query reads, beside the time.
func (q *query) fields() []string {
	var names []string
	if !q.allKeys {
		names = append(names, "key")
	}
	for _, a := range q.aggregates {
		if a.column != "" && !slices.Contains(names, a.column) {
			names = append(names, a.column)
		}
	}
	return names
}

// schema is these fields with their types.
func (q *query) schema() string {
	var fields []string
	for _, name := range q.fields() {
		kind := "string"
		if name == "amount" {
			kind = "float64"
		}
		fields = append(fields, name+": "+kind)
	}
	return strings.Join(fields, ", ")
}
