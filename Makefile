# Two environments' worth of work in one .venv: `make demo` needs the package, `make test` its test extra.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help demo demo-all test check bench clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

.venv/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(INSTALL) --editable .
	@touch $@

.venv/.tools: .venv/.made
	$(INSTALL) --editable '.[test,check]'
	@touch $@

demo: .venv/.made ## set up .venv and run the main job on the embedded sample
	$(BIN)/python -m pipelines.neuclir --lang zho

demo-all: .venv/.made ## the four collection commands, each on its embedded sample
	$(BIN)/python -m pipelines.neuclir --lang zho --collection sample
	$(BIN)/python -m pipelines.trec
	$(BIN)/python -m pipelines.tables
	$(BIN)/python -m pipelines.infosearch --collection sample

test: .venv/.tools ## set up .venv and pass the tests
	$(BIN)/python -m pytest --numprocesses 2

check: .venv/.tools ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/.tools ## time the main steps beside their peers
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.measures

clean: ## forget .venv, indexes and runs
	rm -rf .venv
	find indexes runs -mindepth 1 ! -name README.md -delete
