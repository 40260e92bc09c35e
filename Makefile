# Only Go, git and make are needed; modules come over the network.
# Recipes are short: what is longer than a few lines is a script or a Go program.

.DEFAULT_GOAL := help
SHELL := /bin/sh

TIDEMARK := bin/tidemark
GUESTS   := bin/plugins/stats.wasm bin/plugins/distinct.wasm bin/plugins/top_k.wasm bin/plugins/alerts.wasm bin/plugins/unpaid.wasm bin/plugins/sessionise.wasm bin/plugins/own_gap.wasm

# Packages whose goroutines meet: the race detector runs over these. What is left out measures
# how much state is held and written, in make test; it would be half of the time here, and the
# same goroutines meet in the jobs that are cut off.
RACE      := -skip 'TestAJobWithItsStateOnDisk|TestAJoinWithItsStateOnDisk|TestARestoreHoldsAKeyGroupAtATime|TestACheckpointWritesWhatHasChanged' ./engine ./engine/checkpoint/s3 ./engine/exchange ./engine/source ./engine/state ./abi/guest ./host/... ./internal/env/... ./internal/sim/... ./internal/wasmtest
# In engine/wasm they meet over modules, images and turns; the rest of it takes minutes.
RACE_WASM := -run 'Plugins|Image|Fuel|Turn|Observe' ./engine/wasm

# Tests make much garbage beside little that stays: collecting it less often saves a
# quarter of their CPU time. What measures (bench, soak) runs with the default.
test test-all long race toolchains hostile sim fuzz: export GOGC ?= 400

# The host is Go alone. Where there is a C compiler, its dependencies would otherwise be
# compiled with their parts in C, which takes longer and makes another binary than elsewhere.
export CGO_ENABLED := 0

# make check vets everything, tests too, and once is enough: vet reads all dependencies
# again for every set of flags that they are compiled with.
GOTEST := go test -vet=off

.PHONY: help go-version build guests demo serve-demo test test-all check long race toolchains hostile sim kill bench soak fuzz clean

help: ## list the targets
	@echo "Tidemark: windows over event time, with your functions as WebAssembly plug-ins."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

go-version:
	@sh scripts/check-go.sh

build: go-version ## build the host: bin/tidemark
	@go build -o $(TIDEMARK) ./cmd/host

guests: $(GUESTS) ## build the plug-ins in plugins/ to bin/plugins/*.wasm

.SECONDEXPANSION:
bin/plugins/%.wasm: $$(wildcard plugins/$$*/*.go) $(wildcard sdk/go/*.go) | build
	@mkdir -p bin/plugins
	@$(TIDEMARK) plugin build plugins/$* -o $@

demo: build guests ## run a job with a Wasm plug-in over real earthquakes: results, late, bad, ledger
	@sh scripts/demo.sh

serve-demo: build guests ## the same job on a host: tenant, token, upload, submit, read, stop
	@sh scripts/serve-demo.sh

test: go-version ## what you run before a commit: every package, fewer of its random tests (Go only, under 3 minutes)
	@$(GOTEST) -short ./...

test-all: check long race toolchains hostile sim fuzz ## everything: checks, race detector, other languages, fuzzing, kills; CI runs it after test
	@$(MAKE) --no-print-directory kill KILLS=10

check: go-version ## format, vet, staticcheck, import table, go.mod
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted by gofmt:"; echo "$$bad"; exit 1; fi
	@go vet ./...
	@go vet -tags toolchains ./abi/toolchain ./abi/conformance
	@go vet -tags hostile,kill ./cmd/host
	@GOOS=wasip1 GOARCH=wasm go vet -trimpath -unsafeptr=false ./sdk/... ./plugins/...
	@go tool staticcheck ./...
	@$(GOTEST) ./internal/lint
	@go mod tidy -diff

long: go-version ## more of the random tests of which make test makes some
	@$(GOTEST) ./bench ./engine/window ./engine/harness

race: go-version ## tests of packages whose goroutines meet, under the race detector, where a C compiler is found
	@sh scripts/race.sh $(RACE)
	@sh scripts/race.sh $(RACE_WASM)

toolchains: go-version ## tests of the SDKs in C, Rust and AssemblyScript; installs their compilers where they are missing
	@sh scripts/toolchains.sh

hostile: go-version ## modules that mean harm against a host, with a neighbour beside each: two minutes
	@$(GOTEST) -tags hostile -timeout 20m -run TestHostileModules ./cmd/host

# Without SEED, seeds that nobody has tried; the one that fails is named.
RUNS ?= $(if $(SEED),1,200)
sim: go-version ## whole jobs on a disk that fails, fills up and loses power, in virtual time (SEED=n repeats one, RUNS=n)
	@$(GOTEST) -count=1 -timeout 30m -run '^TestSim' ./engine -args -seed $(or $(SEED),$$(date +%s)) -runs $(RUNS)

KILLS ?= 200
kill: go-version ## kill -9 jobs at random moments, 200 times in five minutes: nothing may change (KILLS=200 SEED=n JOB=name)
	@KILLS=$(KILLS) SEED=$(SEED) JOB=$(JOB) $(GOTEST) -tags kill -count=1 -timeout 30m -run TestAKillChangesNothing -v ./cmd/host

bench: build guests ## CPU time and memory against plain loops, into README.md; of one workload: make bench WORKLOAD=W3
	@go run ./bench $(if $(WORKLOAD),$(WORKLOAD),-page README.md)

SOAK ?= 30m
soak: build ## the memory of a job with every kind of window on an endless stream; Linux (SOAK=30m)
	@go run ./bench soak -for $(SOAK)

FUZZTIME ?= 2s
fuzz: go-version ## a short run of every fuzz target (FUZZTIME=2s each)
	@sh scripts/fuzz.sh $(FUZZTIME)

clean: ## remove what was built
	@rm -rf bin out configs/out .cache
