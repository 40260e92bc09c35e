package commit

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/internal/fault"
)

// Manifest is a checkpoint that is there, whole.
type Manifest struct {
	Epoch uint64
	// Run tells the starts from nothing of a job apart; each has a name of its own. One
	// that goes on from a checkpoint is of the same run.
	Run     string
	Decider string   // Plan.Decider when it was written
	Sinks   []string // ids of the sinks that it has pending work of
}

// Mark is what the transaction of a decider carries.
type Mark struct {
	Run   string
	Epoch uint64 // 0: none has been committed yet
}

// Found is a sink of the job that starts.
type Found struct {
	Sink
	Mark Mark // of the last transaction that was committed; of transactional sinks
}

// Action is what a sink does at the start.
type Action int

const (
	// Anew: nothing of the sink is in the checkpoint: it starts without a past.
	Anew Action = iota
	// Forward: the sink commits what is pending of the epoch, unless that was done, and
	// undoes what came behind it.
	Forward
)

// Decision is how a job starts.
type Decision struct {
	// Epoch is the one to restore, 0 if the job starts from nothing.
	Epoch uint64
	Sinks []Action // of each Found, in the same order
	// Undecided are epochs with a manifest about which nothing was decided, and nothing
	// will be: what is staged of them goes, and their manifests must not be used again.
	Undecided []uint64
	// Gone are sinks that the job has no more and that have pending work in the checkpoint.
	// What the last process had not committed of it stays unseen.
	Gone []string
	// Next is the number of the next epoch. Numbers are not used again, also those of
	// epochs that were given up.
	Next uint64
}

// Start decides how a job starts: with the newest epoch that is decided. manifests are
// those of the runs that it may go on with, in any order. It is an error of
// class fault.ErrCorrupt if that one's checkpoint is missing, since an older one would
// write again what readers have seen; of class fault.ErrUser if the job does not have the
// sink any more that knows whether an epoch was decided, or if it has too many that could.
func Start(manifests []Manifest, sinks []Found) (Decision, error) {
	kinds := make([]Sink, len(sinks))
	for i, s := range sinks {
		kinds[i] = s.Sink
	}
	plan, err := NewPlan(kinds)
	if err != nil {
		return Decision{}, err
	}
	newest := slices.Clone(manifests)
	slices.SortFunc(newest, func(a, b Manifest) int { return cmp.Compare(b.Epoch, a.Epoch) })

	d := Decision{Sinks: make([]Action, len(sinks)), Next: 1}
	if len(newest) > 0 {
		d.Next = newest[0].Epoch + 1
	}
	mark, err := plan.mark(newest, sinks)
	if err != nil {
		return Decision{}, err
	}
	for _, m := range newest {
		switch {
		case m.Decider == "" || m.Decider == plan.Decider && m.Run == mark.Run && m.Epoch == mark.Epoch:
			if m.Epoch < mark.Epoch && m.Run == mark.Run {
				return Decision{}, missing(plan.Decider, mark, m.Epoch)
			}
			d.restore(m, sinks)
			return d, nil
		case m.Decider != plan.Decider:
			return Decision{}, fault.Userf("checkpoint %d was to be decided by sink %s, which the job does not have any more, so that nobody can tell whether its rows were seen: restore another checkpoint by its name, or start the job once more with that sink", m.Epoch, m.Decider)
		case m.Run == mark.Run && m.Epoch < mark.Epoch:
			return Decision{}, missing(plan.Decider, mark, m.Epoch)
		}
		d.Undecided = append(d.Undecided, m.Epoch)
	}
	if mark.Epoch > 0 {
		return Decision{}, missing(plan.Decider, mark, 0)
	}
	return d, nil
}

// mark is what the decider says, and nothing if it speaks of another run.
func (p Plan) mark(newest []Manifest, sinks []Found) (Mark, error) {
	if p.Decider == "" {
		return Mark{}, nil
	}
	mark := sinks[p.Commit[0]].Mark
	if !slices.ContainsFunc(newest, func(m Manifest) bool { return m.Run == mark.Run }) {
		return Mark{}, nil
	}
	if mark.Epoch > newest[0].Epoch {
		return Mark{}, missing(p.Decider, mark, newest[0].Epoch)
	}
	return mark, nil
}

// missing is the error that the checkpoint of a decided epoch is not there.
func missing(decider string, mark Mark, older uint64) error {
	from := "a start from nothing"
	if older > 0 {
		from = fmt.Sprintf("checkpoint %d", older)
	}
	return fault.Corruptf("the rows of epoch %d are in sink %s, and its checkpoint is damaged or gone: %s would write rows again that were seen; put checkpoint %d back from a copy, or name the one to restore",
		mark.Epoch, decider, from, mark.Epoch)
}

func (d *Decision) restore(m Manifest, sinks []Found) {
	d.Epoch = m.Epoch
	for i, s := range sinks {
		if slices.Contains(m.Sinks, s.ID) {
			d.Sinks[i] = Forward
		}
	}
	for _, id := range m.Sinks {
		if !slices.ContainsFunc(sinks, func(s Found) bool { return s.ID == id }) {
			d.Gone = append(d.Gone, id)
		}
	}
}
