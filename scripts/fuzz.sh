#!/bin/sh
# Runs every fuzz target of the module for a bounded time ($1, default 5s), one
# after the other. What fails is kept by go test under the package's testdata/fuzz.
set -eu
time=${1:-5s}
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$dir"/*_test.go | sort -u | while read -r target; do
		echo "fuzz $dir $target for $time"
		go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" </dev/null
	done
done
