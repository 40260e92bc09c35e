package toolchain

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tidemark/internal/fault"
)

// The first versions that were tried: of node, and of the compiler asc, whose minor
// versions change the language.
const (
	minNode = 20
	minAsc  = 28 // 0.28
)

const installAsc = "install it once: npm install in the project, or npm install --global assemblyscript@0.28.20"

// asc is the compiler of AssemblyScript, a program for node.
type asc struct {
	node, script string
	release      string // such as 0.28.20
}

// findAsc looks for the compiler in node_modules of the project or of a directory above
// it, as node does, then the same way from the SDK, and then in the PATH.
func findAsc(ctx context.Context, dir string) (asc, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return asc{}, fault.Userf("no node in the PATH: building a plug-in in AssemblyScript needs Node.js %d or newer, from https://nodejs.org, and the package assemblyscript; %s", minNode, installAsc)
	}
	version, err := ask(ctx, dir, node, "--version")
	if err != nil {
		return asc{}, err
	}
	if n := major(strings.TrimPrefix(version, "v")); n < minNode {
		return asc{}, fault.Userf("Node.js %d or newer is needed to build a plug-in in AssemblyScript, %s says that its version is %q; newer ones are at https://nodejs.org", minNode, node, version)
	}
	script, err := ascScript(dir)
	if err != nil {
		return asc{}, err
	}
	said, err := ask(ctx, dir, node, script, "--version")
	if err != nil {
		return asc{}, err
	}
	release := strings.TrimPrefix(said, "Version ")
	first, rest, _ := strings.Cut(release, ".")
	if minor := major(rest); first != "0" || minor < minAsc {
		return asc{}, fault.Userf("AssemblyScript 0.%d or newer is needed to build a plug-in, %s says that its version is %q; %s", minAsc, script, said, installAsc)
	}
	return asc{node, script, release}, nil
}

// ascScript gives the file of the compiler.
func ascScript(dir string) (string, error) {
	for _, from := range []string{dir, sdkOf(dir)} {
		at, err := filepath.Abs(from)
		if err != nil {
			return "", fault.Externalf("directory %s: %w", from, err)
		}
		for above := ""; at != above; at, above = filepath.Dir(at), at {
			script := filepath.Join(at, "node_modules", "assemblyscript", "bin", "asc.js")
			if _, err := os.Stat(script); err == nil {
				return script, nil
			}
		}
	}
	found, err := exec.LookPath("asc")
	if err != nil {
		return "", fault.Userf("no AssemblyScript compiler: it is neither in node_modules of %s nor in the PATH; %s", dir, installAsc)
	}
	script, err := filepath.EvalSymlinks(found) // npm links to the script
	if err != nil {
		return "", fault.Externalf("program %s: %w", found, err)
	}
	return script, nil
}

// sdkOf gives the directory of the settings that a project's asconfig.json extends: the
// SDK's. What is wrong with that file asc says; then it is the project itself.
func sdkOf(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "asconfig.json"))
	if err != nil {
		return dir
	}
	var config struct{ Extends string }
	if json.Unmarshal(text, &config) != nil {
		return dir
	}
	return filepath.Join(dir, filepath.Dir(filepath.FromSlash(config.Extends)))
}

// compileAssemblyScript calls asc as the project's asconfig.json says, which names the
// SDK's. Neither paths nor names of functions go into the module.
func compileAssemblyScript(ctx context.Context, dir, work string) ([]byte, error) {
	tool, err := findAsc(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(work, "plugin.wasm")
	if err := compile(ctx, dir, []string{"NODE_OPTIONS="}, tool.node, tool.script, "--target", "release", "--noColors", "--outFile", out); err != nil {
		return nil, err
	}
	module, err := os.ReadFile(out)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) { // asc without entries writes its help
			return nil, fault.Userf("build %s: asc made no module: asconfig.json must name entries and extend the SDK's asconfig.json", dir)
		}
		return nil, fault.Externalf("read the module: %w", err)
	}
	return module, nil
}
