#!/bin/sh
# Runs the earthquakes job and shows what came out. `make demo` has built everything.
set -eu
out=configs/out/quakes
echo "A week of earthquakes by network, in windows of six hours: a count, statistics by a plug-in"
echo "that was written in Go and compiled to WebAssembly, and a sum. Records arrive up to days late."
echo
echo "\$ bin/tidemark run configs/quakes.yaml"
bin/tidemark run configs/quakes.yaml
echo
echo "Results (on_time: a window fires for the first time; update: a late record has corrected it):"
go run ./scripts/rows -n 8 $out/results.jsonl
echo
echo "One window that late records have corrected again and again; the latest revision counts:"
go run ./scripts/rows -n 6 -most-revised $out/results.jsonl
echo
echo "Late: these came after their window's allowed lateness. None is lost, each is in the late output:"
go run ./scripts/rows -n 5 $out/late.jsonl
echo
echo "Bad: records that could not be read or have an impossible time:"
go run ./scripts/rows -n 5 $out/quakes.bad.jsonl
