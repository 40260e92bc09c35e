package engine

import (
	"tidemark/engine/job"
	"tidemark/engine/state"
	"tidemark/engine/state/disk"
	"tidemark/internal/fault"
)

// spill is the disk of a job whose state may lie there (settings.state).
type spill struct {
	store  *disk.Store // nil: the job is driven by hand, and what would be on disk is not
	memory int64       // of one task
}

// storeShare of the memory for state is the store's, for what it has read and what it is
// about to write; tasks have the rest in equal parts.
const storeShare = 0.25

// openDisk makes the store of a job that asks for one, in a directory that it has to itself.
func (j *Job) openDisk() error {
	set := j.graph.Settings.State
	if set.Backend != job.DiskState {
		return nil
	}
	tasks := 0
	for i := range j.graph.Steps {
		if st := &j.graph.Steps[i]; st.Windowed() || st.Join != nil {
			tasks += st.Parallelism
		}
	}
	own := int64(storeShare * float64(set.Memory))
	s := &spill{memory: (set.Memory - own) / int64(max(tasks, 1))}
	if j.opts.fed == nil {
		if j.opts.StateDir == "" {
			return fault.Userf("settings.state.backend is disk, and there is no directory for state: use backend: memory")
		}
		var err error
		if s.store, err = disk.Open(j.opts.StateDir, own); err != nil {
			return err
		}
	}
	j.spill = s
	return nil
}

// closeDisk removes what is on disk. All tasks have ended.
func (j *Job) closeDisk() error {
	if j.spill == nil || j.spill.store == nil {
		return nil
	}
	defer func() { j.spill.store = nil }()
	return j.spill.store.Close()
}

// of is where a task of a step leaves state that it has no room for; nil: nowhere.
func (s *spill) of(step string) *state.Spill {
	if s == nil {
		return nil
	}
	open := func() state.Backing { return state.NewRAM() }
	if s.store != nil {
		open = func() state.Backing { return s.store.Backing("step " + step) }
	}
	return &state.Spill{Open: open, Memory: s.memory}
}
