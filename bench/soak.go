package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Soak: an endless stream with a constant number of keys through every kind of window,
// and the memory of the process over time. A first third is for everything to reach its
// size; from then on it must not grow. Lists are of windows that end by the clock: a
// frequent key's session never does, and its list would be the stream.
const (
	soakPace   = 4 << 20 // bytes a second, about 30,000 lines
	soakSample = 10 * time.Second
	// soakGrowth is how much more the median of the last third may be than that of the
	// second: what the collector leaves lying from one sample to the next.
	soakGrowth = 1.05
)

const soakJob = `version: 1
job: soak
plugins:
  stats: {file: %q}
sources:
  orders:
    file: {path: "-"}
    format: json
    schema: {key: string, user_id: string, amount: float64}
    time: {field: event_time, unit: ms, max_future: off}
    watermark: {out_of_orderness: 5s}
steps:
  tumbling: {from: orders, key: [key], window: {tumbling: 10s}, aggregates: {count: {function: count}, sum: {function: sum, columns: {value: amount}}}}
  sliding: {from: orders, key: [key], window: {sliding: {size: 60s, slide: 10s}}, aggregates: {max: {function: max, columns: {value: amount}}}}
  sessions: {from: orders, key: [key], window: {session: 5s}, aggregates: {count: {function: count}}}
  lists: {from: orders, key: [key], window: {tumbling: 2s}, aggregates: {all: {function: list, columns: {value: amount}}}}
  counted: {from: orders, key: [key], window: {count: 100}, aggregates: {mean: {function: mean, columns: {value: amount}}}}
  everyone: {from: orders, window: {tumbling: 1s}, aggregates: {users: {function: distinct, columns: {value: user_id}}, top: {function: top_k, columns: {value: key}, args: {k: 10}}}}
  plugged: {from: orders, key: [key], window: {tumbling: 10s}, aggregates: {amount: {plugin: stats, columns: {value: amount}}}}
sinks:
  tumbling_rows: {from: tumbling, stdout: {}}
  sliding_rows: {from: sliding, stdout: {}}
  sessions_rows: {from: sessions, stdout: {}}
  lists_rows: {from: lists, stdout: {}}
  counted_rows: {from: counted, stdout: {}}
  everyone_rows: {from: everyone, stdout: {}}
  plugged_rows: {from: plugged, stdout: {}}
`

// soak runs the job for a time and says whether its memory stayed.
func soak(args []string) (err error) {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	length := flags.Duration("for", 30*time.Minute, "how long")
	binary := flags.String("tidemark", "bin/tidemark", "the engine's binary")
	plugin := flags.String("plugin", "internal/wasmtest/built/c/stats.wasm", "the plug-in stats")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *length < 9*soakSample {
		return fmt.Errorf("-for must be at least %v, three samples in each third, is %v", 9*soakSample, *length)
	}
	dir, err := os.MkdirTemp("", "tidemark-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	module, err := filepath.Abs(*plugin)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "soak.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, soakJob, module), 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), *length)
	defer cancel() // also when the job ends too early
	cmd := exec.Command(*binary, "run", file)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		// More lines than there is time for, of the first workload.
		endless := Data{Lines: int(length.Seconds()) * soakPace, Keys: 10_000, StepMicros: 100}
		err := endless.Generate(&paced{ctx: ctx, to: in})
		if errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
		cancel()
		written <- errors.Join(err, in.Close()) // the job ends with its input
	}()
	samples, serr := sampleMemory(ctx, cmd.Process.Pid)
	if err := errors.Join(serr, <-written, cmd.Wait()); err != nil {
		return err
	}
	verdict, err := judgeMemory(samples)
	fmt.Println(verdict)
	return err
}

// sampleMemory reads the resident memory of a process, and of those it started, until ctx
// ends.
func sampleMemory(ctx context.Context, pid int) (bytes []int64, err error) {
	tick := time.NewTicker(soakSample)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return bytes, nil
		case <-tick.C:
			n, err := residentOf(pid)
			if err != nil {
				return nil, err
			}
			bytes = append(bytes, n)
			fmt.Printf("%s  %d MiB\n", time.Now().Format(time.TimeOnly), n/mebibyte)
		}
	}
}

// judgeMemory compares the medians of the last two thirds.
func judgeMemory(samples []int64) (verdict string, err error) {
	third := len(samples) / 3
	of := func(part []int64) float64 {
		values := make([]float64, len(part))
		for i, n := range part {
			values[i] = float64(n)
		}
		return median(values)
	}
	second, last := of(samples[third:2*third]), of(samples[2*third:])
	verdict = fmt.Sprintf("memory: median of the second third %.1f MiB, of the last %.1f MiB, most %d MiB",
		second/mebibyte, last/mebibyte, slices.Max(samples)/mebibyte)
	if last > second*soakGrowth {
		err = fmt.Errorf("memory grew to %.2f of what it was", last/second)
	}
	return verdict, err
}

// paced writes at soakPace, and fails when ctx has ended.
type paced struct {
	ctx   context.Context
	to    io.Writer
	start time.Time
	bytes int64
}

func (p *paced) Write(b []byte) (n int, err error) {
	if p.start.IsZero() {
		p.start = time.Now()
	}
	const piece = soakPace / 10
	for len(b) > 0 && err == nil {
		due := p.start.Add(time.Duration(p.bytes) * time.Second / soakPace)
		select {
		case <-p.ctx.Done():
		case <-time.After(time.Until(due)):
		}
		if p.ctx.Err() != nil { // of two that are due, any is chosen
			return n, context.Cause(p.ctx)
		}
		var m int
		m, err = p.to.Write(b[:min(piece, len(b))])
		n, b, p.bytes = n+m, b[m:], p.bytes+int64(m)
	}
	return n, err
}
