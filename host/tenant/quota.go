package tenant

import "tidemark/internal/fault"

// Quota is every limit of a tenant. A limit hits its owner only.
type Quota struct {
	Plugins     int   // modules kept; charged at upload
	PluginBytes int64 // bytes of all modules kept; charged at upload
	Jobs        int   // jobs kept, in any state; charged at submit
	Running     int   // jobs that are starting, running or stopping; charged at submit
	Parallelism int   // subtasks of one job's widest operator; charged at submit
	JobBytes    int64 // size of a job file; charged at submit
	StateBytes  int64 // state_budget of one job; charged at submit
	Tokens      int   // tokens of a tenant; charged when one is made
}

// DefaultQuota is what a tenant gets.
func DefaultQuota() Quota {
	return Quota{
		Plugins:     64,
		PluginBytes: 256 << 20, // 64 Go guests of 2 to 4 MiB, the largest kind there is
		Jobs:        200,
		Running:     8, // a job holds some tens of MiB
		Parallelism: 16,
		JobBytes:    256 << 10, // a long hand-written job has 20 KiB
		StateBytes:  1 << 30,   // the default of a job
		Tokens:      16,
	}
}

// Charge refuses to let used, after adding more, go above limit. what names the
// thing in the plural.
func Charge(what string, used, more, limit int64) error {
	if used+more <= limit {
		return nil
	}
	return fault.Quotaf("quota of %s: %d in use, %d more asked for, limit %d", what, used, more, limit)
}
