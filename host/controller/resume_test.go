package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/host/catalog"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// followed is jobFile of an input that is waited on, with a checkpoint 100 times a second.
func followed(input string) string {
	return strings.NewReplacer("version: 1", "version: 1\nsettings: {checkpoint: {interval: 10ms}}", "of_orderness: 0s", "of_orderness: 0s, emit: record").Replace(jobFile(input, true))
}

// rowsOf waits until the results of a job have so many rows, and returns them.
func rowsOf(t *testing.T, c *Controller, name catalog.JobID, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), aMinute)
	defer cancel()
	for {
		text, _ := read(t, c, "a", name, "results", 0)
		if strings.Count(text, "\n") >= n {
			return text
		}
		if err := env.Real().Clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			v, _ := c.Get(t.Context(), "a", name)
			t.Fatalf("there are not %d rows; the job is %s: %s\n%s", n, v.State, v.Message, text)
		}
	}
}

// checkpointed waits until a job has completed a checkpoint that began now or later.
func checkpointed(t *testing.T, c *Controller, name catalog.JobID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), aMinute)
	defer cancel()
	for until := int64(0); ; {
		v, err := c.Get(ctx, "a", name)
		if err != nil {
			t.Fatal(err)
		}
		if until == 0 {
			until = v.Tally.Completed + 2 // one may be under way
		}
		if v.Tally.Completed >= until {
			return
		}
		if err := env.Real().Clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			t.Fatalf("no checkpoint is completed: %+v", v.Tally)
		}
	}
}

func (s *site) append(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.inputs, name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A job with checkpoints goes on in the next process, whether the last one ended in order or
// died, with what it had counted.
func TestJobsGoOnInTheNextProcess(t *testing.T) {
	for _, crash := range []bool{false, true} {
		s := newSite(t)
		ctx := t.Context()
		// The record at 12 s fires the window from 0 s, with 2 of x and 1 of y; the window from
		// 10 s then holds one of x.
		s.write(t, "in.jsonl", threeAndABadOne+`{"k":"x","t":12000}`+"\n")
		c := s.start(t)
		submit(t, c, "a", "on", followed("in.jsonl"))
		submit(t, c, "a", "off", strings.Replace(followed("in.jsonl"), "{interval: 10ms}", "off", 1))
		rowsOf(t, c, "on", 2)
		checkpointed(t, c, "on")
		closeAll(t, c)
		for _, id := range []catalog.JobID{"on", "off"} {
			record, err := s.cat.Job(ctx, "a", id)
			if err != nil {
				t.Fatal(err)
			}
			goesOn := strings.Contains(record.Message, "goes on when the host starts again")
			if State(record.State) != Interrupted || goesOn != (id == "on") {
				t.Errorf("%s is %s: %s", id, record.State, record.Message)
			}
			if crash { // then nobody has written that
				record.State, record.Message, record.Ended = string(Running), "", time.Time{}
				if err := s.cat.UpdateJob(ctx, record); err != nil {
					t.Fatal(err)
				}
			}
		}

		next := s.start(t)
		resumed, interrupted, err := next.Recover(ctx)
		if err != nil || resumed != 1 || (interrupted == 1) != crash {
			t.Fatalf("crash %t: resumed %d, marked %d, %v", crash, resumed, interrupted, err)
		}
		s.append(t, "in.jsonl", `{"k":"x","t":15000}`+"\n"+`{"k":"y","t":25000}`+"\n")
		rows := rowsOf(t, next, "on", 3)
		v, err := next.Stop(ctx, "a", "on", aMinute)
		if err != nil || State(v.State) != Stopped || v.Report.Sources[0].Read != 7 || v.Tally.Restarts != 1 || v.Tally.Restored == 0 || v.Tally.Completed == 0 {
			t.Errorf("crash %t: %s, read %d, %+v, %v", crash, v.State, v.Report.Sources[0].Read, v.Tally, err)
		}
		for row, times := range map[string]int{
			`"key":{"k":"x"},"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"n":2}`:     1,
			`"key":{"k":"y"},"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"n":1}`:     1,
			`"key":{"k":"x"},"window":{"start":10000,"end":20000},"kind":"on_time","revision":0,"value":{"n":2}`: 1,
			"\n": 3,
		} {
			if n := strings.Count(rows, row); n != times {
				t.Errorf("crash %t: %q is there %d times, want %d\n%s", crash, row, n, times, rows)
			}
		}
		if v, err := next.Get(ctx, "a", "off"); err != nil || State(v.State) != Interrupted {
			t.Errorf("a job without checkpoints is %s, %v", v.State, err)
		}
		// With the job its checkpoints go.
		if err := next.Delete(ctx, "a", "on"); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(s.data, "checkpoints", "a", "on")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("its checkpoints: %v", err)
		}
		closeAll(t, next)
	}
}

func TestSavepoints(t *testing.T) {
	s := newSite(t)
	c, ctx := s.start(t), t.Context()
	defer closeAll(t, c)
	s.write(t, "in.jsonl", threeAndABadOne+`{"k":"x","t":12000}`+"\n")
	submit(t, c, "a", "on", followed("in.jsonl"))
	submit(t, c, "a", "off", strings.Replace(followed("in.jsonl"), "{interval: 10ms}", "off", 1))
	rowsOf(t, c, "on", 2)
	first, err := c.Savepoint(ctx, "a", "on")
	if err != nil || first.Kind != checkpoint.Savepoint || first.Bytes == 0 || len(first.Summary) == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	_, err = c.Savepoint(ctx, "a", "off")
	wantClass(t, "a job without checkpoints", err, fault.ErrConflict)
	_, err = c.Savepoint(ctx, "a", "nobody")
	wantClass(t, "a job that is not there", err, fault.ErrUnknown)
	_, err = c.Savepoint(ctx, "b", "on")
	wantClass(t, "another tenant's job", err, fault.ErrUnknown)
	_, err = c.Saved(ctx, "b", "on")
	wantClass(t, "the savepoints of another tenant's job", err, fault.ErrUnknown)

	v, second, err := c.StopSaved(ctx, "a", "on", aMinute)
	if err != nil || State(v.State) != Stopped || second.ID <= first.ID {
		t.Fatalf("%s, %+v, %v", v.State, second, err)
	}
	_, _, err = c.StopSaved(ctx, "a", "on", aMinute)
	wantClass(t, "one that has stopped", err, fault.ErrConflict)
	all, err := c.Saved(ctx, "a", "on")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, saved := range all {
		if saved.ID == first.ID || saved.ID == second.ID {
			found++
		}
	}
	if found != 2 {
		t.Errorf("not all savepoints are in the list: %+v", all)
	}
	if last := all[len(all)-1]; last.Kind != checkpoint.Stop || last.ID != second.ID+1 || !last.Taken.Equal(second.Taken) {
		t.Errorf("the job did not stop where its savepoint is: %+v behind %+v", last, second)
	}
	if none, err := c.Saved(ctx, "a", "off"); err != nil || len(none) != 0 {
		t.Errorf("a job without checkpoints has %+v, %v", none, err)
	}
}

func TestDrain(t *testing.T) {
	s := newSite(t)
	c, ctx := s.start(t), t.Context()
	defer closeAll(t, c)
	s.write(t, "in.jsonl", threeAndABadOne+`{"k":"x","t":12000}`+"\n")
	for _, row := range []struct {
		id   catalog.JobID
		file string
	}{
		{"with", followed("in.jsonl")},
		{"without", strings.Replace(followed("in.jsonl"), "{interval: 10ms}", "off", 1)},
	} {
		submit(t, c, "a", row.id, row.file)
		rowsOf(t, c, row.id, 2)
		_, err := c.Drain(ctx, "b", row.id, 0)
		wantClass(t, "another tenant's job", err, fault.ErrUnknown)
		v, err := c.Drain(ctx, "a", row.id, aMinute)
		if err != nil || State(v.State) != Finished || !strings.HasPrefix(v.Message, "drained") {
			t.Fatalf("%s checkpoints: %s, %q, %v", row.id, v.State, v.Message, err)
		}
		// The window from 10 s had not come to its end.
		rows, piece := read(t, c, "a", row.id, "results", 0)
		if want := `"key":{"k":"x"},"window":{"start":10000,"end":20000},"kind":"incomplete","revision":0,"value":{"n":1}`; strings.Count(rows, want) != 1 || strings.Count(rows, "\n") != 3 || !piece.Complete {
			t.Errorf("%s checkpoints: complete %t, rows\n%s", row.id, piece.Complete, rows)
		}
		_, err = c.Drain(ctx, "a", row.id, aMinute)
		wantClass(t, "one that has finished", err, fault.ErrConflict)
	}
}
