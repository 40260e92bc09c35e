package hostile

import (
	"fmt"
	"strings"
)

// Neighbour is a job of another tenant that does nothing wrong: it sums by a plug-in and
// counts distinct values by itself. What it gives is computed here from its definition.
type Neighbour struct {
	File, Input string // that it reads
	Job         string // its plug-in is the guest sum, version 1
	// Rows are its rows behind the name of the step, in no order.
	Rows map[string]bool
}

// NewNeighbour makes a neighbour with so many thousand records. A thousand of them take
// half a millisecond or more.
func NewNeighbour(file string, thousands int) *Neighbour {
	const keys, span = 5, 1000 // a window has span records
	n := &Neighbour{File: file, Job: SumJob("1", file, "", ""), Rows: map[string]bool{}}
	var in strings.Builder
	for w := range thousands {
		var sums [keys]int64
		for i := w * span; i < (w+1)*span; i++ {
			fmt.Fprintf(&in, `{"t":%d,"k":"k%d","v":%d}`+"\n", i, i%keys, i)
			sums[i%keys] += int64(i)
		}
		for k, sum := range sums {
			n.Rows[fmt.Sprintf(`"key":{"k":"k%d"},"window":{"start":%d,"end":%d},"kind":"on_time","revision":0,"value":{"s":{"sum":%d,"count":%d},"d":%d}}`,
				k, w*span, (w+1)*span, sum, span/keys, span/keys)] = true
		}
	}
	n.Input = in.String()
	return n
}

// Differ says how rows, a line each, differ from those that are right; "" if they do not.
func (n *Neighbour) Differ(rows string) string {
	seen := map[string]bool{}
	for line := range strings.Lines(rows) {
		_, row, _ := strings.Cut(strings.TrimSpace(line), `"step":"s",`)
		switch {
		case !n.Rows[row]:
			return "a row that is wrong: " + line
		case seen[row]:
			return "a row that is there twice: " + line
		}
		seen[row] = true
	}
	if len(seen) < len(n.Rows) {
		return fmt.Sprintf("%d rows, there must be %d", len(seen), len(n.Rows))
	}
	return ""
}

// SumJob is a job that sums in windows of a second by a version of the plug-in, with more
// settings of the job and of the step.
func SumJob(version, input, settings, step string) string {
	return "version: 1\njob: sums\n" + settings + "plugins:\n  p: {ref: " + Plugin + "@" + version + "}\n" + source("in", input, "{out_of_orderness: 0s}", false) + `steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 1s}
    aggregates: {s: {plugin: p, columns: {value: v}}, d: {function: distinct, columns: {value: v}}}
` + step + `sinks:
  out: {from: s, file: {path: out/rows.jsonl}, time_format: ms}
`
}

// source is the first of a job's sources.
func source(name, file, watermark string, follow bool) string {
	return "sources:\n" + oneSource(name, file, watermark, follow)
}

func oneSource(name, file, watermark string, follow bool) string {
	return fmt.Sprintf(`  %s:
    file: {path: %s, follow: %v}
    format: json
    schema: {k: string, v: int64}
    time: {field: t, unit: ms}
    watermark: %s
`, name, file, follow, watermark)
}
