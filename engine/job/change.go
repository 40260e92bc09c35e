package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/fault"
)

// Verdict says what becomes of an operator's state under a changed job.
type Verdict string

// The verdicts.
const (
	Same         Verdict = "same"         // nothing about it has changed
	Compatible   Verdict = "compatible"   // its state is taken over, and what has changed holds from then on
	Added        Verdict = "added"        // it is new and begins empty
	Dropped      Verdict = "dropped"      // it is gone, and so its state would be
	Incompatible Verdict = "incompatible" // its state does not fit what the job says now
)

// Change is what a changed job means for one operator.
type Change struct {
	ID, Kind string
	Verdict  Verdict
	// Differences are what has changed, in words: "window was tumbling 10s, is tumbling 1m".
	Differences []string
	// Why is what keeps its state from being taken over; one entry for each difference that
	// does.
	Why []string
}

// rules says of each part why state cannot be taken over when it differs; empty: it can. A
// part that is not here is one of another version, of which nothing is known.
var rules = map[string]string{
	partName:     "it is a part of the id of each result",
	partGroups:   "state lies in so many key groups, and a job keeps their number for life",
	partOrder:    "rows under way are kept in the order in which they are taken: by place if all inputs are bounded and no time goes by the clock, else by arrival",
	partComplete: "a run with --complete and one without have other watermarks",

	partFile:       "", // files are known by name and by how they begin
	partFollow:     "a file that is waited on is kept in another way",
	partFormat:     "positions in its files are those of the old format",
	partLimits:     "",
	partSchema:     "records that were read and not sent yet have the old fields",
	partTime:       "watermarks were told by the old times",
	partClock:      "",
	partWatermark:  "what its watermark generator keeps is another one's",
	partIdle:       "idleness is counted down in one and not in the other",
	partIdleAfter:  "",
	partAlign:      "",
	partEmit:       "",
	partColumns:    "",
	partArgs:       "",
	partState:      "what the plug-in keeps has another layout, and the new module does not say that it converts from that schema",
	partModule:     "", // the same schema: the same layout
	partFrom:       "",
	partSides:      "records that wait for a partner are those of the old inputs",
	partFilter:     "",
	partDerive:     "",
	partMap:        "",
	partProject:    "",
	partKey:        "windows lie under the old keys",
	partNullKey:    "",
	partReads:      "rows under way and what is kept of records have the old fields",
	partJoin:       "records that wait for a partner were kept for another join",
	partWindow:     "open windows have other bounds",
	partLateness:   "",
	partTrigger:    "what is kept of each window is another trigger's",
	partEvictor:    "windows keep their records in one and not in the other",
	partAggregate:  "open windows hold what another function made of their records",
	partNames:      "",
	partProcess:    "what it keeps, and what it is shown, is another function's",
	partTTL:        "",
	partApply:      "",
	partOnError:    "",
	partDisable:    "failures of plug-ins are counted in one and not in the other",
	partDisableAt:  "",
	partLayout:     "windows are kept in another way",
	partPort:       "the files hold rows of another output",
	partWholeFile:  "the rows up to now lie in the unfinished old file, and would never be published",
	partEpochFiles: "",
	partTimeFormat: "",
}

// why looks up the rule of a part: of "trigger.args" that of args, of "aggregate 2" that of
// aggregate.
func why(part string) string {
	name := part
	if i := strings.LastIndexByte(part, '.'); i >= 0 {
		name = part[i+1:]
	}
	name, _, _ = strings.Cut(name, " ")
	text, known := rules[name]
	if !known {
		return "this version does not know what it means"
	}
	return text
}

// Compare says for each operator of two descriptions what becomes of its state: first those
// of the checkpoint, in its order, then those that are new. Pure.
func Compare(old, now []Operator) []Change {
	var out []Change
	for i := range old {
		o := &old[i]
		c := Change{ID: o.ID, Kind: o.Kind, Verdict: Same}
		if n := find(now, o); n == nil {
			c.Verdict = Dropped
		} else {
			c.compare(o, n)
		}
		out = append(out, c)
	}
	for i := range now {
		if n := &now[i]; find(old, n) == nil {
			out = append(out, Change{ID: n.ID, Kind: n.Kind, Verdict: Added})
		}
	}
	return out
}

// find finds the operator with the id and kind of another.
func find(in []Operator, like *Operator) *Operator {
	i := slices.IndexFunc(in, func(o Operator) bool { return o.ID == like.ID && o.Kind == like.Kind })
	if i < 0 {
		return nil
	}
	return &in[i]
}

// compare judges an operator that is in both.
func (c *Change) compare(old, now *Operator) {
	differ := func(part, was, is string) {
		c.Differences = append(c.Differences, fmt.Sprintf("%s was %s, is %s", part, orNothing(was), orNothing(is)))
		if now.takes(part, was) {
			return
		}
		if text := why(part); text != "" {
			c.Why = append(c.Why, text)
		}
	}
	for _, p := range old.Parts {
		if is := now.value(p.Name); is != p.Value {
			differ(p.Name, p.Value, is)
		}
	}
	for _, p := range now.Parts {
		if old.value(p.Name) == "" && p.Value != "" {
			differ(p.Name, "", p.Value)
		}
	}
	switch {
	case len(c.Why) > 0:
		c.Verdict = Incompatible
	case len(c.Differences) > 0:
		c.Verdict = Compatible
	}
}

// value returns a part by its name, "" if there is none.
func (o *Operator) value(name string) string {
	i := slices.IndexFunc(o.Parts, func(p Part) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	return o.Parts[i].Value
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// Takeover decides whether a checkpoint of one job can be restored by another, given the
// operators whose state is to be dropped. The error, of class ErrUser, names all that stands
// in the way with what to do about it, one a line. A word for an operator also is one for
// those of its outputs that have no sink of their own. Pure.
func Takeover(old, now []Operator, drop []string) ([]Change, error) {
	changes := Compare(old, now)
	var errs []error
	for _, id := range drop {
		if !slices.ContainsFunc(changes, func(c Change) bool { return c.ID == id && c.Kind != JobOperator && c.Verdict != Added }) {
			errs = append(errs, fmt.Errorf("--drop-state %s: the checkpoint has no state of an operator of this name%s", id, hint(id, stateful(changes))))
		}
	}
	told := slices.Clone(drop)
	for i := range changes {
		c := &changes[i]
		owner, _, _ := strings.Cut(c.ID, ".") // default sinks are called OPERATOR.OUTPUT, behind that
		text := c.hinders()
		if text == "" || c.Kind != JobOperator && (slices.Contains(told, c.ID) || slices.Contains(told, owner)) {
			continue
		}
		told = append(told, c.ID)
		errs = append(errs, errors.New(text))
	}
	return changes, fault.As(fault.ErrUser, errors.Join(errs...))
}

// stateful lists the operators that have state in the checkpoint.
func stateful(changes []Change) []string {
	var out []string
	for _, c := range changes {
		if c.Verdict != Added && c.Kind != JobOperator {
			out = append(out, c.ID)
		}
	}
	return out
}

// hinders says why a change keeps the checkpoint from being restored, and what to do; "": it
// does not.
func (c *Change) hinders() string {
	switch {
	case c.Verdict == Dropped:
		return fmt.Sprintf("%s %s is not in the job any more, and its state would be lost: put it back, or say --drop-state %s", c.Kind, c.ID, c.ID)
	case c.Verdict != Incompatible:
		return ""
	case c.Kind == JobOperator:
		return fmt.Sprintf("the job cannot go on from it: %s; %s. Put it back, or start anew with --fresh", strings.Join(c.Differences, "; "), strings.Join(c.Why, "; "))
	}
	return fmt.Sprintf("the state of %s %s cannot be taken over: %s; %s. Put it back, or say --drop-state %s, and it begins empty",
		c.Kind, c.ID, strings.Join(c.Differences, "; "), strings.Join(c.Why, "; "), c.ID)
}
