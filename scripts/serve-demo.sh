#!/bin/sh
# The earthquakes job on a host: start it, make a tenant and a token, upload the
# plug-in, submit the job, read its results, stop. `make serve-demo` has built
# everything. The host listens on a free port of this machine and keeps its data in a
# directory that is gone afterwards.
set -eu
dir=$(mktemp -d)
host=
end() {
	if [ -n "$host" ]; then
		kill "$host" 2>/dev/null || true
		wait "$host" 2>/dev/null || true
	fi
	rm -rf "$dir"
}
trap end EXIT
trap 'exit 130' INT TERM

say() { echo; echo "\$ tidemark $*"; }
tidemark() { bin/tidemark "$@"; }

say "serve --data DIR --inputs configs"
bin/tidemark serve --data "$dir/data" --inputs configs --listen 127.0.0.1:0 2>"$dir/log" &
host=$!
tries=0
until address=$(sed -n 's/.*msg=listening address=\([^ ]*\).*/\1/p' "$dir/log") && [ -n "$address" ]; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ] || ! kill -0 "$host" 2>/dev/null; then
		echo "the host did not start:" >&2
		cat "$dir/log" >&2
		exit 1
	fi
	sleep 0.1
done
echo "listening on $address"

say "tenant create seismology --data DIR"
tidemark tenant create seismology --data "$dir/data"
say "token create seismology --data DIR"
TIDEMARK_TOKEN=$(tidemark token create seismology --data "$dir/data")
TIDEMARK_HOST=$address
export TIDEMARK_TOKEN TIDEMARK_HOST
echo "(256 random bits; the host keeps a hash)"

say "plugin push bin/plugins/stats.wasm"
tidemark plugin push bin/plugins/stats.wasm
say "job submit configs/quakes.yaml --id quakes"
tidemark job submit configs/quakes.yaml --id quakes >/dev/null
echo "accepted"
say "job get quakes --wait"
tidemark job get quakes --wait --timeout 60s
say "job results quakes"
tidemark job results quakes >"$dir/results.jsonl"
go run ./scripts/rows -n 5 "$dir/results.jsonl" | sed "s|$dir/||"
say "job results quakes --port late"
tidemark job results quakes --port late >"$dir/late.jsonl"
go run ./scripts/rows -n 3 "$dir/late.jsonl" | sed "s|$dir/||"
say "job list"
tidemark job list

echo
kill "$host"
if wait "$host"; then
	echo "host stopped"
	host=
else
	status=$?
	host=
	echo "the host ended with status $status:" >&2
	cat "$dir/log" >&2
	exit 1
fi
