package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// Scaling: W1 from one file by one subtask and by two. A second subtask should cost little
// in all, and take work off whoever has most of it: the goroutine that needs most CPU says
// how far more cores could carry a job.
//
// What a goroutine needs is its part of the samples of the process's own CPU profile, whose
// labels name the tasks (engine/label.go), times what the process took. Goroutines without
// a label are the runtime's.

// scalingProcs is GOMAXPROCS of both: on the one core that they are pinned to, the runtime
// would see that nothing can run side by side, and the engine would have nothing do so.
const scalingProcs = 2

// measureScaling makes the rows of the table: the two that are demanded, and, if asked for
// by name, what each task of the two subtasks has.
func measureScaling(_ context.Context, s *settings) ([]Row, error) {
	a, err := s.askScaling()
	if err != nil {
		return nil, err
	}
	one, two := a.engine[0], a.engine[1]
	var busiest []float64
	parts := map[string][]float64{} // of each task of the two subtasks, by round
	for round := range s.Rounds {
		progress("scaling: round %d of %d", round+1, s.Rounds)
		if _, err := s.weigh(one); err != nil {
			return nil, err
		}
		shares, err := s.weigh(two)
		if err != nil {
			return nil, err
		}
		ratio := two.costs[round].CPU.Seconds() / one.costs[round].CPU.Seconds()
		most := 0.0
		for task, share := range shares {
			parts[task] = append(parts[task], share*ratio)
			if task != unlabelled {
				most = max(most, share*ratio)
			}
		}
		busiest = append(busiest, most)
	}
	const group = "scaling"
	rows := []Row{
		{Group: group, Measure: "W1 from one file, 2 subtasks against 1: all CPU", Unit: Ratio, Must: 1.15, Goal: 1.05, Measured: two.ratio(one), CPU: two.seconds(), Peak: two.peak()},
		{Group: group, Measure: "the busiest goroutine of 2 subtasks against all CPU of 1", Unit: Ratio, Must: 0.6, Goal: 0.55, Measured: median(busiest)},
	}
	if s.Whole {
		for _, task := range slices.Sorted(maps.Keys(parts)) {
			rows = append(rows, Row{Group: group, Measure: task + " of 2 subtasks against all CPU of 1", Unit: Ratio, Measured: median(parts[task])})
		}
	}
	return rows, nil
}

// askScaling prepares the two runs, and that their rows are right.
func (s *settings) askScaling() (*asked, error) {
	q := first()
	input, err := s.input(q)
	if err != nil {
		return nil, err
	}
	a := &asked{query: q, input: input, reference: &measured{title: "plain loop", process: Process{Args: []string{s.Self, "reference", q.name}, Stdin: input}}}
	for _, subtasks := range []int{1, 2} {
		m, err := s.job(q, engineRun{}, input)
		if err != nil {
			return nil, err
		}
		m.title = fmt.Sprintf("%d subtasks", subtasks)
		m.process.Args = append(m.process.Args, "--set", fmt.Sprintf("parallelism=%d", subtasks), "--cpu-profile", s.profile())
		m.process.Env = append(m.process.Env, "GOMAXPROCS="+strconv.Itoa(scalingProcs))
		a.engine = append(a.engine, m)
	}
	return a, s.verify(a)
}

// profile is the file that a run writes and the next one overwrites.
func (s *settings) profile() string { return s.path("scaling.pprof") }

// weigh runs a process and returns the part of its CPU time that each task has.
func (s *settings) weigh(m *measured) (shares map[string]float64, err error) {
	cost, err := m.process.Run(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.title, err)
	}
	m.costs = append(m.costs, cost)
	f, err := os.Open(s.profile())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: the profile: %w", m.title, err)
	}
	return sharesOf(p), nil
}

// unlabelled is what goroutines without a label are called.
const unlabelled = "the runtime"

// sharesOf returns the part of a profile's samples that each task has.
func sharesOf(p *profile.Profile) map[string]float64 {
	label := func(s *profile.Sample, key string) string {
		if v := s.Label[key]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "samples" })
	counts, sum := map[string]int64{}, int64(0)
	for _, s := range p.Sample {
		task := cmp.Or(strings.TrimSpace(strings.Join([]string{label(s, "work"), label(s, "operator"), label(s, "number")}, " ")), unlabelled)
		counts[task] += s.Value[at]
		sum += s.Value[at]
	}
	shares := map[string]float64{}
	for task, n := range counts {
		shares[task] = float64(n) / float64(sum)
	}
	return shares
}
