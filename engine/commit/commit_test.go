package commit

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"tidemark/internal/fault"
)

func TestPlan(t *testing.T) {
	file, table, topic, other := Sink{ID: "file"}, Sink{ID: "table"}, Sink{"topic", true}, Sink{"other", true}
	for _, c := range []struct {
		name  string
		sinks []Sink
		want  Plan
		err   []string // of the only error: what it says
	}{
		{"no sink", nil, Plan{}, nil},
		{"the manifest decides", []Sink{file, table}, Plan{"", []int{0, 1}}, nil},
		{"a transaction decides and commits first", []Sink{file, table, topic}, Plan{"topic", []int{2, 0, 1}}, nil},
		{"wherever it stands", []Sink{file, topic, table}, Plan{"topic", []int{1, 0, 2}}, nil},
		{"alone", []Sink{topic}, Plan{"topic", []int{0}}, nil},
		{"two transactions cannot decide", []Sink{topic, file, other}, Plan{}, []string{"topic and other", "one such sink"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := NewPlan(c.sinks)
			is(t, got, err, c.want, fault.ErrUser, c.err)
		})
	}
}

func TestAfterAnError(t *testing.T) {
	for at, want := range map[Stage]Verdict{Prepare: Restart, Write: GoOn, Decide: Restart, Commit: Restart} {
		if got := Failed(at); got != want {
			t.Errorf("stage %d: %d, want %d", at, got, want)
		}
	}
}

func TestStart(t *testing.T) {
	var (
		files = []Found{{Sink: Sink{ID: "rows"}}, {Sink: Sink{ID: "late"}}}
		both  = []string{"rows", "late"}
		// A job with a topic, whose last committed transaction carries an epoch.
		topic = func(run string, epoch uint64) []Found {
			return []Found{{Sink: Sink{ID: "rows"}}, {Sink{"topic", true}, Mark{run, epoch}}}
		}
		// A checkpoint of such a job.
		m = func(run string, epoch uint64) Manifest {
			return Manifest{epoch, run, "topic", []string{"rows", "topic"}}
		}
	)
	for _, c := range []struct {
		name      string
		manifests []Manifest
		sinks     []Found
		want      Decision
		class     error
		err       []string
	}{
		// The manifest decides.
		{"nothing is there", nil, files, Decision{Sinks: []Action{Anew, Anew}, Next: 1}, nil, nil},
		{"the newest manifest", []Manifest{{3, "a", "", both}, {5, "a", "", both}, {4, "a", "", both}}, files,
			Decision{Epoch: 5, Sinks: []Action{Forward, Forward}, Next: 6}, nil, nil},
		{"a sink that is new", []Manifest{{5, "a", "", []string{"late"}}}, files,
			Decision{Epoch: 5, Sinks: []Action{Anew, Forward}, Next: 6}, nil, nil},
		{"sinks that are gone", []Manifest{{5, "a", "", []string{"x", "rows", "y"}}}, files,
			Decision{Epoch: 5, Sinks: []Action{Forward, Anew}, Gone: []string{"x", "y"}, Next: 6}, nil, nil},

		// A transaction decides.
		{"killed before the first checkpoint", nil, topic("", 0), Decision{Sinks: []Action{Anew, Anew}, Next: 1}, nil, nil},
		{"killed before the first transaction was committed", []Manifest{m("a", 1)}, topic("", 0),
			Decision{Sinks: []Action{Anew, Anew}, Undecided: []uint64{1}, Next: 2}, nil, nil},
		{"killed after it was committed", []Manifest{m("a", 6), m("a", 5)}, topic("a", 6),
			Decision{Epoch: 6, Sinks: []Action{Forward, Forward}, Next: 7}, nil, nil},
		{"killed before it was committed", []Manifest{m("a", 6), m("a", 5)}, topic("a", 5),
			Decision{Epoch: 5, Sinks: []Action{Forward, Forward}, Undecided: []uint64{6}, Next: 7}, nil, nil},
		{"twice", []Manifest{m("a", 7), m("a", 6), m("a", 5)}, topic("a", 5),
			Decision{Epoch: 5, Sinks: []Action{Forward, Forward}, Undecided: []uint64{7, 6}, Next: 8}, nil, nil},
		{"an epoch in between was given up", []Manifest{m("a", 7), m("a", 6), m("a", 5)}, topic("a", 7),
			Decision{Epoch: 7, Sinks: []Action{Forward, Forward}, Next: 8}, nil, nil},
		{"the newest checkpoint is damaged, and was decided", []Manifest{m("a", 5), m("a", 4)}, topic("a", 6),
			Decision{}, fault.ErrCorrupt, []string{"epoch 6", "sink topic", "checkpoint 5 would write rows again"}},
		{"the newest checkpoint is damaged, and was not decided", []Manifest{m("a", 5)}, topic("a", 5),
			Decision{Epoch: 5, Sinks: []Action{Forward, Forward}, Next: 6}, nil, nil},
		{"the one before an undecided one is damaged", []Manifest{m("a", 6), m("a", 4)}, topic("a", 5),
			Decision{}, fault.ErrCorrupt, []string{"epoch 5", "checkpoint 4 would write"}},
		{"all before an undecided one are gone", []Manifest{m("a", 6)}, topic("a", 5),
			Decision{}, fault.ErrCorrupt, []string{"epoch 5", "a start from nothing would write"}},
		{"a transaction of an earlier run with the same number", []Manifest{m("b", 1)}, topic("a", 1),
			Decision{Sinks: []Action{Anew, Anew}, Undecided: []uint64{1}, Next: 2}, nil, nil},
		{"a transaction of an earlier run with a higher number", []Manifest{m("b", 2), m("b", 1)}, topic("a", 9),
			Decision{Sinks: []Action{Anew, Anew}, Undecided: []uint64{2, 1}, Next: 3}, nil, nil},

		// The job was changed.
		{"a topic was added", []Manifest{{5, "a", "", both}}, topic("", 0),
			Decision{Epoch: 5, Sinks: []Action{Forward, Anew}, Gone: []string{"late"}, Next: 6}, nil, nil},
		{"a topic was added, which an earlier job wrote to", []Manifest{{5, "a", "", []string{"rows"}}}, topic("z", 9),
			Decision{Epoch: 5, Sinks: []Action{Forward, Anew}, Next: 6}, nil, nil},
		{"a topic was added, and its first epoch not decided", []Manifest{m("a", 6), {5, "a", "", []string{"rows"}}}, topic("", 0),
			Decision{Epoch: 5, Sinks: []Action{Forward, Anew}, Undecided: []uint64{6}, Next: 7}, nil, nil},
		{"a topic was added, and the checkpoint of its first epoch is damaged", []Manifest{{5, "a", "", []string{"rows"}}}, topic("a", 6),
			Decision{}, fault.ErrCorrupt, []string{"epoch 6", "checkpoint 5 would write"}},
		{"between the two lies an undecided one", []Manifest{m("a", 7), {5, "a", "", []string{"rows"}}}, topic("a", 6),
			Decision{}, fault.ErrCorrupt, []string{"epoch 6", "checkpoint 5 would write"}},
		{"the topic was left out", []Manifest{m("a", 6)}, files,
			Decision{}, fault.ErrUser, []string{"checkpoint 6", "sink topic", "does not have any more"}},
		{"the topic was left out before the newest", []Manifest{{7, "a", "", both}, m("a", 6)}, files,
			Decision{Epoch: 7, Sinks: []Action{Forward, Forward}, Next: 8}, nil, nil},
		{"two sinks that could decide", []Manifest{m("a", 6)}, append(topic("a", 6), Found{Sink: Sink{"other", true}}),
			Decision{}, fault.ErrUser, []string{"topic and other"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Start(c.manifests, c.sinks)
			is(t, got, err, c.want, c.class, c.err)
		})
	}
}

// is compares an outcome with what is wanted.
func is(t *testing.T, got any, err error, want any, class error, says []string) {
	t.Helper()
	if len(says) == 0 {
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		return
	}
	if !errors.Is(err, class) {
		t.Errorf("%+v, %v; want an error of class %v", got, err, class)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}
