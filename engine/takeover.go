package engine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"tidemark/engine/checkpoint"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// What a key group has on disk is written to a checkpoint in runs: all of it, then, checkpoint
// by checkpoint, what has changed. The next one takes the runs of the one before over, which
// costs it nothing, and adds one; or it writes the group whole again, which bounds what a
// restore reads, and for how long files of old checkpoints are needed. Savepoints take nothing
// over.

// maxRuns bounds the runs of a key group.
const maxRuns = 9

// takeover is what a checkpoint may take over from the one that was published last. The keeper
// has one for each that it takes, for itself.
type takeover struct {
	runs  map[string]map[int][]checkpoint.Ref // by step and key group, run 0 first
	taken []checkpoint.Ref
}

// newTakeover is that of a checkpoint behind another one; nil: there is none.
func newTakeover(from *checkpoint.Checkpoint) *takeover {
	t := &takeover{runs: map[string]map[int][]checkpoint.Ref{}}
	if from == nil {
		return t
	}
	files := map[string]fileUse{}
	for _, r := range from.Refs() {
		if r.Kind != checkpoint.KindDisk {
			continue
		}
		if t.runs[r.Operator] == nil {
			t.runs[r.Operator] = map[int][]checkpoint.Ref{}
		}
		group, _ := checkpoint.RunOf(r.Number) // in order of runs
		t.runs[r.Operator][group] = append(t.runs[r.Operator][group], r)
		f := files[r.File()]
		files[r.File()] = fileUse{r.File(), r.FileSize(), f.used + r.Size()}
	}
	leave := deserted(slices.Collect(maps.Values(files)))
	for _, groups := range t.runs {
		maps.DeleteFunc(groups, func(_ int, runs []checkpoint.Ref) bool {
			return slices.ContainsFunc(runs, func(r checkpoint.Ref) bool { return leave[r.File()] })
		})
	}
	return t
}

// room is how many bytes of changes the runs of a key group have room for: so many that all
// changes together are no more than run 0.
func room(runs []int64) int64 {
	if len(runs) == 0 || len(runs) >= maxRuns {
		return 0
	}
	left := runs[0]
	for _, n := range runs[1:] {
		left -= n
	}
	return max(left, 0)
}

// fileUse is a data file, and how much of it is needed.
type fileUse struct {
	name       string
	size, used int64
}

// deserted decides which files of earlier checkpoints are to be needed no longer: if more than
// half of all of them is of no use, those with the least use, until it is no more. Key groups
// that have runs there are written whole.
func deserted(files []fileUse) map[string]bool {
	size, used := int64(0), int64(0)
	for _, f := range files {
		size, used = size+f.size, used+f.used
	}
	slices.SortFunc(files, func(a, b fileUse) int {
		return cmp.Or(cmp.Compare(float64(a.used)/float64(a.size), float64(b.used)/float64(b.size)), cmp.Compare(a.name, b.name))
	})
	leave := map[string]bool{}
	for _, f := range files {
		if size <= 2*used {
			break
		}
		leave[f.name] = true
		size -= f.size - f.used // what is used will be written again
	}
	return leave
}

// of takes over what there is of a key group, and adds a run of what has changed since, or
// all of it: it has add write sections. It reports whether the group has anything on disk.
func (t *takeover) of(step string, group int, cut *state.Apart, add func(checkpoint.Section) bool) (some, more bool, err error) {
	runs := t.runs[step][group]
	sizes := make([]int64, len(runs))
	for i, r := range runs {
		sizes[i] = r.Size()
	}
	var w state.Writer
	if len(runs) > 0 {
		change, err := cut.Disk.Changes(group, int(room(sizes)), cut.Form, &w)
		if err != nil {
			return false, false, err
		}
		if change != state.Unknown {
			t.taken = append(t.taken, runs...)
		}
		switch change {
		case state.None:
			return true, true, nil
		case state.Written:
			return true, add(runSection(step, group, len(runs), &w)), nil
		}
	}
	w.Buf = w.Buf[:0]
	some, err = cut.Disk.Whole(group, cut.Form, &w)
	if err != nil || !some {
		return false, err == nil, err
	}
	return true, add(runSection(step, group, 0, &w)), nil
}

func runSection(step string, group, run int, w *state.Writer) checkpoint.Section {
	return sectionOf(step, checkpoint.KindDisk, int(checkpoint.RunNumber(group, run)), w)
}

// apartVersion is the version of a key group's section that has what was in memory alone: the
// rest is in runs. Programs that know of none refuse it. Stored.
const apartVersion = 2

// apart gives the sections of the key groups of a task, with what is on disk apart.
func (k *keyedPart) apart(from *takeover, yield func(checkpoint.Section, error) bool) {
	add := func(s checkpoint.Section) bool { return yield(s, nil) }
	var w state.Writer
	for g, err := range k.cut.Apart.Groups {
		some, more := false, false
		if err == nil {
			if !k.owns(g.Group) { // what stands there is another task's to take over
				continue
			}
			some, more, err = from.of(k.step, g.Group, k.cut.Apart, add)
		}
		if err != nil {
			yield(checkpoint.Section{}, fmt.Errorf("step %s: %w", k.step, err))
			return
		}
		if !more {
			return
		}
		if !some && g.None {
			continue
		}
		s := k.group(g.GroupCut, &w)
		if some {
			s.Version = apartVersion
		}
		if !yield(s, nil) {
			return
		}
	}
}

// group is the section of a key group.
func (k *keyedPart) group(g state.GroupCut, w *state.Writer) checkpoint.Section {
	w.Buf = w.Buf[:0]
	w.I64(int64(g.Floor))
	w.Buf = append(w.Buf, g.State...)
	return sectionOf(k.step, checkpoint.KindGroup, g.Group, w)
}

// readGroups reads the key groups of a step that a task has, one after the other, each with the
// runs of what was on disk.
func readGroups(ctx context.Context, c *checkpoint.Checkpoint, step string, mine func(group int) bool) iter.Seq2[state.GroupCut, error] {
	return func(yield func(state.GroupCut, error) bool) {
		fail := func(format string, args ...any) {
			yield(state.GroupCut{}, fault.Corruptf("checkpoint %d: step %s: "+format, slices.Concat([]any{c.Meta.ID, step}, args)...))
		}
		var groups []checkpoint.Ref
		for _, r := range c.Find(step, checkpoint.KindGroup) {
			if mine(int(r.Number)) {
				groups = append(groups, r)
			}
		}
		counts, runs := map[int]int{}, [][]checkpoint.Ref{} // by group, by run
		for _, r := range c.Find(step, checkpoint.KindDisk) {
			group, run := checkpoint.RunOf(r.Number)
			if !mine(group) {
				continue
			}
			if counts[group] != run {
				fail("key group %d has run %d of its state on disk, and not what comes before it", group, run)
				return
			}
			if counts[group]++; run == len(runs) {
				runs = append(runs, nil)
			}
			runs[run] = append(runs[run], r)
		}
		next := make([]func() (checkpoint.Section, error, bool), len(runs)) // the run of the next group that has it
		for i, refs := range runs {
			pull, stop := iter.Pull2(c.Read(ctx, refs))
			defer stop()
			next[i] = pull
		}
		for s, err := range c.Read(ctx, groups) {
			if err != nil {
				yield(state.GroupCut{}, err)
				return
			}
			r := state.NewReader(s.Body)
			g := state.GroupCut{Group: int(s.Number), Floor: stream.Time(r.I64())}
			n := counts[g.Group]
			if (s.Version == apartVersion) != (n > 0) || r.Failed() {
				fail("key group %d has %d runs of its state on disk, and the layout %d", g.Group, n, s.Version)
				return
			}
			delete(counts, g.Group)
			g.State = s.Body[len(s.Body)-r.Left():]
			for _, pull := range next[:n] {
				run, err, _ := pull()
				if err != nil {
					yield(g, err)
					return
				}
				if group, _ := checkpoint.RunOf(run.Number); group != g.Group {
					fail("key group %d has runs of its state on disk, and no section", group)
					return
				}
				g.Runs = append(g.Runs, run.Body)
			}
			if !yield(g, nil) {
				return
			}
		}
		for group := range counts {
			fail("key group %d has runs of its state on disk, and no section", group)
			return
		}
	}
}
