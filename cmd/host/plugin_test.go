package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tidemark/abi/binary"
	"tidemark/internal/wasmtest"
)

// pluginCommand runs a command of `tidemark plugin`.
func pluginCommand(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetErr(&errs)
	code = execute(context.Background(), root, append([]string{"plugin"}, args...), &errs)
	return code, out.String(), errs.String()
}

func TestPluginMistakes(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.wasm")
	if err := os.WriteFile(text, []byte("count,sum\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"an unknown command", []string{"bild"}, `has no command "bild"`},
		{"new without a language", []string{"new", "x"}, "say the language with --lang; there is an SDK for assemblyscript, c, go, rust"},
		{"new in an unknown language", []string{"new", "--lang", "cobol", "x"}, "there is one for assemblyscript, c, go, rust"},
		{"new without a name", []string{"new", "--lang", "go"}, "wants the name of the plug-in"},
		{"new with a bad name", []string{"new", "--lang", "go", filepath.Join(dir, "X")}, `name "X"`},
		{"new where there is something", []string{"new", "--lang", "go", text}, "text.wasm"},
		{"build of nothing", []string{"build", filepath.Join(dir, "none")}, "does not exist"},
		{"build of two things", []string{"build", dir, dir}, "takes one directory, got 2"},
		{"inspect of nothing", []string{"inspect", filepath.Join(dir, "none.wasm")}, "no such file"},
		{"inspect of a text", []string{"inspect", text}, "not a WebAssembly file"},
		{"inspect in an unknown form", []string{"inspect", "-o", "xml", text}, "-o must be table or json"},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := pluginCommand(row.args...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, row.want) {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and %q", code, stdout, stderr, exitUsage, row.want)
			}
		})
	}
}

func TestCompilerErrorsAreOneProblem(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module broken\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() { a(); b() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, _, stderr := pluginCommand("build", dir)
	if code != exitUsage || !strings.HasPrefix(stderr, "tidemark: plugin build: build "+dir+": ") ||
		!strings.Contains(stderr, "main.go:3:15: undefined: a\n") || !strings.HasSuffix(stderr, "main.go:3:20: undefined: b\n") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

// emptyModule is the smallest module: magic and version.
const emptyModule = "\x00asm\x01\x00\x00\x00"

func TestInspectShowsAnyModule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.wasm")
	if err := os.WriteFile(file, []byte(emptyModule), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := pluginCommand("inspect", file)
	if code != exitFine || stderr != "" {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	for _, want := range []string{
		"plug-in      no, a host would refuse it: 5 problems\n", "build it with tidemark plugin build",
		// printf '\0asm\1\0\0\0' | sha256sum
		"digest       sha256:93a44bbb96c751218e4c00d479e4c14358122a389acca16205b1e4d0dc5f9476",
		"size         8 bytes",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
}

func TestInspectShowsAManifest(t *testing.T) {
	manifest := `{"name":"top","version":"2.1","sdk":"hand","aggregate":{"inputs":[{"name":"v","type":"float64","nullable":true}],
		"outputs":[{"name":"best","type":"string"}],"params":[{"name":"k","type":"int64","default":3},{"name":"sep","type":"string","required":true}],
		"accumulator":{"width":0,"schema":4},"order_insensitive":true,"exact":true}}`
	file := filepath.Join(t.TempDir(), "top.wasm")
	if err := os.WriteFile(file, binary.WithManifest([]byte(emptyModule), []byte(manifest)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := pluginCommand("inspect", file)
	for _, want := range []string{
		"name         top 2.1", "ABI          version 1", "SDK          hand", "inputs       v float64 (nullable)",
		"outputs      best string", "params       k int64 = 3", "sep string (required)",
		"accumulator  varies in size, schema 4", "order        does not matter", "merging      exact", `custom "tidemark"`,
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
	_, stdout, _ = pluginCommand("inspect", "-o", "json", file)
	var v moduleView
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatal(err)
	}
	if v.Plugin || len(v.Problems) == 0 || *v.ABI != 1 || v.Name != "top" || v.Aggregate.Params[0].Default != 3.0 || v.Aggregate.Schema != 4 {
		t.Errorf("got %s", stdout)
	}
}

// The standard plug-ins with a past, and one without.
func TestInspectShowsUpgrades(t *testing.T) {
	for _, c := range []struct {
		plugin string
		lines  string
		want   []upgradeView
	}{
		{"mean", "upgrades     from schema 1, accumulators of 16 bytes\n             from schema 2, accumulators of 24 bytes\n", []upgradeView{{1, 16}, {2, 24}}},
		{"history", "upgrades     from schema 1\n", []upgradeView{{1, 0}}},
		{"visits", "schema 2\nupgrades     from schema 1\n", []upgradeView{{1, 0}}},
		{"every", "upgrades     from schema 1\n", []upgradeView{{1, 0}}},
		{"sparse", "upgrades     from schema 1\n", []upgradeView{{1, 0}}},
		{"stats", "", nil},
	} {
		file := filepath.Join(t.TempDir(), "p.wasm")
		if err := os.WriteFile(file, wasmtest.Built(t, "c", c.plugin), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stdout, _ := pluginCommand("inspect", file)
		if !strings.Contains(stdout, c.lines) || strings.Contains(stdout, "upgrades ") != (c.want != nil) {
			t.Errorf("%s:\n%s\nwant %q", c.plugin, stdout, c.lines)
		}
		_, stdout, _ = pluginCommand("inspect", "-o", "json", file)
		var v moduleView
		if err := json.Unmarshal([]byte(stdout), &v); err != nil {
			t.Fatal(err)
		}
		if !v.Plugin || !reflect.DeepEqual(v.Upgrades, c.want) {
			t.Errorf("%s: %+v, want %+v", c.plugin, v.Upgrades, c.want)
		}
	}
}

func TestInspectNamesLargeFunctions(t *testing.T) {
	dir := t.TempDir()
	inspect := func(name string, edits ...string) (table string, v moduleView) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, wasmtest.Guest(t, "sum", edits...), 0o600); err != nil {
			t.Fatal(err)
		}
		code, table, stderr := pluginCommand("inspect", file)
		_, out, _ := pluginCommand("inspect", "-o", "json", file)
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitFine {
			t.Fatalf("exit code %d, %s, %v", code, stderr, err)
		}
		return table, v
	}
	// A function without locals has 3 bytes beside these.
	table, v := inspect("small.wasm", "memory 3", "memory 3\nfunc edge\n "+strings.Repeat("block end ", 1_364)+"\n")
	if strings.Contains(table, "\nlarge ") || v.Shape.LargeCount != 0 || v.Shape.Bytes != 4_094 || v.Shape.Blocks != 1_364 {
		t.Errorf("%+v\n%s", v.Shape, table)
	}
	table, v = inspect("large.wasm", "memory 3", "memory 3\nfunc big\n "+strings.Repeat("block end ", 1_365)+"\nfunc bigger\n "+strings.Repeat("block end ", 1_400)+"\n")
	if v.Shape.LargeCount != 2 || v.Shape.Large[0].Name != "bigger" || v.Shape.Large[1].Name != "big" || v.Shape.Large[1].Bytes != 4_097 ||
		!strings.Contains(table, "large        2 functions of more than 4,096 bytes of code, which a JVM does not compile but interprets\n             - 4,202 bytes: function 3, bigger\n") {
		t.Errorf("%+v\n%s", v.Shape, table)
	}
}

func TestInspectShowsAProcessFunction(t *testing.T) {
	manifest := `{"name":"top","version":"2.1","process":{"inputs":[{"name":"v","type":"float64"}],"left":[{"name":"l","type":"bool"}],"right":[],
		"outputs":[{"name":"best","type":"string"}],"side":[{"name":"rest","outputs":[{"name":"n","type":"int64"}]}],"state":{"key":true,"window":true,"schema":4}}}`
	file := filepath.Join(t.TempDir(), "top.wasm")
	if err := os.WriteFile(file, binary.WithManifest([]byte(emptyModule), []byte(manifest)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := pluginCommand("inspect", file)
	for _, want := range []string{
		"does not export the function tm_process (i32) -> i32", "inputs       v float64", "left         l bool", "right        their number and times",
		"outputs      best string", "side rest    n int64", "state        of each key and of each window, schema 4",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
	_, stdout, _ = pluginCommand("inspect", "-o", "json", file)
	var v moduleView
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatal(err)
	}
	if p := v.Process; v.Aggregate != nil || p == nil || p.Records != nil || len(*p.Left) != 1 || len(*p.Right) != 0 || p.Side[0].Name != "rest" || p.Schema != 4 {
		t.Errorf("got %s", stdout)
	}
}

func TestInspectShowsAPairFunction(t *testing.T) {
	manifest := `{"name":"top","version":"2.1","pair":{"left":[{"name":"l","type":"bool"}],"right":[{"name":"r","type":"int64"}],"outputs":[{"name":"best","type":"string"}]}}`
	file := filepath.Join(t.TempDir(), "top.wasm")
	if err := os.WriteFile(file, binary.WithManifest([]byte(emptyModule), []byte(manifest)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := pluginCommand("inspect", file)
	for _, want := range []string{"does not export the function tm_pair (i32) -> i32", "left         l bool", "right        r int64", "outputs      best string"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
}

func TestInspectShowsWhatCannotBeMetered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sum.wasm")
	module := bytes.Replace(wasmtest.Guest(t, "sum"), []byte{0x24, 0}, []byte{0x24, 1}, 1) // global.set of what does not exist
	if err := os.WriteFile(file, module, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := pluginCommand("inspect", file)
	if code != exitFine || strings.Contains(stdout, "plug-in      yes") || !strings.Contains(stdout, "global 1, and there are 1") {
		t.Errorf("exit %d:\n%s", code, stdout)
	}
}

func TestInspectShowsATrigger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "top.wasm")
	for _, c := range []struct {
		more string
		want []string
	}{
		{`,"state":{"schema":4},"merges":true`, []string{"with state of each window, schema 4", "purges       never", "sessions     merge\n"}},
		{`,"may_purge":true`, []string{"fires        without state", "purges       perhaps: windows do not share their parts", "sessions     no: it cannot merge"}},
	} {
		manifest := `{"name":"top","version":"2.1","trigger":{"inputs":[{"name":"v","type":"bool"}]` + c.more + `}}`
		if err := os.WriteFile(file, binary.WithManifest([]byte(emptyModule), []byte(manifest)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stdout, _ := pluginCommand("inspect", file)
		for _, want := range append(c.want, "does not export the function tm_trigger (i32) -> i32", "inputs       v bool") {
			if !strings.Contains(stdout, want) {
				t.Errorf("it does not say %q:\n%s", want, stdout)
			}
		}
	}
}

func TestInspectShowsAWindowAssigner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "top.wasm")
	for more, says := range map[string]string{`,"merges":true`: "windows      merge", ``: "windows      stay apart"} {
		manifest := `{"name":"top","version":"2.1","assigner":{"inputs":[{"name":"v","type":"bool"}],"params":[{"name":"n","type":"int64"}]` + more + `}}`
		if err := os.WriteFile(file, binary.WithManifest([]byte(emptyModule), []byte(manifest)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stdout, _ := pluginCommand("inspect", file)
		for _, want := range []string{says, "does not export the function tm_assign (i32) -> i32", "inputs       v bool", "params       n int64"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("it does not say %q:\n%s", want, stdout)
			}
		}
	}
}

func TestPluginFromNewToInspect(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	if code, stdout, stderr := pluginCommand("new", "--lang", "go", dir); code != exitFine || stdout != "" || !strings.Contains(stderr, "made "+dir) {
		t.Fatalf("new: exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	code, stdout, stderr := pluginCommand("build", dir)
	file := filepath.Join(dir, "mine.wasm")
	if code != exitFine || stderr != "" || !strings.HasPrefix(stdout, file+": mine 0.1.0, ") || !strings.Contains(stdout, "\nsha256:") {
		t.Fatalf("build: exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	_, shown, _ := pluginCommand("inspect", file)
	digest := stdout[strings.Index(stdout, "sha256:"):]
	if !strings.Contains(shown, "plug-in      yes") || !strings.Contains(shown, strings.TrimSpace(digest)) {
		t.Errorf("inspect: %s, want digest %s", shown, digest)
	}

	under := filepath.Join(file, "under", "mine.wasm")
	if code, _, stderr := pluginCommand("build", dir, "-o", under); code != exitUsage || !strings.Contains(stderr, under) {
		t.Errorf("build to a path under a file: exit %d, stderr %q", code, stderr)
	}
}
