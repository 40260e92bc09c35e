package engine

import (
	"context"
	"runtime/pprof"
	"strconv"
)

// work is what a goroutine of a job does: its label in a profile of the process, beside
// the job, the operator and the number among those that share the operator's work.
type work string

const (
	reading   work = "source" // a source task
	decoding  work = "decode" // a decoder of a source
	computing work = "step"   // a subtask of a step
	writing   work = "sink"   // a sink task
	saving    work = "keep"   // the keeper of checkpoints
)

// labelled calls f on a goroutine that a profile shows under its name: who uses the CPU of
// a host is a question of jobs and tasks, not of functions that all of them call.
func (j *Job) labelled(ctx context.Context, w work, operator string, number int, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels("job", j.graph.Name, "operator", operator, "work", string(w), "number", strconv.Itoa(number)), f)
}
