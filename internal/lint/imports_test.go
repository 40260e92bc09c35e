package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the prefix of our own import paths.
const module = "tidemark"

// bottom may be imported by every package of the main module: it decides nothing.
var bottom = []string{"internal/fault"}

// table is the whole architecture in one place: which of our packages a package may
// import. Patterns are those of path.Match; "dir/..." is dir and all below it. The
// first line that matches a package counts, so exceptions stand before their rule.
// A package that no line matches fails the test: a new package is a decision.
var table = []struct{ pkg, may string }{
	{"internal/fault", ""},
	{"internal/env", ""},
	{"internal/sim", "internal/env"},
	{"internal/lint", ""},

	// The semantics as scenarios, and an evaluator of them that shares nothing with
	// the engine: only tests import it.
	{"spec", ""},
	{"internal/naive", "spec"},

	// The engine, from the words at the bottom to the tasks that join them.
	{"engine/stream", ""},
	{"engine/job", "engine/stream"},
	{"engine/udf", "engine/stream"},
	{"engine/agg", "engine/stream engine/udf engine/job engine/result"},
	{"engine/expr", "engine/stream engine/udf"},
	{"engine/trigger", "engine/stream engine/udf"},
	{"engine/explain", "engine/stream"},
	{"engine/state", "engine/stream internal/env"},
	{"engine/state/disk", "engine/state"}, // what has no room in memory
	{"engine/source/sourcetest", "engine/stream engine/job engine/source internal/env"},
	{"engine/sink/sinktest", "engine/stream engine/job engine/sink internal/env"},
	// A column of the schema may be a timestamp: one reader of RFC 3339 for both.
	{"engine/decode", "engine/stream engine/job engine/timestamp internal/env"},
	{"engine/timestamp", "engine/stream engine/job internal/env"},
	{"engine/source", "engine/stream engine/job internal/env"},
	{"engine/watermark", "engine/stream engine/job engine/udf engine/state internal/env"},
	{"engine/sink", "engine/stream engine/job internal/env"},
	{"engine/exchange", "engine/stream engine/job engine/watermark engine/state internal/env"},
	// It knows how words and bytes are laid out (state.Writer), not what they say.
	{"engine/checkpoint", "engine/stream engine/state internal/env"},
	{"engine/checkpoint/s3", "engine/checkpoint"},
	{"engine/checkpoint/storetest", "engine/checkpoint"},
	{"engine/commit", "engine/stream internal/env"},
	// Rows of all operators look the same: how they do is its own word.
	{"engine/result", "engine/stream"},
	// When a plug-in is called no more: asked by all that call one.
	{"engine/breaker", "engine/stream engine/udf engine/job engine/result engine/state"},
	{"engine/window", "engine/stream engine/breaker engine/result engine/job engine/udf engine/trigger engine/watermark engine/state internal/env"},
	{"engine/join", "engine/stream engine/breaker engine/result engine/job engine/udf engine/trigger engine/watermark engine/state"},
	{"engine/wasm", "engine/stream engine/udf engine/job abi abi/guest abi/binary internal/env"},
	{"engine/laws", "engine/stream engine/udf"}, // of functions, whatever they are made of
	{"engine/harness", "engine/... internal/env internal/sim spec"},
	{"engine", "engine/stream engine/job engine/udf engine/agg engine/expr engine/trigger engine/explain engine/state engine/state/disk engine/decode engine/result " +
		"engine/timestamp engine/source engine/watermark engine/sink engine/exchange engine/checkpoint engine/commit " +
		"engine/breaker engine/window engine/join internal/env"},

	// The line between host and guests knows nothing of the engine.
	{"abi", ""},
	{"abi/binary", "abi"},
	{"abi/meter", "abi/binary"},
	{"internal/wasmtest", "abi abi/binary"}, // small plug-ins for tests
	{"internal/hostile", "abi/binary internal/wasmtest"},
	{"abi/guest", "abi abi/binary abi/meter internal/env"},
	{"abi/conformance", "abi abi/guest"},
	{"abi/toolchain", "abi abi/binary abi/guest internal/env sdk"},

	// The host: the only layer that wires everything.
	{"host/tenant", ""},
	{"host/config", "host/tenant"},
	{"host/turns", ""},
	{"host/catalog", "host/tenant internal/env"},
	{"host/registry", "abi abi/binary abi/guest host/catalog host/tenant internal/env"},
	{"host/controller", "engine engine/checkpoint engine/checkpoint/s3 engine/job engine/stream engine/udf engine/agg engine/sink engine/wasm abi/guest " +
		"host/catalog host/registry host/tenant host/turns internal/env"},
	{"host/metrics", "engine engine/job engine/stream host/controller host/registry host/tenant host/turns"},
	{"host/api", "engine engine/job engine/stream host/catalog host/controller host/registry host/tenant internal/env"},
	{"host/client", "host/api"},
	{"host", "engine abi abi/guest host/... internal/env"},

	{"cmd/host", "engine/... host/... abi abi/binary abi/meter abi/conformance abi/toolchain internal/env sdk spec"},

	// Plug-ins stand on the SDK alone, and the SDK on nothing: it is copied into
	// projects outside this repository.
	{"sdk", ""},
	{"sdk/go", ""},
	{"plugins/*", "sdk/go"},

	{"bench/...", "engine/... internal/env abi/..."},
	{"configs", ""},
	{"spec", ""},
	{"scripts/rows", ""},
	{"scripts/survey", "abi/binary abi/meter"},
}

// gates are the imports that come in through few doors. Test files are free.
var gates = []struct {
	imports string // pattern of import paths
	only    string // packages that may
	why     string
}{
	{"github.com/tetratelabs/wazero/...", "abi/guest", "the Wasm runtime stays exchangeable"},
	{"github.com/google/cel-go/...", "engine/expr", "what an expression means is said in one place"},
	{"github.com/minio/...", "engine/checkpoint/s3", "one kind of store speaks to object storage, and only where it is named"},
	{"github.com/prometheus/...", "host/metrics", "the engine reports numbers, it does not export them"},
	{"go.yaml.in/...", "engine/job host/config engine/harness cmd/host", "one strict reader of each kind of YAML"},
	{"gopkg.in/yaml.v3", "", "go.yaml.in/yaml/v3 is the one that is kept"},
	{"github.com/spf13/viper", "host/config", "host configuration is read in one place"},
	{"github.com/spf13/cobra", "cmd/host", "command lines are parsed in one place"},
	{"modernc.org/sqlite/...", "host/catalog", "the catalogue is the one database"},
	{"github.com/cockroachdb/pebble/...", "engine/state/disk", "what keeps state on disk stays exchangeable"},
	{"net/http/...", "host/api host/metrics host/client host cmd/host", "the engine speaks no HTTP"},
	{"math/rand/...", "internal/env internal/sim bench/...", "randomness comes from internal/env"},
	{"crypto/rand", "internal/env", "randomness comes from internal/env"},
	{"os/exec", "abi/toolchain bench/... cmd/host", "processes are started where a toolchain is driven"},
	{"unsafe", "engine/stream engine/decode engine/agg engine/wasm engine/window abi/guest sdk/go", "only where a benchmark asks for it"},
	{"reflect", "sdk/go", "no reflection outside YAML decoding; the SDK checks a plug-in's types once, at registration"},
	{"C", "", "no C compiler is needed"},
}

// outside are the packages that touch the machine directly; everybody else goes
// through internal/env.
const outside = "internal/env internal/sim internal/lint internal/wasmtest cmd/host bench/... abi/toolchain sdk/go plugins/* scripts/..."

// forbidden are the calls that outside's packages keep to themselves.
var forbidden = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"},
	"os": {"Open", "OpenFile", "OpenRoot", "OpenInRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "ReadDir", "Stat", "Lstat",
		"Mkdir", "MkdirAll", "MkdirTemp", "Remove", "RemoveAll", "Rename", "Link", "Symlink", "Truncate", "Chmod",
		"Getenv", "LookupEnv", "Environ", "Getwd", "Exit", "Stdin", "Stdout", "Stderr", "Args"},
	"path/filepath": {"Glob", "Walk", "WalkDir", "EvalSymlinks", "Abs"},
	"io/ioutil":     {"ReadFile", "WriteFile", "ReadDir", "TempFile", "TempDir"},
}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string

	TestImports, XTestImports []string
}

// own returns the path below the module, and whether it is ours at all.
func own(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// matches reports whether one of the patterns in list, which are parted by blanks,
// matches p.
func matches(list, p string) bool {
	for _, pattern := range strings.Fields(list) {
		if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
			if p == dir || strings.HasPrefix(p, dir+"/") {
				return true
			}
		} else if ok, err := path.Match(pattern, p); err != nil {
			panic("BUG: pattern " + pattern + ": " + err.Error())
		} else if ok {
			return true
		}
	}
	return false
}

// check returns what p does that the rules do not allow.
func check(p pkg) []string {
	name, ok := own(p.ImportPath)
	if !ok {
		return []string{fmt.Sprintf("%s is not of module %s", p.ImportPath, module)}
	}
	line := slices.IndexFunc(table, func(l struct{ pkg, may string }) bool { return matches(l.pkg, name) })
	if line < 0 {
		return []string{fmt.Sprintf("%s is not in the import table: add a line to internal/lint/imports_test.go that says what it may import", name)}
	}
	var out []string
	for _, imp := range p.Imports {
		if dep, ok := own(imp); ok {
			standsAlone := matches("sdk sdk/* plugins/*", name)
			if !matches(table[line].may, dep) && (standsAlone || !slices.Contains(bottom, dep)) {
				out = append(out, fmt.Sprintf("%s imports %s; it may import: %s", name, dep, orNothing(table[line].may)))
			}
		}
		for _, g := range gates {
			if matches(g.imports, imp) && !matches(g.only, name) {
				out = append(out, fmt.Sprintf("%s imports %s, which only these may: %s (%s)", name, imp, orNothing(g.only), g.why))
			}
		}
		if matches("sdk sdk/* plugins/*", name) && strings.Contains(strings.Split(imp, "/")[0], ".") {
			out = append(out, fmt.Sprintf("%s imports %s; SDK and plug-ins need no module but the SDK", name, imp))
		}
	}
	if matches(outside, name) {
		return out
	}
	for _, f := range p.GoFiles {
		calls, err := forbiddenCalls(filepath.Join(p.Dir, f))
		if err != nil {
			out = append(out, err.Error())
		}
		out = append(out, calls...)
	}
	return out
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// forbiddenCalls finds uses of the machine in a file that should go through
// internal/env.
func forbiddenCalls(file string) ([]string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // as the file calls the package -> its path
	for _, imp := range f.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return nil, err
		}
		name := path.Base(p)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if forbidden[p] != nil {
			names[name] = p
		}
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if ok && slices.Contains(forbidden[names[x.Name]], sel.Sel.Name) {
			out = append(out, fmt.Sprintf("%s: %s.%s: time, files and the process come from internal/env", fset.Position(sel.Pos()), x.Name, sel.Sel.Name))
		}
		return true
	})
	return out, nil
}

// list asks the go command for the packages of patterns, seen for the given target.
func list(t *testing.T, root string, target []string, patterns ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,Imports,TestImports,XTestImports"}, patterns...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), target...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v\n%s", patterns, err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(raw))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// watch looks at every Go file, so that go test, which remembers what a test looked at
// but not what its child processes did, runs this one again when one has changed.
func watch(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "out"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file that goes away meanwhile
		t.Fatal(err)
	}
}

func TestImportTable(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	watch(t, root)
	pkgs := list(t, root, nil, "./...")
	if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.ImportPath == module+"/engine" }) {
		t.Fatalf("go list did not find the engine below %s", root)
	}
	// The files of SDK and plug-ins that only a guest compiles obey the same rules.
	pkgs = append(pkgs, list(t, root, []string{"GOOS=wasip1", "GOARCH=wasm"}, "./sdk/...", "./plugins/...")...)
	seen := map[string]bool{}
	for _, p := range pkgs {
		for _, problem := range check(p) {
			if !seen[problem] {
				t.Error(strings.ReplaceAll(problem, root+string(filepath.Separator), ""))
			}
			seen[problem] = true
		}
	}
}

// TestRulesBite shows that each kind of rule can fail.
func TestRulesBite(t *testing.T) {
	clock := filepath.Join(t.TempDir(), "clock.go")
	if err := os.WriteFile(clock, []byte("package x\nimport tm \"time\"\nvar start = tm.Now()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		p    pkg
		want string // part of the only problem; empty: none
	}{
		{"the host may use the engine", pkg{ImportPath: "tidemark/host", Imports: []string{"tidemark/engine", "tidemark/host/api"}}, ""},
		{"the engine never imports the host", pkg{ImportPath: "tidemark/engine", Imports: []string{"tidemark/host"}}, "engine imports host"},
		{"the engine knows no guests", pkg{ImportPath: "tidemark/engine", Imports: []string{"tidemark/engine/wasm"}}, "engine imports engine/wasm"},
		{"steps do not import each other", pkg{ImportPath: "tidemark/engine/window", Imports: []string{"tidemark/engine/sink"}}, "engine/window imports engine/sink"},
		{"everybody may classify errors", pkg{ImportPath: "tidemark/engine/stream", Imports: []string{"tidemark/internal/fault"}}, ""},
		{"but a plug-in stands on the SDK alone", pkg{ImportPath: "tidemark/plugins/stats", Imports: []string{"tidemark/internal/fault"}}, "plugins/stats imports internal/fault"},
		{"and needs no other module", pkg{ImportPath: "tidemark/plugins/stats", Imports: []string{"example.org/x"}}, "need no module but the SDK"},
		{"a package without a line fails", pkg{ImportPath: "tidemark/util"}, "not in the import table"},
		{"the Wasm runtime has one door", pkg{ImportPath: "tidemark/engine/wasm", Imports: []string{"github.com/tetratelabs/wazero/api"}}, "only these may: abi/guest"},
		{"the engine speaks no HTTP", pkg{ImportPath: "tidemark/engine", Imports: []string{"net/http"}}, "only these may: host/api"},
		{"time comes from internal/env, under any name", pkg{ImportPath: "tidemark/engine", Dir: filepath.Dir(clock), GoFiles: []string{"clock.go"}}, "tm.Now: time, files"},
		{"internal/env is where it comes from", pkg{ImportPath: "tidemark/internal/env", Dir: filepath.Dir(clock), GoFiles: []string{"clock.go"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := check(c.p)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestEveryDependencyHasAReason compares the modules that our packages and tests
// import, and our tools, with the table in RATIONALE.md.
func TestEveryDependencyHasAReason(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	watch(t, root)
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The lines of go.mod that name a module: "path v1.2.3" and "tool path".
	modules, used := []string{}, map[string]bool{}
	for line := range strings.Lines(string(gomod)) {
		f := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(f) >= 2 && strings.HasPrefix(f[1], "v") {
			modules = append(modules, f[0])
		}
	}
	use := func(imp string) {
		longest := ""
		for _, m := range modules {
			if (imp == m || strings.HasPrefix(imp, m+"/")) && len(m) > len(longest) {
				longest = m
			}
		}
		if longest != "" {
			used[longest] = true
		}
	}
	for line := range strings.Lines(string(gomod)) {
		if tool, ok := strings.CutPrefix(line, "tool "); ok {
			use(strings.TrimSpace(tool))
		}
	}
	for _, p := range list(t, root, nil, "./...") {
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			use(imp)
		}
	}

	text, err := os.ReadFile(filepath.Join(root, "RATIONALE.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(cell, "`")
			named[name] = true
		}
	}
	for m := range used {
		if !named[m] {
			t.Errorf("%s is used, and no row of the table in RATIONALE.md says why", m)
		}
	}
	for m := range named {
		if !used[m] {
			t.Errorf("RATIONALE.md gives a reason for %s, which nothing uses", m)
		}
	}
}
