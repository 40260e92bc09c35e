#!/bin/sh
# Runs every fuzz target of the module for a bounded time ($1, default 5s), one
# after the other. What fails is kept under the package's testdata/fuzz, as by go test,
# which would link the same test again for each target of a package.
set -eu
time=${1:-5s}
cd "$(dirname "$0")/.."
found=$(go env GOCACHE)/fuzz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
	go test -vet=off -c -fuzz . -o "$work/test" "$dir"
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$dir"/*_test.go | sort -u | while read -r target; do
		echo "fuzz $dir $target for $time"
		# Making new inputs smaller would take most of so short a time.
		if (cd "$dir" && "$work/test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzminimizetime 100x \
			-test.fuzzcachedir "$found/$(go list)") </dev/null >"$work/report" 2>&1; then
			tail -n 2 "$work/report" | head -n 1
			continue
		fi
		# Go 1.26 may take the end of the time for an error of the target (golang.org/issue/75804).
		if grep -q '^ *context deadline exceeded$' "$work/report" && ! grep -q 'Failing input' "$work/report"; then
			echo "ended at its time, no input failed"
			continue
		fi
		cat "$work/report"
		exit 1
	done
done
