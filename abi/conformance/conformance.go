// Package conformance is the conformance kit: it shows the standard plug-ins, as an SDK has
// built them, frames whose answers are known, and tells where what comes back is something
// else.
//
// What it shows stands in vectors: texts that picture calls and their answers, written from
// abi/SPEC.md and the definitions of the plug-ins, never from what a module answered
// (vectors/README.md). Each vector runs as it is written and in variants that must not make a
// difference: frames cut anywhere, a fresh instance for each, small output areas, another
// layout, frames that fill the arena. What it expects beside that is SPEC.md, and nothing of
// Tidemark's engine: another host or SDK can follow the same vectors.
package conformance

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/internal/fault"
)

// folder is where the vectors lie in the repository.
const folder = "abi/conformance/vectors"

// Vectors are the vectors: a folder of texts for each plug-in, with the manifest that it must
// have.
//
//go:embed vectors
var Vectors embed.FS

// Plugins are the names of the standard plug-ins, in the order in which they are checked: all
// that an SDK must have built to have every kind.
func Plugins() []string {
	return []string{"probe", "stats", "distinct", "top_k", "sections", "unpaid", "adaptive", "count_or_timeout", "sessionise", "own_gap",
		"mean", "history", "visits", "every", "sparse"}
}

// Report is what came of a plug-in.
type Report struct {
	Plugin   string
	Vectors  int // that were run
	Frames   int // that its instances were shown
	Failures []Failure
}

// maxFailures bounds what is told of a plug-in: one fault may break every vector.
const maxFailures = 20

// Failure is a vector or a behaviour of which something else came.
type Failure struct {
	Where     string // FILE:LINE of a vector, or the behaviour
	What      string // the case, and the variant of it
	Want, Got string // one thing a line
}

// Kit compiles modules and checks them. It is for one goroutine.
type Kit struct{ compiler *guest.InProcess }

// Open makes a kit that keeps machine code in a directory; an empty one keeps it in memory. The
// caller closes it.
func Open(ctx context.Context, cacheDir string) (*Kit, error) {
	c, err := guest.NewInProcess(ctx, cacheDir)
	if err != nil {
		return nil, err
	}
	return &Kit{c}, nil
}

// Close frees what the kit holds.
func (k *Kit) Close(ctx context.Context) error { return k.compiler.Close(ctx) }

// Check runs all that there is of a standard plug-in against a module. An error says that it
// could not: that there is no such plug-in, or the end of ctx.
func (k *Kit) Check(ctx context.Context, name string, file []byte) (*Report, error) {
	if !slices.Contains(Plugins(), name) {
		return nil, fault.Unknownf("there is no standard plug-in %s: they are %s", name, strings.Join(Plugins(), ", "))
	}
	want, vectors, err := load(Vectors, name)
	if err != nil {
		return nil, fmt.Errorf("BUG: vectors of %s: %w", name, err)
	}
	c := &checked{ctx: ctx, shape: shapeOf(want), report: &Report{Plugin: name}, full: map[guest.Func]int{}, good: map[*vector]bool{}}
	if c.module, err = k.compiler.Compile(ctx, file); err != nil {
		if ctx.Err() != nil || !errors.Is(err, fault.ErrUser) {
			return nil, err
		}
		c.fail("the module", "as an upload", "a module that a host takes", err.Error())
		return c.report, nil
	}
	defer c.module.Close(context.WithoutCancel(ctx)) // frees memory, and cannot fail
	if !c.manifest(want) {
		return c.report, nil // its frames would be others
	}
	if a := c.module.Manifest().Aggregate; a != nil && !a.Apply {
		vectors = slices.DeleteFunc(vectors, func(v *vector) bool {
			return slices.ContainsFunc(v.calls, func(s *step) bool { return s.fn == guest.Apply })
		})
	}
	for _, v := range vectors {
		if err := c.vector(v); err != nil {
			return nil, err
		}
	}
	return c.report, c.unreadable(vectors)
}

// load reads the manifest and the vectors of a plug-in.
func load(files fs.FS, name string) (*abi.Manifest, []*vector, error) {
	dir := path.Join("vectors", name)
	text, err := fs.ReadFile(files, path.Join(dir, "manifest.json"))
	if err != nil {
		return nil, nil, err
	}
	m, err := abi.ParseManifest(text)
	if err != nil {
		return nil, nil, err
	}
	names, err := fs.Glob(files, path.Join(dir, "*.txt"))
	if err != nil {
		return nil, nil, err
	}
	// The large ones come last: what is wrong is easier to see in a small one.
	slices.SortStableFunc(names, func(a, b string) int {
		large := func(name string) int { return strings.Count(path.Base(name), "generated") }
		return large(a) - large(b)
	})
	var all []*vector
	for _, file := range names {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, nil, err
		}
		vectors, err := parse(shapeOf(m), path.Join(folder, name, path.Base(file)), string(text))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, vectors...)
	}
	return m, all, nil
}

// checked is one module that is being checked.
type checked struct {
	ctx    context.Context
	module *guest.Module
	shape  *shape
	report *Report
	full   map[guest.Func]int // how often the arena was filled with a kind of call
	good   map[*vector]bool   // as it is written, and it may run more often
}

func (k *checked) fail(where, what, want, got string) {
	if len(k.report.Failures) < maxFailures {
		k.report.Failures = append(k.report.Failures, Failure{where, what, want, got})
	}
}

// manifest compares what the module says of itself with what it must say, all but the SDK, and
// whether that offers to take many operations in one call.
func (k *checked) manifest(want *abi.Manifest) bool {
	show := func(m abi.Manifest) string {
		m.SDK = ""
		if m.Aggregate != nil {
			a := *m.Aggregate
			a.Apply = false
			m.Aggregate = &a
		}
		text, err := json.MarshalIndent(m, "", " ")
		if err != nil {
			panic("BUG: a manifest that was read cannot be written: " + err.Error())
		}
		return string(text)
	}
	w, g := show(*want), show(*k.module.Manifest())
	if w == g {
		return true
	}
	onlyWant, onlyGot := difference(strings.Split(w, "\n"), strings.Split(g, "\n"))
	k.fail(path.Join(folder, k.report.Plugin, "manifest.json"), "the manifest, all but sdk", onlyWant, onlyGot)
	return false
}

// difference is where two lists of lines part: what stands in either from there on, up to
// where they are the same again.
func difference(want, got []string) (string, string) {
	for len(want) > 0 && len(got) > 0 && want[0] == got[0] {
		want, got = want[1:], got[1:]
	}
	for len(want) > 1 && len(got) > 1 && want[len(want)-1] == got[len(got)-1] {
		want, got = want[:len(want)-1], got[:len(got)-1]
	}
	return some(want), some(got)
}

// some is the first of many lines.
func some(lines []string) string {
	const most = 10
	if len(lines) > most {
		lines = append(slices.Clone(lines[:most]), fmt.Sprintf("… and %d more lines", len(lines)-most))
	}
	if len(lines) == 0 {
		return "nothing more"
	}
	return strings.Join(lines, "\n")
}
