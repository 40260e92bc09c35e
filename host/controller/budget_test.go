package controller

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/checkpoint"
	"tidemark/internal/fault"
)

// A job that is over its state budget has failed: it is not started again, not by a next
// process either, since it would come to the same. Under a larger budget it goes on from the
// checkpoint of its stop.
func TestAJobOverItsBudgetIsNotStartedAgain(t *testing.T) {
	s := newSite(t)
	s.quota.StateBytes = 1 << 30
	c, ctx := s.start(t), t.Context()
	const keys = 5000
	var in strings.Builder
	for i := range keys {
		fmt.Fprintf(&in, `{"k":"key-%d","t":%d}`+"\n", i, 1000+i)
	}
	s.write(t, "in.jsonl", in.String())
	file := strings.Replace(jobFile("in.jsonl", false), "version: 1", "version: 1\nsettings: {state_budget: 64KiB, batch: {rows: 100}, checkpoint: {interval: 1h}, restart: {initial: 1ms}}", 1)
	submit(t, c, "a", "on", file)
	ended := func(c *Controller, want State) View {
		t.Helper()
		v, err := c.WaitEnd(ctx, "a", "on", aMinute)
		if err != nil || State(v.State) != want {
			t.Fatalf("%s: %s, %v", v.State, v.Message, err)
		}
		return v
	}
	v := ended(c, Failed)
	passed := v.Report.Sources[0].Read
	if text := fmt.Sprintf("Checkpoint %d was taken at the stop", v.Report.Checkpoints.Last); v.Tally.Restarts != 0 || !strings.Contains(v.Message, text) || passed == 0 || passed == keys {
		t.Errorf("%+v, %d read: %s", v.Tally, passed, v.Message)
	}
	saved, err := c.Saved(ctx, "a", "on")
	if err != nil || len(saved) != 1 || saved[0].Kind != checkpoint.Stop {
		t.Fatalf("%+v, %v", saved, err)
	}
	closeAll(t, c)

	c = s.start(t)
	defer closeAll(t, c)
	if resumed, interrupted, err := c.Recover(ctx); resumed != 0 || interrupted != 0 || err != nil {
		t.Errorf("the next process takes up %d, marks %d, %v", resumed, interrupted, err)
	}
	if _, err := c.GoOn(ctx, "a", "on", Continue{}); err != nil {
		t.Fatal(err)
	}
	if again := ended(c, Failed); !strings.Contains(again.Message, "settings.state_budget") || again.Report.Sources[0].Read < passed {
		t.Errorf("under the same budget: %s", again.Message)
	}
	_, err = c.GoOn(ctx, "a", "on", Continue{YAML: []byte(strings.Replace(file, "64KiB", "2GiB", 1))})
	wantClass(t, "a budget above the quota", err, fault.ErrQuota)
	if _, err := c.GoOn(ctx, "a", "on", Continue{YAML: []byte(strings.Replace(file, "64KiB", "16MiB", 1))}); err != nil {
		t.Fatal(err)
	}
	v = ended(c, Finished)
	if rows, _ := read(t, c, "a", "on", "results", 0); strings.Count(rows, "\n") != keys || v.Report.Sources[0].Read != keys || v.Report.Checkpoints.Restored == 0 {
		t.Errorf("%d rows, %d read, %+v", strings.Count(rows, "\n"), v.Report.Sources[0].Read, v.Report.Checkpoints)
	}
}
