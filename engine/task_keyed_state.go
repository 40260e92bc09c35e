package engine

import (
	"context"
	"fmt"
	"iter"

	"tidemark/engine/checkpoint"
	"tidemark/engine/exchange"
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// The part of a checkpoint that is a keyed task:
//
//	what the inbox knows of the time of its senders
//	what belongs to no key group of the operator (state.Cut)
//	rows on their way to others (see forward.save)
//	result rows, and updates among them (8 each)
//	its edges (see edge.save)
//
// Key groups have sections of their own, by number: the time that the task stood at (8), and
// the operator's state. So have the rows that were under way to it, by the task's number, and
// what operators have on disk (takeover.go).

// takePart gives the task's part of a checkpoint whose barriers have come from all senders,
// and sends a barrier on.
func (t *keyedTask) takePart(ctx context.Context, id uint64) error {
	if err := t.turn.Begin(); err != nil {
		return err
	}
	defer t.turn.End(0)
	if err := t.flush(ctx); err != nil {
		return err
	}
	t.keeper().give(t.part(id))
	t.asked.given(id)
	return barrier(ctx, t.turn, id, t.out.edges, t.ports())
}

func (t *keyedTask) keeper() *keeper { return t.job.keeper }

// owns reports whether a key group is the task's.
func (t *keyedTask) owns(group int) bool {
	return stream.Subtask(group, t.step.Parallelism, t.job.graph.MaxParallelism) == t.number
}

// part implements taker.
func (t *keyedTask) part(id uint64) part {
	var before, behind state.Writer
	t.inbox.Snapshot(&before)
	flight := t.inbox.Flight()
	t.out.save(&behind)
	behind.I64(t.rows)
	behind.I64(t.updates)
	saveEdges(&behind, t.out.edges)
	k := &keyedPart{step: t.step.ID, number: t.number, before: before.Buf, behind: behind.Buf, flight: flight, cut: t.freeze(), owns: t.owns}
	r := t.report()
	var published func() // which holds nothing that was frozen
	if k.cut.Apart != nil {
		published = k.cut.Apart.Disk.Published
	}
	var ready <-chan struct{}
	if flight != nil {
		ready = flight.Done
	}
	return part{id: id, who: t, report: func(m *merger) { m.step(r) }, ready: ready, release: k.cut.Close, sections: k.sections, published: published}
}

// freeze is that of the operator, or what it was in the end.
func (t *keyedTask) freeze() state.Cut {
	if t.final == nil {
		return t.op.Freeze()
	}
	return *t.final
}

// end keeps what the operator is when the task has done all it had to do: checkpoints may be
// taken yet, and a closed operator has no state to tell.
func (t *keyedTask) end() {
	if t.keeper() == nil {
		return
	}
	p, err := t.op.Freeze().Read()
	c := p.Cut()
	if err != nil {
		c.Groups = func(yield func(state.GroupCut, error) bool) { yield(state.GroupCut{}, err) }
	}
	t.final = &c
}

// keyedPart is what a task was, to be encoded by the keeper.
type keyedPart struct {
	step           string
	number         int
	before, behind []byte // in the task's section, what stands there before and behind the operator's
	flight         *exchange.Flight
	cut            state.Cut
	owns           func(group int) bool
}

func (k *keyedPart) sections(from *takeover) iter.Seq2[checkpoint.Section, error] {
	return func(yield func(checkpoint.Section, error) bool) { k.write(from, yield) }
}

func (k *keyedPart) write(from *takeover, yield func(checkpoint.Section, error) bool) {
	var w state.Writer
	w.Bytes(k.before)
	w.Bytes(k.cut.Task)
	w.Buf = append(w.Buf, k.behind...)
	if !yield(sectionOf(k.step, checkpoint.KindTask, k.number, &w), nil) {
		return
	}
	if k.flight != nil && len(k.flight.Rows.Buf) > 0 && !yield(sectionOf(k.step, checkpoint.KindFlight, k.number, &k.flight.Rows), nil) {
		return
	}
	if from != nil && k.cut.Apart != nil {
		k.apart(from, yield)
		return
	}
	for g, err := range k.cut.Groups {
		if err != nil {
			yield(checkpoint.Section{}, fmt.Errorf("step %s: %w", k.step, err))
			return
		}
		if !yield(k.group(g, &w), nil) {
			return
		}
	}
}

// savedStep is a step with its tasks as they were saved.
type savedStep struct {
	inboxes [][]byte
	tasks   [][]byte
	forward []savedForward
	rows    []int64
	updates []int64
	edges   [][]savedEdge
	flying  []exchange.Flying
	renewed bool // the sums among them have today's layout
}

// readStep reads the sections of a step but for those of key groups.
func readStep(ctx context.Context, c *checkpoint.Checkpoint, id string) (*savedStep, error) {
	s := &savedStep{}
	for sec, err := range c.Sections(ctx, id, checkpoint.KindTask) {
		if err != nil {
			return nil, err
		}
		r := state.NewReader(sec.Body)
		s.inboxes, s.tasks = append(s.inboxes, r.Bytes()), append(s.tasks, r.Bytes())
		s.forward = append(s.forward, readForward(r))
		s.rows, s.updates = append(s.rows, r.I64()), append(s.updates, r.I64())
		s.edges = append(s.edges, readEdges(r))
		if err := r.Err(); err != nil {
			return nil, fmt.Errorf("step %s: %w", id, err)
		}
	}
	for sec, err := range c.Sections(ctx, id, checkpoint.KindFlight) {
		if err != nil {
			return nil, err
		}
		r := state.NewReader(sec.Body)
		under := exchange.ReadFlight(r)
		if err := r.Err(); err != nil {
			return nil, fmt.Errorf("step %s: rows under way: %w", id, err)
		}
		s.flying = append(s.flying, under...)
	}
	return s, nil
}

// load goes on from what the tasks of the step were.
func (t *keyedTask) load(ctx context.Context, c *checkpoint.Checkpoint, s *savedStep, count int) error {
	groups := t.job.graph.MaxParallelism
	mine := func(hash uint64) bool {
		return stream.Subtask(stream.KeyGroup(hash, groups), count, groups) == t.number
	}
	same := len(s.tasks) == count
	restore := state.Restore{Tasks: s.tasks, Exact: same, Counts: same || t.number == 0, Stored: readGroups(ctx, c, t.step.ID, t.owns)}
	if same {
		restore.Tasks = s.tasks[t.number : t.number+1]
		if err := t.inbox.Restore(s.inboxes[t.number]); err != nil {
			return err
		}
	}
	schemas, err := t.job.schemas(t.step.Step)
	if err != nil {
		return err
	}
	restore.Schemas = schemas
	if err := t.op.Restore(restore); err != nil {
		return err
	}
	forwards := s.forward
	if same {
		forwards = forwards[t.number : t.number+1]
	}
	t.out.load(forwards, len(t.step.key), mine)
	h := heir{t.number, count, same, func(id stream.SplitID) bool { return id == t.out.split }}
	for was := range s.tasks {
		if h.counters(was) {
			t.rows += s.rows[was]
			t.updates += s.updates[was]
		}
	}
	for _, e := range t.out.edges {
		if err := e.load(s.edges, h); err != nil {
			return err
		}
	}
	if t.job.graph.Settings.OrderReplay {
		if err := s.renewFlying(t.op, schemas); err != nil {
			return err
		}
		t.inbox.Resume(s.flying, mine)
	}
	t.restored = true
	return nil
}
