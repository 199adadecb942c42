# Every target sets itself up on a machine that has only Python 3.11 or newer (with its venv module).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
SEEDS ?= 1..3
RUNS ?= runs
REPORT ?= report
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.kcontroller-installed
TOX := $(VENV)/.kcontroller-tox

.PHONY: help setup demo test lint docs sim-proof clean

help:
	@echo "make demo    set up, run chaos/campaigns/smoke.toml with seeds $(SEEDS), report"
	@echo "make test    set up, lint, check types, run all tests (tox)"
	@echo "make sim-proof  one seed is one history in four processes (simulated time), and the real code ran"
	@echo "make setup   only the environment, in $(VENV)"
	@echo "make lint    only the style and the types"
	@echo "make docs    the documentation as a site, in site/"
	@echo "make clean   remove $(RUNS)/, $(REPORT)/ and caches (not $(VENV))"

setup: $(INSTALLED)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "$(PYTHON) is missing or older than 3.11" >&2; \
	  echo "  -> install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: its module venv or ensurepip is missing" >&2; \
	  echo "  -> on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

# A stamp is newer than pyproject.toml when the environment already holds what pyproject.toml asks for.
$(INSTALLED): pyproject.toml | $(BIN)/python
	@echo "installing everything into $(VENV) (Spark is 400 MB: this can take some minutes the first time)"
	$(PIP) -e ".[all]"
	@touch $@

# tox makes its own environments: it needs nothing else here.
$(TOX): | $(BIN)/python
	$(PIP) "tox>=4.25"
	@touch $@

demo: $(INSTALLED)
	rm -rf $(RUNS)/demo
	$(BIN)/kcontroller campaign run chaos/campaigns/smoke.toml --seeds $(SEEDS) --out $(RUNS)/demo
	$(BIN)/kcontroller report $(RUNS)/demo -o $(REPORT)
	@echo "the report is $(abspath $(REPORT))/report.html"

test: $(TOX)
	$(BIN)/tox run

lint: $(TOX)
	$(BIN)/tox run -e lint,types

docs: $(TOX)
	$(BIN)/tox run -e docs

sim-proof: $(TOX)
	$(BIN)/tox run -e sim-proof

clean:
	rm -rf $(RUNS) $(REPORT) .tox .pytest_cache .mypy_cache .ruff_cache dist build
