#!/bin/sh
# Makes the modules in internal/wasmtest/built anew: those of plugins/LANGUAGE/NAME.
# scripts/toolchains.sh tells which compilers they must come from.
set -eu
cd "$(dirname "$0")/.."
go build -o bin/tidemark ./cmd/host
for lang in c rust assemblyscript; do
	mkdir -p internal/wasmtest/built/$lang
	for dir in plugins/$lang/*/; do
		bin/tidemark plugin build "$dir" -o "internal/wasmtest/built/$lang/$(basename "$dir").wasm"
	done
done
