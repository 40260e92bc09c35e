package controller

import (
	"strings"
	"testing"

	"tidemark/internal/fault"
)

// A job that was stopped goes on from its savepoint, also under a changed file, and each row
// is there once.
func TestAStoppedJobGoesOn(t *testing.T) {
	s := newSite(t)
	c, ctx := s.start(t), t.Context()
	defer closeAll(t, c)
	s.write(t, "in.jsonl", threeAndABadOne+`{"k":"x","t":12000}`+"\n")
	file := followed("in.jsonl")
	submit(t, c, "a", "on", file)
	rowsOf(t, c, "on", 2)
	_, err := c.GoOn(ctx, "a", "on", Continue{})
	wantClass(t, "a job that runs", err, fault.ErrConflict)
	_, saved, err := c.StopSaved(ctx, "a", "on", aMinute)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.GoOn(ctx, "b", "on", Continue{})
	wantClass(t, "another tenant's job", err, fault.ErrUnknown)
	_, err = c.GoOn(ctx, "a", "on", Continue{From: saved.ID + 1000})
	wantClass(t, "a savepoint that is not there", err, fault.ErrUnknown)
	_, err = c.GoOn(ctx, "a", "on", Continue{YAML: []byte("job: x")})
	wantClass(t, "a file that is none", err, fault.ErrUser)
	_, err = c.GoOn(ctx, "a", "on", Continue{YAML: []byte(strings.Replace(file, "{interval: 10ms}", "off", 1))})
	wantClass(t, "a file without checkpoints", err, fault.ErrUser)

	// Another function does not fit, and what is refused changes nothing.
	other := strings.NewReplacer("function: count", "function: max, columns: {value: v}", "k: string}", "k: string, v: int64}").Replace(file)
	_, err = c.GoOn(ctx, "a", "on", Continue{YAML: []byte(other), From: saved.ID})
	wantClass(t, "state that does not fit", err, fault.ErrUser)
	if err != nil && (!strings.Contains(err.Error(), "the state of step by_k cannot be taken over") || strings.Count(err.Error(), "--drop-state") != 2) {
		t.Errorf("state that does not fit: %v", err)
	}
	if v, err := c.Get(ctx, "a", "on"); err != nil || State(v.State) != Stopped || string(v.YAML) != file {
		t.Errorf("after refusals it is %s, %v", v.State, err)
	}

	changed := strings.Replace(file, "{tumbling: 10s}", "{tumbling: 10s, allowed_lateness: 1m}", 1)
	v, err := c.GoOn(ctx, "a", "on", Continue{YAML: []byte(changed), From: saved.ID})
	if err != nil || State(v.State).Ended() {
		t.Fatalf("%s, %v", v.State, err)
	}
	// The window from 10 s holds a record from before; the second one comes when it has fired,
	// which is late but allowed now.
	s.append(t, "in.jsonl", `{"k":"y","t":25000}`+"\n"+`{"k":"x","t":15000}`+"\n")
	rows := rowsOf(t, c, "on", 4)
	for _, want := range []string{
		`"key":{"k":"x"},"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"n":2}`,
		`"key":{"k":"y"},"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"n":1}`,
		`"key":{"k":"x"},"window":{"start":10000,"end":20000},"kind":"on_time","revision":0,"value":{"n":1}`,
		`"key":{"k":"x"},"window":{"start":10000,"end":20000},"kind":"update","revision":1,"value":{"n":2}`,
	} {
		if strings.Count(rows, want) != 1 {
			t.Errorf("%s is there %d times\n%s", want, strings.Count(rows, want), rows)
		}
	}
	checkpointed(t, c, "on")
	if v, err := c.Stop(ctx, "a", "on", aMinute); err != nil || v.Tally.Restarts != 1 || v.Tally.Restored != saved.ID || string(v.YAML) != changed {
		t.Errorf("%+v, %v", v.Tally, err)
	}

	// From its last checkpoint, and to its end: then there is nothing to go on with.
	if _, err = c.GoOn(ctx, "a", "on", Continue{}); err != nil {
		t.Fatal(err)
	}
	s.append(t, "in.jsonl", `{"k":"y","t":35000}`+"\n")
	rowsOf(t, c, "on", 5)
	if _, err := c.Drain(ctx, "a", "on", aMinute); err != nil {
		t.Fatal(err)
	}
	_, err = c.GoOn(ctx, "a", "on", Continue{})
	wantClass(t, "a job that has finished", err, fault.ErrConflict)
}
