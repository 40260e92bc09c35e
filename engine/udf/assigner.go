package udf

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/engine/stream"
)

// Assigner says which windows records belong to, in place of a built-in assigner. Its
// windows are windows of event time. It looks at nothing but the record, its time
// included, and keeps nothing between calls.
//
// Order of calls: Info any time; Assign in any number; Close once, last. All calls come
// from the goroutine of the task that owns the Assigner. No argument is kept beyond the
// call that passes it.
//
// A call is all or nothing: after an error the caller takes out back to where it was.
// Errors are of class *Failure when user code refused or broke down, with the record in Op;
// anything else ends the job.
type Assigner interface {
	Info() AssignerInfo
	// Assign appends the windows of each of the selected records (rows.Group is not used)
	// to out, in the order of the records; Of is the index into Sel. What it says of a record
	// follows from that record alone, so a call may be cut anywhere, and made again. A
	// record with a null in an input that is not Nullable has none. All of the records have
	// a time.
	//
	// The caller judges what is said of each record (AssignerInfo.Judge).
	Assign(rows *Rows, out *Assigned) error
	Close() error
}

// MaxWindows bounds the windows that an Assigner gives one record: each is a pane to look
// up, and what they cost must not be up to a stranger.
const MaxWindows = 1000

// AssignerInfo describes an assigner. It never changes during the life of an instance.
type AssignerInfo struct {
	// Name is the plug-in's, as the job calls it, for messages; empty for natives.
	Name   string
	Inputs []Input
	// Merges: windows of a key that overlap or touch become one (S45).
	Merges bool
}

// Judge puts the windows of a record in order, the one that ends last first, each once, and
// says which rule they break, nil if none: a start is below its end, there are at most
// MaxWindows, and only one where they merge. The result shares the memory of ws.
func (i *AssignerInfo) Judge(ws []stream.Window) ([]stream.Window, *Failure) {
	slices.SortFunc(ws, func(a, b stream.Window) int { return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(b.Start, a.Start)) })
	ws = slices.Compact(ws)
	what := ""
	empty := slices.IndexFunc(ws, func(w stream.Window) bool { return w.Start >= w.End })
	switch {
	case empty >= 0:
		what = fmt.Sprintf("the window [%d, %d), whose start is not below its end", ws[empty].Start, ws[empty].End)
	case len(ws) > MaxWindows:
		what = fmt.Sprintf("%d windows for one record, at most %d are allowed", len(ws), MaxWindows)
	case len(ws) > 1 && i.Merges:
		what = fmt.Sprintf("%d windows for one record; where windows merge a record is in one", len(ws))
	default:
		return ws, nil
	}
	return nil, &Failure{Op: -1, Fresh: true, Module: i.Name, Message: "the assigner answers " + what}
}

// Each hands out what was said of n records: the index of each, and its windows.
func (a *Assigned) Each(n int, f func(item int, ws []stream.Window)) {
	at := 0
	for item := range n {
		end := at
		for end < len(a.Of) && int(a.Of[end]) == item {
			end++
		}
		f(item, a.Windows[at:end])
		at = end
	}
}

// Assigned is the answer of a call: windows, and for each the record that it is of,
// ascending.
type Assigned struct {
	Windows []stream.Window
	Of      []uint32
}

// Truncate takes the answer back to n windows.
func (a *Assigned) Truncate(n int) { a.Windows, a.Of = a.Windows[:n], a.Of[:n] }
