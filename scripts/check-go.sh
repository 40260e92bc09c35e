#!/bin/sh
# Says what is missing when there is no Go toolchain of at least the version that
# go.mod asks for. Prints nothing when all is well.
need=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' go.mod)
want="Tidemark needs Go $need or newer: https://go.dev/dl/"
if ! command -v go >/dev/null 2>&1; then
	echo "No 'go' command was found in PATH. $want" >&2
	exit 1
fi
if ! line=$(go version 2>&1); then
	echo "'go version' failed: $line" >&2
	echo "$want" >&2
	exit 1
fi
found=$(printf '%s\n' "$line" | sed -n 's/^go version.* go\([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p')
if [ -z "$found" ]; then
	echo "'go version' says \"$line\", from which no version can be read. $want" >&2
	exit 1
fi
if [ "${found%%.*}" -lt "${need%%.*}" ] ||
	{ [ "${found%%.*}" -eq "${need%%.*}" ] && [ "${found#*.}" -lt "${need#*.}" ]; }; then
	echo "Found Go $found ($(command -v go), GOTOOLCHAIN=$(go env GOTOOLCHAIN 2>/dev/null)). $want" >&2
	exit 1
fi
