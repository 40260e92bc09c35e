package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// JobTests is a file of tests of a job (docs/testing.md).
type JobTests struct {
	Version int       `yaml:"version"`
	Job     string    `yaml:"job"` // path of the job file, from the directory of this one
	Set     []string  `yaml:"set"` // overrides of settings, as --set has them
	Tests   []JobTest `yaml:"tests"`
}

// JobTest is one test: a job from its start, and what happens to it, step by step.
type JobTest struct {
	Name string `yaml:"name"`
	// Clock is where processing time begins. With it the clock's guard of records
	// (max_future) is on.
	Clock *moment `yaml:"clock"`
	// Generator: false leaves event time to the watermark steps alone.
	Generator *bool     `yaml:"generator"`
	Steps     []jobStep `yaml:"steps"`
}

// jobStep is one thing that happens, or nothing, and what must have come out of the job
// behind it since the last step that expects something.
type jobStep struct {
	Source string `yaml:"source"` // may be left out where the job has one; of time: all
	Split  string `yaml:"split"`

	Records           []yaml.Node `yaml:"records"`
	Watermark         *moment     `yaml:"watermark"`
	Idle              bool        `yaml:"idle"`
	Clock             string      `yaml:"clock"` // "+5s"
	CheckpointRestore bool        `yaml:"checkpoint_restore"`
	EndOfInput        bool        `yaml:"end_of_input"`

	Expect *expectation `yaml:"expect"`

	line    int
	advance time.Duration // of Clock
}

// expectation is what must have come out: all of it, each with some of its fields.
type expectation struct {
	Rows   []yaml.Node `yaml:"rows"`
	Late   []yaml.Node `yaml:"late"`
	Bad    []yaml.Node `yaml:"bad"`
	Failed []yaml.Node `yaml:"failed"`
	Error  string      `yaml:"error"` // a part of the message that the job ends with
}

// moment is a time in a test: RFC 3339 text or milliseconds since 1970.
type moment stream.Time

func (m *moment) UnmarshalYAML(n *yaml.Node) error {
	var ms int64
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && n.Decode(&ms) == nil {
		*m = moment(ms)
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a time is text like 2024-01-31T08:00:00Z, or milliseconds since 1970", n.Line)
	}
	*m = moment(t.UnixMilli())
	return nil
}

// What a step may say, and what it may expect. Keys are checked here: a custom decoder
// does not inherit the reader's strictness.
var (
	stepKeys   = [...]string{"records", "watermark", "idle", "clock", "checkpoint_restore", "end_of_input"}
	sideKeys   = [...]string{"source", "split", "expect"}
	expectKeys = [...]string{"rows", "late", "bad", "failed", "error"}
)

// What may be done at once: more is a mistake, and would take long.
const (
	maxClockStep = 7 * 24 * time.Hour
	maxJobTests  = 10_000
)

func (s *jobStep) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a step is a mapping such as {clock: +5s}", n.Line)
	}
	var does []string
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case slices.Contains(stepKeys[:], key.Value):
			does = append(does, key.Value)
		case !slices.Contains(sideKeys[:], key.Value):
			return fmt.Errorf("line %d: a step has no %q; it does one of %s, with %s", key.Line, key.Value, strings.Join(stepKeys[:], ", "), strings.Join(sideKeys[:], ", "))
		}
	}
	type plain jobStep
	if err := n.Decode((*plain)(s)); err != nil {
		return err
	}
	s.line = n.Line
	switch {
	case len(does) > 1:
		return fmt.Errorf("line %d: a step does one thing, this one says %s", n.Line, strings.Join(does, " and "))
	case len(does) == 0 && s.Expect == nil:
		return fmt.Errorf("line %d: a step does one of %s, or has something to expect", n.Line, strings.Join(stepKeys[:], ", "))
	case s.Split != "" && s.Records == nil && !s.Idle:
		return fmt.Errorf("line %d: split is for records and idle", n.Line)
	case s.Source != "" && (len(does) == 0 || s.Clock != "" || s.CheckpointRestore):
		return fmt.Errorf("line %d: source is for records, watermark, idle and end_of_input", n.Line)
	}
	if s.Clock == "" {
		return nil
	}
	d, ok := strings.CutPrefix(s.Clock, "+")
	var err error
	if s.advance, err = job.ParseDuration(d); !ok || err != nil || s.advance <= 0 || s.advance > maxClockStep {
		return fmt.Errorf("line %d: the clock goes forward by a duration, at most %s: clock: +5s", n.Line, job.FormatDuration(maxClockStep))
	}
	return nil
}

func (e *expectation) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i]; !slices.Contains(expectKeys[:], key.Value) {
				return fmt.Errorf("line %d: nothing can be expected by the name %q, only %s", key.Line, key.Value, strings.Join(expectKeys[:], ", "))
			}
		}
	}
	type plain expectation
	return n.Decode((*plain)(e))
}

// ReadJobTests reads a file of tests. Errors are of class fault.ErrUser and name the line.
func ReadJobTests(src []byte) (*JobTests, error) {
	f := &JobTests{}
	if err := readTests(src, f); err != nil {
		return nil, fault.As(fault.ErrUser, err)
	}
	return f, nil
}

// readTests reads a file of tests of jobs or of plug-ins, and checks it.
func readTests(src []byte, f interface{ check() error }) error {
	d := yaml.NewDecoder(bytes.NewReader(src))
	d.KnownFields(true)
	if err := d.Decode(f); errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	} else if err != nil {
		return err
	}
	return f.check()
}

func (f *JobTests) check() error {
	switch {
	case f.Version != 1:
		return fmt.Errorf("version: 1 must stand at the top, it is %d", f.Version)
	case f.Job == "":
		return errors.New("job: the path of the job file is missing")
	case len(f.Tests) == 0 || len(f.Tests) > maxJobTests:
		return fmt.Errorf("tests: a file has 1 to %d, this one %d", maxJobTests, len(f.Tests))
	}
	seen := map[string]bool{}
	for i := range f.Tests {
		t := &f.Tests[i]
		switch {
		case t.Name == "":
			return fmt.Errorf("test %d has no name", i+1)
		case seen[t.Name]:
			return fmt.Errorf("two tests are called %q", t.Name)
		case len(t.Steps) == 0:
			return fmt.Errorf("test %q has no steps", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}
