package engine

import (
	"context"
	"io"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/env"
)

// Options is what a job gets from its host.
type Options struct {
	Env    env.Env
	Stdin  io.Reader // for the file source "-"
	Stdout io.Writer // for stdout sinks

	// Plugins makes instances of plug-ins; built-ins are the engine's own.
	Plugins Plugins
	// Turns shares the CPU between tenants; nil: there is only this job (K5).
	Turns Turns
	// FirstStart is when this job was first started over its bounded input, so that
	// a re-run judges max_future as the first run did.
	FirstStart time.Time
	// Complete holds watermarks until the end of the input: the complete result (T7).
	Complete bool
	// Checkpoints is where the job's checkpoints go, claimed for this run; nil, or a job that
	// asks for none: none are taken.
	Checkpoints *checkpoint.Log
	// Restore is the checkpoint that the job goes on from; nil: it begins. Its operators are
	// those of the job, as far as both have them: what becomes of others is the caller's
	// decision.
	Restore *checkpoint.Checkpoint
	// Meta is what every checkpoint says about the job: its name, its plan, its operators and
	// plug-ins. The engine adds what it is a checkpoint of.
	Meta checkpoint.Meta
	// StateDir is a directory for state that has no room in memory, if the job asks for that.
	// The run has it to itself, and leaves nothing there.
	StateDir string
	// Observe receives what happens, one call at a time, from the engine's
	// goroutines; it must return quickly. May be nil.
	Observe func(Event)

	// Of a job that is driven by hand: its sources, and whether a run of it is an ordered
	// replay, in which watermarks go from timer to timer.
	fed  map[string]*fedSource
	fine bool
}

// Plugins makes an instance of a job's plug-in. kinds are the kinds of the bound
// columns, lists those of a process function's lists, left and right those of a pair
// function's records. Called once for each subtask; the
// instance is used by one goroutine.
type Plugins interface {
	Aggregate(ctx context.Context, p *job.Plugin, a *job.Aggregate, kinds []stream.Kind) (udf.Aggregate, error)
	Generator(ctx context.Context, p *job.Plugin, w *job.Watermark, kinds []stream.Kind) (udf.Generator, error)
	Map(ctx context.Context, p *job.Plugin, m *job.Map, kinds []stream.Kind) (udf.Map, error)
	Process(ctx context.Context, p *job.Plugin, f *job.Process, kinds []stream.Kind, lists [][]stream.Kind) (udf.Process, error)
	Assigner(ctx context.Context, p *job.Plugin, w *job.Window, kinds []stream.Kind) (udf.Assigner, error)
	Trigger(ctx context.Context, p *job.Plugin, t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error)
	Pair(ctx context.Context, p *job.Plugin, f *job.Apply, left, right []stream.Kind) (udf.Pair, error)
}

// Turns is the host's fair share of the CPU. A task holds a turn while it computes: for
// each batch, and never while it waits for anything else. Safe for concurrent use.
type Turns interface {
	// Acquire waits until a task of the job may compute, or until ctx ends: then the error
	// is that of ctx.
	Acquire(ctx context.Context) error
	// Yield is called in a turn that lasts, by the plug-in that makes it last: it charges
	// what was used since the turn was last charged. If others are to go first, it takes
	// the turn back and waits for another one, like Acquire. After an error the task holds
	// no turn.
	Yield(ctx context.Context, cpu time.Duration, fuel int64) error
	// Release charges the rest, and takes the turn back.
	Release(cpu time.Duration, fuel int64)
}

// Event is something that the job's owner may want to know; the host turns it into
// logs, progress and metrics.
type Event interface{ event() }

// Warning is a condition that the owner should hear of once.
type Warning struct{ Operator, Message string }

// Progress is sent after each batch of a source, with totals of that source.
type Progress struct {
	Source    string
	Read      int64
	Watermark stream.Time
}

// Checkpointed tells that a checkpoint has come about, or why it has not.
type Checkpointed struct {
	Number uint64
	Kind   string
	Took   time.Duration
	Bytes  int64 // that were written for it
	Reused int64 // that it has taken over from earlier ones
	Err    error // nil: it has
}

func (Checkpointed) event() {}
func (Warning) event()      {}
func (Progress) event()     {}
