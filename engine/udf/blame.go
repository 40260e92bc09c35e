package udf

// Blame calls user code about the items from lo to hi, whose answers do not depend on each
// other. Where a call fails, the items are cut at the one that failed, or in the middle
// where that is not known, until a call with one item fails: only that condemns an item,
// since what a broken instance did with the others is not known, and a trap only on a fresh
// instance (E8). Calls that succeed are made in the order of the items.
//
// call asks about the items from lo to hi; a failure, with its place from lo on in Op, must
// have left nothing behind. condemn takes an item that is to blame.
func Blame(lo, hi int, call func(lo, hi int) (*Failure, error), condemn func(item int, f *Failure)) error {
	if lo == hi {
		return nil
	}
	f, err := call(lo, hi)
	if err != nil || f == nil {
		return err
	}
	if hi-lo == 1 {
		if f.Trap && !f.Fresh { // the instance may have been worn out: once more, on a fresh one
			if f, err = call(lo, hi); err != nil || f == nil {
				return err
			}
		}
		condemn(lo, f)
		return nil
	}
	cuts := []int{lo, lo + (hi-lo)/2, hi}
	if f.Op >= 0 && f.Op < hi-lo {
		cuts = []int{lo, lo + f.Op, lo + f.Op + 1, hi}
	}
	for i := range cuts[1:] {
		if err := Blame(cuts[i], cuts[i+1], call, condemn); err != nil {
			return err
		}
	}
	return nil
}
