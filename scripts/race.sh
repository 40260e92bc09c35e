#!/bin/sh
# Runs the tests of the named packages under the race detector, which needs a C
# compiler; without one it says so and succeeds, so that the others can run.
set -eu
cc=$(go env CC)
if ! command -v "${cc%% *}" >/dev/null 2>&1; then
	echo "race detector: not run, no C compiler '$cc' was found"
	exit 0
fi
echo "race detector: $*"
# Of what is in C nothing is tested, and to optimise it takes half a minute.
CGO_ENABLED=1 CGO_CFLAGS=-O0 go test -race -vet=off -short "$@"
