# Everything a contributor or a build server runs. Each target prepares .venv by itself, on a machine that has only
# Python 3.11 or newer, make and git; uv is used where it is installed, else venv and pip. A second run prepares nothing.

PYTHON ?= python3
PYTEST ?=
SOAK ?=
# Tests wait for databases and processes more than they compute.
TESTERS ?= 4

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)
TYPED := src examples tests/typing

# Hashes first, then the project itself, built by the hatchling that was just checked.
ifdef UV
make_venv = $(UV) venv --quiet --no-python-downloads --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv
install = $(UV) pip install --quiet --python $(BIN)/python
else
make_venv = $(PYTHON) -m venv .venv || { rm -rf .venv; echo "make: $(PYTHON) has no venv module; install it or uv" >&2; exit 1; }
# A .venv that uv once made has no pip.
install = { $(BIN)/python -m pip --version || $(BIN)/python -m ensurepip; } >/dev/null 2>&1; $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
endif

.PHONY: help demo demo-llm test check format bench soak crash docs lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

demo: .venv/.demo-ready ## show a run that stops halfway and is recovered
	$(BIN)/halfway demo

# Not a part of `make test`: a model is downloaded, which is large, and what it writes differs from machine to machine.
demo-llm: .venv/.llm-ready ## let a real, very small model write a report (downloads 130 MB)
	$(BIN)/python -m halfway_report.demo_llm

test: check ## everything that must hold before a commit
	$(BIN)/python -m pytest --numprocesses $(TESTERS) --dist worksteal $(PYTEST)

check: .venv/.dev-ready ## format, lint, import contract, types, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy $(TYPED) & PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright $(TYPED); wait $$!
	$(BIN)/python scripts/generate.py --check
	$(BIN)/python scripts/i18n.py --check

format: .venv/.dev-ready ## rewrite the sources in the house's format
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .

bench: .venv/.dev-ready ## measure speed
	$(BIN)/python -m bench

soak: .venv/.dev-ready ## measure speed beside two million runs that have ended
	$(BIN)/python -m bench.soak $(SOAK)

crash: .venv/.dev-ready ## kill a worker at every commit, on both databases
	$(BIN)/python -m pytest tests/crash tests/report/test_storm.py --full-matrix $(PYTEST)

docs: .venv/.dev-ready ## write the generated parts of the documentation anew
	$(BIN)/python scripts/generate.py
	$(BIN)/python scripts/i18n.py

# Versions and hashes, no addresses: two lists, the second a part of the first.
lock: .venv/.python-ready ## choose the newest versions that fit pyproject.toml
	@uv="$(UV)"; if [ -z "$$uv" ]; then $(install) uv; uv=$(BIN)/uv; fi; \
	compile="$$uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-annotate --no-header"; \
	$$compile --upgrade --all-extras --output-file constraints.txt; \
	echo hatchling | $$compile - --extra report --constraints constraints.txt --output-file constraints-demo.txt

clean: ## remove .venv and everything that was built
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.python-ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "make: halfway needs Python 3.11 or newer, and '$(PYTHON)' is not; say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(make_venv)
	@touch $@

.venv/.demo-ready: constraints-demo.txt pyproject.toml | .venv/.python-ready
	@echo "make: preparing .venv from $<"
	@$(install) --require-hashes -r constraints-demo.txt
	@$(install) --no-build-isolation --no-deps -e .
	@touch $@

.venv/.dev-ready: constraints.txt pyproject.toml | .venv/.python-ready
	@echo "make: preparing .venv from $<"
	@$(install) --require-hashes -r constraints.txt
	@$(install) --no-build-isolation --no-deps -e .
	@touch .venv/.demo-ready $@

.venv/.llm-ready: constraints-llm.txt .venv/.demo-ready
	@echo "make: preparing a model from $<"
	@$(install) --require-hashes --no-deps -r constraints-llm.txt
	@touch $@
