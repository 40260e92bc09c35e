package engine

import (
	"fmt"

	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// refusals applies a step's policy to what user code refuses in one task: the job fails,
// or the record goes to the port failed.
type refusals struct {
	job     *Job
	step    *stepSpec
	failed  []portSink
	records map[result.TimeFormat]*result.RecordEncoder
}

func (j *Job) newRefusals(st *stepSpec) refusals {
	r := refusals{job: j, step: st, failed: j.portSinks(job.Port{Operator: st.ID, Name: "failed"}), records: map[result.TimeFormat]*result.RecordEncoder{}}
	for _, p := range r.failed {
		r.records[p.format] = result.NewRecordEncoder(j.origin(), st.ID, st.key, p.format)
	}
	return r
}

// record takes row i of a batch.
func (r *refusals) record(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error {
	if r.step.OnError != job.DeadLetter {
		return refusal(f, "record %s in %s", r.job.placeText(b, i), windowText(w))
	}
	for n := range r.failed {
		p := &r.failed[n]
		p.lines = r.records[p.format].Failed(p.lines, b, i, w, f.Module, f.Error())
		p.rows++
	}
	return nil
}

// pane takes a pane whose result could not be computed.
func (r *refusals) pane(key []byte, w stream.Window, f *udf.Failure) error {
	if r.step.OnError != job.DeadLetter {
		return refusal(f, "result of key %s in %s", r.keyText(key), windowText(w))
	}
	for n := range r.failed {
		p := &r.failed[n]
		p.lines = r.records[p.format].FailedPane(p.lines, key, w, f.Module, f.Error())
		p.rows++
	}
	return nil
}

// keyText is a key for people.
func (r *refusals) keyText(key []byte) string {
	return result.NewRecordEncoder(r.job.origin(), r.step.ID, r.step.key, result.RFC3339).KeyText(key)
}

// refusal is the error that ends a job whose policy is to fail.
func refusal(f *udf.Failure, what string, args ...any) error {
	class := fault.ErrUser
	if f.Module != "" {
		class = fault.ErrGuest
	}
	return fault.As(class, fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), f))
}

func windowText(w stream.Window) string {
	if w == stream.Global {
		return "no window"
	}
	return fmt.Sprintf("window %s to %s", result.TimeText(w.Start), result.TimeText(w.End))
}
