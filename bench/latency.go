package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Latency: a job follows a file that gets a record a millisecond, and a window's rows are
// out so long after the record arrived that carries the watermark past the window's end.
// A record has arrived when its line has been written. This is the one measure in wall
// time, since waiting costs no CPU.
const (
	latencyRecords  = 20_000
	latencyPace     = time.Millisecond
	latencyWindow   = int64(50) // ms
	latencyBound    = int64(20) // ms, of out-of-orderness
	latencyKeys     = 10
	latencyPatience = 10 * time.Second // for the last rows
)

const latencyJob = `version: 1
job: latency
sources:
  orders:
    file: {path: %q, follow: true}
    format: json
    schema: {key: string, amount: float64}
    time: {field: event_time, unit: ms}
    watermark: {out_of_orderness: %dms, emit: record}
steps:
  per_key:
    from: orders
    key: [key]
    window: {tumbling: %dms}
    aggregates:
      count: {function: count}
      sum: {function: sum, columns: {value: amount}}
sinks:
  rows: {from: per_key, stdout: {}, time_format: ms}
`

// latency is what one run measured: of each row, how long it took.
type latency struct {
	rows []time.Duration // ascending
}

// at is the latency that a share of the rows keeps to.
func (l latency) at(share float64) time.Duration {
	n := len(l.rows)
	return l.rows[min(n-1, int(share*float64(n)))]
}

// arrivals says when each record was written. Record i has event time firstTime+i.
type arrivals struct {
	mu sync.Mutex
	at []time.Time
}

func (a *arrivals) add(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, t)
}

// closing is when the record arrived that carried the watermark past a window's end: the
// first whose time is the end and the bound, since a watermark says that nothing at its
// own time or before is to come (S2).
func (a *arrivals) closing(end int64) (time.Time, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := end + latencyBound - firstTime
	if i < 0 || i >= int64(len(a.at)) {
		return time.Time{}, fmt.Errorf("a row of the window that ends at %d came before the record that closes it", end)
	}
	return a.at[i], nil
}

// measureLatency is the row of the table.
func measureLatency(ctx context.Context, s *settings) ([]Row, error) {
	l, err := runLatency(ctx, s.Tidemark, s.Dir)
	if err != nil {
		return nil, err
	}
	return []Row{{
		Group:   "latency",
		Measure: "from the record that closes a window to its row, 1,000 records/s, p99",
		Unit:    Milliseconds, Must: 250, Goal: 50,
		Measured: float64(l.at(0.99)) / float64(time.Millisecond),
	}}, nil
}

// runLatency follows a file in dir with the engine's program.
func runLatency(ctx context.Context, binary, dir string) (l latency, err error) {
	file, jobName := filepath.Join(dir, "latency.jsonl"), filepath.Join(dir, "latency.yaml")
	in, err := os.Create(file)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := os.WriteFile(jobName, fmt.Appendf(nil, latencyJob, file, latencyBound, latencyWindow), 0o644); err != nil {
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, latencyRecords*latencyPace*2+latencyPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "run", jobName)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		return l, err
	}
	if err := cmd.Start(); err != nil {
		return l, err
	}
	var arrived arrivals
	read := make(chan error, 1)
	go func() { read <- l.collect(out, &arrived) }()

	tick := time.NewTicker(latencyPace)
	defer tick.Stop()
	var line []byte
	for i := range int64(latencyRecords) {
		line = appendLatencyRecord(line[:0], i)
		if _, err = in.Write(line); err != nil {
			break
		}
		arrived.add(time.Now())
		<-tick.C
	}
	if err == nil {
		select {
		case err = <-read: // all rows are there
		case <-ctx.Done():
			err = fmt.Errorf("rows are missing after %v", latencyPatience)
		}
	}
	cancel()
	_ = cmd.Wait() // it was ended
	if err != nil {
		return l, fmt.Errorf("latency: %w\n%s", err, messages.Bytes())
	}
	slices.Sort(l.rows)
	return l, nil
}

func appendLatencyRecord(line []byte, i int64) []byte {
	line = append(line, `{"event_time":`...)
	line = strconv.AppendInt(line, firstTime+i, 10)
	line = append(line, `,"key":"k`...)
	line = strconv.AppendInt(line, i%latencyKeys, 10)
	return append(line, "\",\"amount\":1}\n"...)
}

// latencyRows is how many rows come: those of the windows that the last record closes.
const latencyRows = int((latencyRecords-1-latencyBound)/latencyWindow) * latencyKeys

// collect reads the rows as they come.
func (l *latency) collect(out io.Reader, arrived *arrivals) error {
	lines := bufio.NewScanner(out)
	for len(l.rows) < latencyRows && lines.Scan() {
		now := time.Now()
		var row struct {
			Window struct{ End int64 }
			Value  struct{ Count int64 }
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return err
		}
		if want := latencyWindow / latencyKeys; row.Value.Count != want {
			return fmt.Errorf("a window counts %d records, want %d", row.Value.Count, want)
		}
		at, err := arrived.closing(row.Window.End)
		if err != nil {
			return err
		}
		l.rows = append(l.rows, now.Sub(at))
	}
	if len(l.rows) < latencyRows {
		return errors.Join(fmt.Errorf("%d rows of %d", len(l.rows), latencyRows), lines.Err())
	}
	return nil
}
