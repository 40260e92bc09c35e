package toolchain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/fault"
)

const (
	// wasmTarget is the one whose modules import nothing that they do not ask for.
	wasmTarget = "wasm32-unknown-unknown"
	// wasmFeatures are of what abi/SPEC.md allows beyond the first WebAssembly: newer
	// compilers use them unasked. Copies become one instruction in place of a loop.
	wasmFeatures = "+bulk-memory,+sign-ext,+nontrapping-fptoint"
	// minRust is the first version, 1.63, that the SDK compiles with.
	minRust = 63
)

// rust is a Rust toolchain that can make modules.
type rust struct {
	cargo, compiler string
	release         string // such as 1.63.0
	linker          string // empty: the toolchain brings its own
}

// findRust looks for a toolchain with the standard library for WebAssembly: the one in
// the PATH, which rustup chooses in dir, then the system's.
func findRust(ctx context.Context, dir string) (rust, error) {
	var places []string
	if first, err := exec.LookPath("rustc"); err == nil {
		places = append(places, filepath.Dir(first))
	}
	if !slices.Contains(places, systemBin) {
		places = append(places, systemBin)
	}
	return firstRust(ctx, dir, places)
}

// systemBin is where distributions put their own toolchain.
const systemBin = "/usr/bin"

// firstRust takes the first of some directories with a toolchain that will do.
func firstRust(ctx context.Context, dir string, places []string) (rust, error) {
	var problems []string
	for _, place := range places {
		r := rust{cargo: filepath.Join(place, "cargo"), compiler: filepath.Join(place, "rustc")}
		if _, err := os.Stat(r.compiler); err != nil {
			continue
		}
		problem, err := r.check(ctx, dir)
		switch {
		case ctx.Err() != nil:
			return rust{}, fmt.Errorf("look for a Rust toolchain: %w", ctx.Err())
		case err != nil: // rustup without a toolchain, for one
			problem = "does not work: " + err.Error()
		case problem == "":
			return r, nil
		}
		problems = append(problems, "; "+r.compiler+" "+problem)
	}
	return rust{}, fault.Userf("no Rust toolchain for WebAssembly: building a plug-in needs rustc 1.%d or newer, cargo beside it and the target %s%s; "+
		"install it once: rustup target add %s, or on Debian: apt install rustc cargo libstd-rust-dev-wasm32 lld-14", minRust, wasmTarget, strings.Join(problems, ""), wasmTarget)
}

// check says what the toolchain lacks; empty: nothing.
func (r *rust) check(ctx context.Context, dir string) (problem string, err error) {
	about, err := ask(ctx, dir, r.compiler, "-vV")
	if err != nil {
		return "", err
	}
	facts := map[string]string{}
	for line := range strings.Lines(about) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			facts[name] = value
		}
	}
	if r.release = facts["release"]; !rustIsNew(r.release) {
		return fmt.Sprintf("is of version %q", r.release), nil
	}
	if _, err := os.Stat(r.cargo); err != nil {
		return "has no cargo beside it", nil
	}
	sysroot, err := ask(ctx, dir, r.compiler, "--print", "sysroot")
	if err != nil {
		return "", err
	}
	libs := filepath.Join(sysroot, "lib", "rustlib")
	if found, err := filepath.Glob(filepath.Join(libs, wasmTarget, "lib", "libstd-*.rlib")); err != nil || len(found) == 0 {
		return "has not the target", nil
	}
	if _, err := os.Stat(filepath.Join(libs, facts["host"], "bin", "rust-lld")); err == nil {
		return "", nil
	}
	// A distribution's toolchain uses a linker of the LLVM that it was built with;
	// others refuse its libraries.
	llvm, _, _ := strings.Cut(facts["LLVM version"], ".")
	if r.linker, err = exec.LookPath("wasm-ld-" + llvm); err != nil {
		return fmt.Sprintf("needs the linker wasm-ld-%s (apt install lld-%s)", llvm, llvm), nil
	}
	return "", nil
}

// rustIsNew judges a release such as "1.63.0" or "1.97.0-nightly".
func rustIsNew(release string) bool {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 3 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err == nil && err2 == nil && (major > 1 || major == 1 && minor >= minRust)
}

// compileRust calls cargo.
func compileRust(ctx context.Context, dir, work string) ([]byte, error) {
	tools, err := findRust(ctx, dir)
	if err != nil {
		return nil, err
	}
	flags, err := tools.remaps(ctx, dir)
	if err != nil {
		return nil, err
	}
	flags = append(flags, "-Ctarget-feature="+wasmFeatures)
	environ := []string{
		"RUSTC=" + tools.compiler, "CARGO_TARGET_DIR=" + work, "CARGO_ENCODED_RUSTFLAGS=" + strings.Join(flags, "\x1f"),
		"CARGO_PROFILE_RELEASE_OPT_LEVEL=3", "CARGO_PROFILE_RELEASE_LTO=fat", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1",
		"CARGO_PROFILE_RELEASE_PANIC=abort", "CARGO_PROFILE_RELEASE_STRIP=symbols", "CARGO_PROFILE_RELEASE_DEBUG=false",
		"CARGO_INCREMENTAL=0", "CARGO_TERM_COLOR=never",
	}
	if tools.linker != "" {
		environ = append(environ, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="+tools.linker)
	}
	if err := compile(ctx, dir, environ, tools.cargo, "build", "--quiet", "--lib", "--release", "--target", wasmTarget); err != nil {
		return nil, err
	}
	out, err := filepath.Glob(filepath.Join(work, wasmTarget, "release", "*.wasm"))
	if err != nil {
		return nil, fault.Externalf("find the module: %w", err)
	}
	if len(out) != 1 {
		return nil, fault.Userf("build %s: cargo made %d modules, it must make one: Cargo.toml needs the lines\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]", dir, len(out))
	}
	module, err := os.ReadFile(out[0])
	if err != nil {
		return nil, fault.Externalf("read the module: %w", err)
	}
	return module, nil
}

// cargoPackage is what `cargo metadata` tells of a package.
type cargoPackage struct {
	Name         string
	ManifestPath string `json:"manifest_path"`
}

// remaps gives the flags that keep paths of this machine out of the module: panics name
// files by their paths. A package that lies on this machine, the project itself among
// them, becomes its name; what cargo has fetched stands below "cargo".
func (r *rust) remaps(ctx context.Context, dir string) ([]string, error) {
	text, err := ask(ctx, dir, r.cargo, "metadata", "--format-version", "1")
	if err != nil {
		return nil, err
	}
	var found struct{ Packages []cargoPackage }
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fault.Userf("%s metadata: %w", r.cargo, err)
	}
	// The last that fits counts: a package inside of another one stands behind it.
	slices.SortFunc(found.Packages, func(a, b cargoPackage) int { return cmp.Compare(len(a.ManifestPath), len(b.ManifestPath)) })
	var flags []string
	if home := cargoHome(); home != "" {
		flags = append(flags, "--remap-path-prefix="+home+"=cargo")
	}
	for _, p := range found.Packages {
		flags = append(flags, "--remap-path-prefix="+filepath.Dir(p.ManifestPath)+"="+p.Name)
	}
	return flags, nil
}

// cargoHome is where the sources of dependencies lie; empty: not known.
func cargoHome() string {
	if home := os.Getenv("CARGO_HOME"); home != "" {
		return home
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cargo")
}
