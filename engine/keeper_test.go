package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

type noPlugins struct{ Builtins }

func (noPlugins) Plugin(*job.Plugin) (job.FunctionInfo, error) {
	return job.FunctionInfo{}, errors.New("no plug-ins here")
}

const followedJob = `
version: 1
job: t
sources:
  in: {file: {path: "in*.jsonl", follow: true}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 2s}}
steps:
  s: {from: in, key: [k], window: {tumbling: 5s}, aggregates: {n: {function: count}}}
sinks:
  out: {from: s, file: {path: out/rows.jsonl}}
settings: {checkpoint: {interval: 1h}}
`

// kept is a job whose checkpoints go to a log.
type kept struct {
	files *sim.FS
	log   *checkpoint.Log
	align string // of its source's watermark
}

func (k kept) make(t *testing.T, from *checkpoint.Checkpoint, observe func(Event)) *Job {
	t.Helper()
	machine := env.Real()
	machine.FS = k.files
	g, err := job.Load([]byte(strings.Replace(followedJob, "out_of_orderness: 2s", "out_of_orderness: 2s"+k.align, 1)), job.LoadOptions{Name: "job.yaml", Dir: "/job", Resolver: noPlugins{}, Files: machine.FS})
	if err != nil {
		t.Fatal(err)
	}
	j, err := New(t.Context(), g, Options{Env: machine, Stdin: strings.NewReader(""), FirstStart: time.Now(), Checkpoints: k.log, Restore: from, Observe: observe})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func newKept(t *testing.T, files *sim.FS, dir string) kept {
	t.Helper()
	k := kept{files: files, log: checkpoint.Open(checkpoint.OpenLocal(files, dir), env.Real().Rand)}
	if err := k.log.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.log.Close() })
	return k
}

// A checkpoint of a job that has been drained and not come to its end: it does not begin to
// read again what it follows.
func TestAJobThatWasDrainedIsDrainedBehindARestore(t *testing.T) {
	for name, ended := range map[string]bool{"before it has drained": false, "behind it": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			files := sim.NewFS(env.Real().Clock)
			files.Put("/job/in.jsonl", []byte(`{"ts":1000,"k":"a","v":1}`+"\n"))
			k := newKept(t, files, "/job/state")
			j := k.make(t, nil, nil)
			source := j.feeds[0]
			source.combined = newCombined(&source.spec.Watermark, 1)
			source.drained = true
			if ended {
				source.splits[0].done = true
				source.advance(0, source.splits[0], stream.MaxTime)
				j.keyed[0].out.drained = true
			}
			for _, t := range j.feeds { // as if all tasks had ended
				t.asked.ended = true
				t.mail.End()
			}
			for _, t := range j.keyed {
				t.asked.ended = true
				t.inbox.End()
			}
			for _, s := range j.sinks {
				go s.run(func(err error) { t.Error(err) })
				for i := range s.barrier.seen {
					s.in <- block{from: i, end: true}
				}
			}
			if err := j.keeper.take(ctx, checkpoint.Periodic, false); err != nil {
				t.Fatal(err)
			}
			for _, s := range j.sinks {
				close(s.in)
			}
			last, _, err := k.log.Last(ctx)
			if err != nil {
				t.Fatal(err)
			}
			j = k.make(t, last, nil)
			if ended && !j.keyed[0].out.drained {
				t.Error("those that read the step are not told that its end is none of the input")
			}
			r, err := j.Run(ctx)
			if err != nil || r.Sources[0].Read != 0 || len(r.Sources[0].Splits) != 1 {
				t.Errorf("it has read on: %v, %+v", err, r.Sources)
			}
		})
	}
}

// A job that goes on from a checkpoint of another log has ids above that one's, or its sinks
// would take its barriers for those of epochs that are over.
func TestCheckpointsBehindOneOfAnotherLog(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	files := sim.NewFS(env.Real().Clock)
	files.Put("/job/in.jsonl", []byte(`{"ts":1000,"k":"a","v":1}`+"\n"+`{"ts":60000,"k":"a","v":1}`+"\n"))
	var from *checkpoint.Checkpoint
	for _, dir := range []string{"/job/one", "/job/two"} {
		k := newKept(t, files, dir)
		read := make(chan struct{}, 1)
		j := k.make(t, from, func(e Event) {
			if p, ok := e.(Progress); ok && p.Read == 2 {
				select {
				case read <- struct{}{}:
				default:
				}
			}
		})
		run, stop := context.WithCancelCause(ctx)
		ended := make(chan error, 1)
		go func() {
			_, err := j.Run(run)
			ended <- err
		}()
		<-read
		for i := range 3 {
			if _, err := j.Checkpoint(ctx, checkpoint.Periodic); err != nil {
				t.Fatalf("%s, checkpoint %d: %v", dir, i, err)
			}
		}
		stop(errors.New("enough"))
		<-ended
		last, _, err := k.log.Last(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if from != nil && last.Meta.ID != from.Meta.ID+3 {
			t.Errorf("the third checkpoint behind %d has the id %d", from.Meta.ID, last.Meta.ID)
		}
		from = last
	}
}

// The bound of an alignment group holds behind a restore, for as long as it would have, and
// the next one is made of what all of its members had reported (S105).
func TestTheBoundOfAnAlignmentGroupIsInTheCut(t *testing.T) {
	k := newKept(t, sim.NewFS(env.Real().Clock), "/job/state")
	k.files.Put("/job/in.jsonl", nil)
	k.align = ", align: {group: g, max_drift: 1s, update: 1h}"
	j := k.make(t, nil, nil)
	was := j.feeds[0]
	was.combined = newCombined(&was.spec.Watermark, 1)
	was.combined.Watermark(0, 40_000)
	was.aligned.with.look(j.now())
	was.aligned.with.bound = 12_345
	left := was.aligned.with.due - j.now()
	var sections []checkpoint.Section
	for s, err := range was.part(1).sections(nil) {
		if err != nil {
			t.Fatal(err)
		}
		sections = append(sections, s)
	}
	j = k.make(t, nil, nil)
	is := j.feeds[0]
	if err := is.load(sections[:1], 1); err != nil {
		t.Fatal(err)
	}
	with := is.aligned.with
	if bound := with.look(j.now()); bound != 12_345 {
		t.Errorf("the bound is %d", bound)
	}
	if now := with.due - j.now(); now > left || now < left-60_000 {
		t.Errorf("the next bound is due in %d ms, was in %d", now, left)
	}
	if bound := with.look(with.due); bound != 41_000 {
		t.Errorf("the next bound is %d", bound)
	}
}

// A section of a layout that is not known yet is no damage: the message says who can read it.
func TestACheckpointOfANewerVersionIsRefused(t *testing.T) {
	k := newKept(t, sim.NewFS(env.Real().Clock), "/job/state")
	w := k.log.Begin(checkpoint.Meta{})
	for kind, version := range map[string]uint16{checkpoint.KindSource: stateVersion, checkpoint.KindSplit: splitVersion + 1} {
		if err := w.Add(t.Context(), checkpoint.Section{Operator: "in", Kind: kind, Version: version}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := readRestored(t.Context(), w.Checkpoint(), &job.Graph{})
	if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "split") || !strings.Contains(err.Error(), "layout 3") {
		t.Errorf("got %v", err)
	}
}
