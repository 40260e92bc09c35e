package laws

import (
	"fmt"

	"tidemark/engine/udf"
)

// Report is what came of checking a function.
type Report struct {
	// Taken records were used. Refused ones are refused alone, and those that Trapped make
	// the function break down alone; Message is what it says of the first of either sort.
	Taken, Refused, Trapped int
	RefusedMessage          string
	TrappedMessage          string
	Laws                    []Law
}

// Broken tells whether a law does not hold.
func (r *Report) Broken() bool {
	for i := range r.Laws {
		if r.Laws[i].Broken != nil {
			return true
		}
	}
	return false
}

// count counts a record that the function does not take.
func (r *Report) count(f *udf.Failure) {
	n, message := &r.Refused, &r.RefusedMessage
	if f.Trap {
		n, message = &r.Trapped, &r.TrappedMessage
	}
	if *n++; *n == 1 {
		*message = f.Message
	}
}

// Law is one law and whether it holds.
type Law struct {
	Name, Says string
	// Judged comparisons were made. Unjudged ones said nothing, because one side was
	// refused, or lay so near to the ends of its type that rounding is without bounds.
	Judged, Unjudged int
	// Rounded: numbers may differ by rounding. Near is how far they did, in parts of what
	// went in.
	Rounded bool
	Near    float64
	Broken  *Broken

	fresh bool // it makes instances anew, which costs milliseconds each
}

// Broken is a law that does not hold, shown on the smallest input that was found.
type Broken struct {
	How       string   // what was done with the records
	Input     []string // the records, a line each
	Want, Got string
}

// broken is a comparison that came out wrong.
type broken struct{ how, want, got string }

// judge checks the law on some records, and shrinks them if it is broken.
func (l *Law) judge(records []Record, inputs []udf.Input, least int, check func([]Record) (*broken, error), show func(Record) string) error {
	b, err := check(records)
	if err != nil || b == nil {
		return err
	}
	before := *l
	records, err = shrink(records, inputs, least, func(r []Record) (bool, error) {
		smaller, err := check(r)
		if smaller != nil {
			b = smaller // the last one is of the records that are kept
		}
		return smaller != nil, err
	})
	if err != nil {
		return err
	}
	*l = before
	l.Broken = &Broken{How: b.how, Want: b.want, Got: b.got}
	for _, r := range records {
		l.Broken.Input = append(l.Broken.Input, show(r))
	}
	return nil
}

// Outcome says how a law stands, in a few words.
func (l *Law) Outcome() string {
	switch {
	case l.Broken != nil:
		return "does not hold"
	case l.Judged == 0:
		return "not judged: nothing could be compared"
	}
	s := "holds"
	if l.Rounded {
		if l.Near == 0 {
			return s + ", to the bit though not exact"
		}
		s += fmt.Sprintf(", within %.1g of what went in", l.Near)
	}
	return s
}
