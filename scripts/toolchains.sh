#!/bin/sh
# The tests of the SDKs in C, Rust and AssemblyScript, which need other compilers than
# Go's: the SDKs' own and those of the example plug-ins, natively; then new projects,
# what authors get wrong, and whether the modules in internal/wasmtest/built are those
# of their sources. Installs from Debian what is missing, as root; elsewhere it says
# what that is. AssemblyScript comes with npm, into sdk/assemblyscript/node_modules.
set -eu
cd "$(dirname "$0")/.."

packages=
need() { # COMMAND OR FILE, PACKAGE
	command -v "$1" >/dev/null || [ -e "$1" ] || packages="$packages $2"
}
need cc "gcc libc6-dev"
need clang-19 clang-19
need wasm-ld-19 lld-19
need /usr/bin/rustc rustc
need /usr/bin/cargo cargo
need /usr/lib/rustlib/wasm32-unknown-unknown libstd-rust-dev-wasm32
need wasm-ld-14 lld-14 # of the LLVM that Debian's rustc was built with

install() {
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
}
if [ -n "$packages" ]; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "toolchains: missing:$packages (names of Debian's packages); install them, or run this as root on Debian" >&2
		exit 1
	fi
	echo "toolchains: installing$packages"
	install || install || { # a mirror that fails once may be back
		echo "toolchains: apt-get could not install$packages" >&2
		exit 1
	}
fi

if ! command -v npm >/dev/null || ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
	echo "toolchains: AssemblyScript needs Node.js 20 or newer with npm: https://nodejs.org" >&2
	exit 1
fi
fetch() {
	npm ci --prefix sdk/assemblyscript --no-audit --no-fund --loglevel=error
}
if ! cmp -s sdk/assemblyscript/package-lock.json sdk/assemblyscript/node_modules/.lock; then
	echo "toolchains: installing AssemblyScript"
	fetch || fetch || fetch || { # as above
		echo "toolchains: npm could not install what sdk/assemblyscript/package-lock.json names" >&2
		exit 1
	}
	cp sdk/assemblyscript/package-lock.json sdk/assemblyscript/node_modules/.lock
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "toolchains: C"
flags="-std=c11 -O1 -g -Wall -Wextra -Wpedantic -Werror -fsanitize=address,undefined -fno-sanitize-recover=all -Isdk/c"
cc $flags -o "$work/sdk" sdk/c/*.c
"$work/sdk"
mkdir "$work/c" # the SDK's own part, once for all plug-ins
for file in $(ls sdk/c/*.c | grep -v _test); do
	cc $flags -c -o "$work/c/$(basename "$file" .c).o" "$file"
done
for dir in plugins/c/*/; do
	cc $flags -o "$work/plugin" "$dir"*.c "$work"/c/*.o
	"$work/plugin"
done

echo "toolchains: Rust"
mkdir "$work/bin" # Debian's, the oldest that the SDK compiles with, before a newer one
ln -s /usr/bin/rustc /usr/bin/rustdoc /usr/bin/cargo "$work/bin"
PATH=$work/bin:$PATH
export PATH
CARGO_TARGET_DIR="$work/target" RUSTFLAGS="-D warnings" cargo test --quiet --workspace

echo "toolchains: AssemblyScript"
for dir in sdk/assemblyscript plugins/assemblyscript; do
	(cd $dir && node --test --test-reporter=tap) >"$work/report" || {
		cat "$work/report" >&2
		exit 1
	}
	sed -n 's/^# \(tests\|pass\|fail\) /&/p' "$work/report"
done

echo "toolchains: conformance"
go build -o "$work/tidemark" ./cmd/host
for lang in c rust assemblyscript; do
	"$work/tidemark" plugin conformance internal/wasmtest/built/$lang
done

# Side by side, since compilers use one processor most of the time.
echo "toolchains: modules"
go test -vet=off -tags toolchains -run 'InGo|EveryLanguage|Committed' ./abi/conformance ./abi/toolchain
