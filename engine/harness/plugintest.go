package harness

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// PluginTests is a file of tests of a plug-in (docs/testing.md).
type PluginTests struct {
	Version int          `yaml:"version"`
	Plugin  string       `yaml:"plugin"` // path of the module, from the directory of this file
	Tests   []PluginTest `yaml:"tests"`
}

// PluginTest is one test: what the plug-in's function is shown, and what it must answer.
type PluginTest struct {
	Name string `yaml:"name"`
	// Args are arguments by the names of the parameters, as scalars.
	Args map[string]yaml.Node `yaml:"args"`

	// One of these is what the function is shown, as its kind has it.
	Records []yaml.Node            `yaml:"records"` // aggregate: of one group; map; watermark; assigner
	Groups  map[string][]yaml.Node `yaml:"groups"`  // aggregate
	Left    []yaml.Node            `yaml:"left"`    // pair: every one with every one of Right
	Right   []yaml.Node            `yaml:"right"`
	Firings []firingSpec           `yaml:"firings"` // process

	Operations []operationSpec `yaml:"operations"` // trigger

	// Expect is what must come of it, with some of the columns of each row: a row for an
	// aggregate, or one by group; a list of rows for each record of a map; the rows of
	// pairs; {rows, side} of a process function; a time or null for each record of a
	// watermark generator; {verdict, set, delete, set_clock, delete_clock} for each
	// operation of a trigger; of a window assigner a list of windows {start, end} for each
	// record, the one that ends last first.
	Expect yaml.Node `yaml:"expect"`
	// Error is a part of the message with which the function refuses, or breaks down; At is
	// the record, pair, firing or operation to blame, from 1; 0: any.
	Error string `yaml:"error"`
	At    int    `yaml:"at"`
}

// firingSpec is a firing that a process function is shown.
type firingSpec struct {
	Key       string      `yaml:"key"`
	Start     moment      `yaml:"start"`
	End       moment      `yaml:"end"`
	Watermark *moment     `yaml:"watermark"` // as if left out: the last millisecond of the window
	Now       *moment     `yaml:"now"`       // likewise
	Revision  uint32      `yaml:"revision"`
	Inputs    yaml.Node   `yaml:"inputs"`
	Records   []yaml.Node `yaml:"records"`
	Left      []yaml.Node `yaml:"left"`
	Right     []yaml.Node `yaml:"right"`
}

func (f *firingSpec) window() stream.Window {
	return stream.Window{Start: stream.Time(f.Start), End: stream.Time(f.End)}
}

// or is the moment, or another where it was left out.
func (m *moment) or(t stream.Time) stream.Time {
	if m == nil {
		return t
	}
	return stream.Time(*m)
}

// ReadPluginTests reads a file of tests. Errors are of class fault.ErrUser and name the line.
func ReadPluginTests(src []byte) (*PluginTests, error) {
	f := &PluginTests{}
	if err := readTests(src, f); err != nil {
		return nil, fault.As(fault.ErrUser, err)
	}
	return f, nil
}

func (f *PluginTests) check() error {
	switch {
	case f.Version != 1:
		return fmt.Errorf("version: 1 must stand at the top, it is %d", f.Version)
	case f.Plugin == "":
		return errors.New("plugin: the path of the module is missing")
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
		case t.Expect.IsZero() == (t.Error == ""):
			return fmt.Errorf("test %q must say what it expects, or the error; one of them", t.Name)
		case t.At != 0 && t.Error == "":
			return fmt.Errorf("test %q: at belongs to error", t.Name)
		}
		for name, arg := range t.Args {
			if arg.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: argument %s must be a scalar", arg.Line, name)
			}
		}
		seen[t.Name] = true
	}
	return nil
}

// ArgTexts are the arguments as NAME=VALUE, sorted.
func (t *PluginTest) ArgTexts() (out []string) {
	for _, name := range sortedNodes(t.Args) {
		out = append(out, name+"="+t.Args[name].Value)
	}
	return out
}

// shows tells which of the things to show the test has.
func (t *PluginTest) shows() string {
	var has []string
	for _, w := range []struct {
		name  string
		there bool
	}{{"records", t.Records != nil}, {"groups", t.Groups != nil}, {"left and right", t.Left != nil || t.Right != nil}, {"firings", t.Firings != nil}, {"operations", t.Operations != nil}} {
		if w.there {
			has = append(has, w.name)
		}
	}
	return strings.Join(has, ", ")
}

// must checks that the test shows what the kind of the function is shown.
func (t *PluginTest) must(kind string, kinds ...string) error {
	has := t.shows()
	for _, k := range kinds {
		if k == has {
			return nil
		}
	}
	if has == "" {
		has = "nothing"
	}
	return fault.Userf("%s is shown %s, this test has %s", kind, strings.Join(kinds, " or "), has)
}
