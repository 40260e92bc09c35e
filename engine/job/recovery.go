package job

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Checkpoint says when checkpoints are taken and how many are kept.
type Checkpoint struct {
	Interval time.Duration // from the begin of one to that of the next
	Timeout  time.Duration // one that takes longer has failed
	MinPause time.Duration // between the end of one and the begin of the next, at least
	Retain   int           // the newest ones that are kept; savepoints do not count
	Tolerate int           // failures one after the other beyond which the job fails
	// Dir is an absolute directory, or s3://bucket/prefix; empty: whoever runs the job has
	// a place for it.
	Dir string
}

// Restart says how often a job that has failed for a reason that may pass is started again
// from its last checkpoint, and how long to wait before. The zero value: never.
type Restart struct {
	Attempts   int           // without ResetAfter of health between them; 0: none
	Initial    time.Duration // before the first
	Max        time.Duration // before any
	Factor     float64       // by which each wait is longer than the one before
	ResetAfter time.Duration // what lies before a run of this length is forgotten
}

// Backends of state.
const (
	MemoryState = "memory"
	DiskState   = "disk"
)

// State says where windows and keys are kept.
type State struct {
	Backend string // MemoryState or DiskState
	Memory  int64  // disk: bytes that are kept in memory; 0 otherwise
}

// recovery reads settings.checkpoint and settings.restart:
//
//	checkpoint: {interval: 10s, timeout: 10m, min_pause: 0s, retain: 3, tolerate: 10, dir: state/orders}
//	restart: {attempts: 10, initial: 1s, max: 1m, factor: 2, reset_after: 10m}
//
// A job that someone runs has none unless it says so, {} being enough; on a host all
// have them, but for those that say off.
func (r *reader) recovery(o *object) {
	n := o.get("checkpoint")
	if n == nil && !r.o.Host || n != nil && n.kind == scalarNode {
		if _, off := scalar(o, "checkpoint", offOnly); off == nil {
			o.get("restart") // what holds for it is not known
		} else {
			o.without("restart", "without checkpoints there is nothing to go on from, and results would come twice; say settings.checkpoint: {}")
		}
		return
	}
	c := o.child("checkpoint")
	set := &Checkpoint{}
	set.Interval, _ = scalar(c, "interval", duration(durationRule{most: maxCheckpointTime}))
	set.Timeout, _ = scalar(c, "timeout", duration(durationRule{most: maxCheckpointTime}))
	set.MinPause, _ = scalar(c, "min_pause", duration(durationRule{zero: true, most: maxCheckpointTime}))
	set.Retain, _ = scalar(c, "retain", integer(1, maxRetain))
	set.Tolerate, _ = scalar(c, "tolerate", integer(0, maxTolerate))
	if r.o.Host {
		if n := c.get("dir"); n != nil {
			r.report(n.key, "%s: a host keeps the checkpoints of its jobs in a place of its own; leave it out", c.sub("dir"))
		}
	} else if dir, n := scalar(c, "dir", text); n != nil {
		set.Dir = r.checkpointDir(n, c.sub("dir"), dir)
	}
	c.close()
	r.g.Settings.Checkpoint = set
	r.lintRereading(o, n)
	r.restart(o.child("restart"))
}

// offOnly takes the word that settings.checkpoint may be in place of a mapping.
func offOnly(n *node) (string, string) {
	if n.text != "off" {
		return "", fmt.Sprintf("must be a mapping such as {interval: 10s}, {} for the defaults, or off, is %s", n.describe())
	}
	return n.text, ""
}

// checkpointDir checks where checkpoints go.
func (r *reader) checkpointDir(n *node, at, dir string) string {
	if scheme, rest, ok := strings.Cut(dir, "://"); ok {
		if bucket, prefix, _ := strings.Cut(rest, "/"); scheme != "s3" || bucket == "" || strings.Trim(prefix, "/") == "" {
			r.report(n.at, "%s must be a directory, or s3://bucket/prefix with a prefix that no other job has, is %s", at, quote(n.shown))
		}
		return dir
	}
	dir = r.abs(r.o.Dir, dir)
	if r.o.Files == nil {
		return dir
	}
	if info, err := r.o.Files.Stat(dir); err == nil && !info.IsDir() {
		r.report(n.at, "%s: %s is a file; name a directory, which is made if it is not there", at, quote(n.shown))
	} else if err != nil {
		if wrong := r.unwritable(dir); wrong != "" {
			r.report(n.at, "%s cannot be made: %s", at, wrong)
		}
	}
	return dir
}

// lintRereading: a job goes on by reading its inputs from where the checkpoint was taken,
// so they must be there a second time.
func (r *reader) lintRereading(o *object, checkpoint *node) {
	for _, s := range r.sources {
		if s.File == nil || s.path == nil {
			continue
		}
		what := ""
		if s.File.Path == "-" {
			what = "reads standard input"
		}
		for _, f := range s.files {
			if r.special(f) {
				what = "reads " + quote(s.path.shown) + ", which is no regular file"
			}
		}
		if what == "" {
			continue
		}
		at, fix := s.path.at, "name a file, or leave out settings.checkpoint"
		if r.o.Host {
			fix = "name a file, or say settings.checkpoint: off"
		}
		if checkpoint != nil {
			at = checkpoint.key
		}
		r.report(at, "%s: source %s %s and cannot be read again from where a checkpoint was taken; %s", o.sub("checkpoint"), s.ID, what, fix)
	}
}

// restart reads settings.restart.
func (r *reader) restart(o *object) {
	set := &r.g.Settings.Restart
	var n *node
	set.Attempts, n = scalar(o, "attempts", integer(0, maxAttempts))
	if n != nil && set.Attempts == 0 {
		for _, key := range []string{"initial", "max", "factor", "reset_after"} {
			o.without(key, "with attempts: 0 a job is never restarted")
		}
		o.close()
		return
	}
	set.Initial, _ = scalar(o, "initial", duration(durationRule{most: maxBackoff}))
	set.Max, n = scalar(o, "max", duration(durationRule{most: maxBackoff}))
	if n != nil && set.Max < set.Initial {
		at := n.at
		if at.isDefault() {
			at = o.n.find("initial").at
		}
		r.report(at, "%s must be at least initial, which is %s, is %s", o.sub("max"), FormatDuration(set.Initial), FormatDuration(set.Max))
	}
	set.Factor, _ = scalar(o, "factor", number(1, maxFactor))
	set.ResetAfter, _ = scalar(o, "reset_after", duration(durationRule{}))
	o.close()
}

// state reads settings.state, behind the budget:
//
//	state: {backend: disk, memory: 256MiB}
func (r *reader) state(o *object) {
	set := &r.g.Settings.State
	var backend *node
	set.Backend, backend = scalar(o, "backend", choice(MemoryState, DiskState))
	if set.Backend != DiskState {
		o.without("memory", "it bounds what backend: disk keeps in memory; otherwise settings.state_budget does")
		o.close()
		return
	}
	memory, n := scalar(o, "memory", size(minStateMemory, maxStateBudget))
	set.Memory = int64(memory)
	if n != nil && set.Memory >= r.g.Settings.StateBudget && r.g.Settings.StateBudget > 0 {
		at := n.at
		if at.isDefault() {
			at = backend.at
		}
		r.report(at, "%s must be below settings.state_budget, which is %s and counts what is on disk, too, is %s", o.sub("memory"), formatSize(r.g.Settings.StateBudget), formatSize(set.Memory))
	}
	o.close()
}

// number takes numbers of any kind.
func number(lo, hi float64) func(*node) (float64, string) {
	return func(n *node) (float64, string) {
		v, err := strconv.ParseFloat(n.text, 64)
		switch {
		case err != nil || math.IsNaN(v) || n.tag == "!!str" && !n.filled:
			return 0, fmt.Sprintf("must be a number, is %s", n.describe())
		case v < lo || v > hi:
			return 0, fmt.Sprintf("must be between %g and %g, is %s", lo, hi, quote(n.shown))
		}
		return v, ""
	}
}
