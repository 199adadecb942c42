# Every target sets itself up on a machine that has only Python 3.11 or newer (with its venv module).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
SEEDS ?= 1..3
RUNS ?= runs
REPORT ?= report
RANGES ?= 1
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.kcontroller-installed
WORKBENCH := $(VENV)/.kcontroller-workbench
SIM_TESTS := tests/unit/sim tests/integration/broker tests/integration/node/test_kafka_settings.py \
  tests/integration/chaos/test_simulated_runs.py tests/integration/chaos/test_hunt.py \
  tests/integration/fixtures/test_kcluster_sim.py tests/integration/cluster/test_converging.py \
  tests/integration/sim/test_slow_zookeeper.py
TOX := $(VENV)/.kcontroller-tox

.PHONY: help setup demo test unit sim twin hunt lint docs bench generated sim-proof clean

help:
	@echo "make demo    set up, run chaos/campaigns/smoke.toml with seeds $(SEEDS), report"
	@echo "make test    set up, lint, check types, run all tests (tox)"
	@echo "make unit    the unit tests and the rules of the code base: under a minute, after a first set-up"
	@echo "make sim     the tests in simulated time"
	@echo "make twin    what Kafka's controller did, recorded: every scenario on ours, in simulated time and for real"
	@echo "make bench   what benchmarks/ measures: speed, in CPU seconds"
	@echo "make generated  write the schemas, tables and modules that come from the code; tests compare them"
	@echo "make sim-proof  one seed is one history in four processes (simulated time), and the real code ran"
	@echo "make setup   only the environment, in $(VENV)"
	@echo "make hunt    hunts for every known bug on explore.toml: found or not, in how many schedules, by what"
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

# What `make test` installs into tox's environments for the tests, here beside the package itself.
$(WORKBENCH): $(INSTALLED)
	$(PIP) "pip>=25.1"
	$(PIP) --group test --group lint --group benchmark
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

# Environments are made two at a time, then used one after the other: tests have the machine for themselves. A terminal shows
# which are being made.
test: $(TOX)
	$(BIN)/tox run-parallel --notest --parallel 2 $$(test -t 2 || echo --parallel-no-spinner)
	$(BIN)/tox run

# What a person runs while working: one environment, no wheel, no Java, no sockets beyond this machine.
unit: $(WORKBENCH)
	$(BIN)/pytest tests/unit tests/meta -q -n 2 --dist loadfile

sim: $(WORKBENCH)
	$(BIN)/pytest $(SIM_TESTS) -q -n 2 --dist loadfile

hunt: $(WORKBENCH)
	$(BIN)/python benchmarks/mutants.py --ranges $(RANGES) --limit-s 60 --jobs 2

twin: $(WORKBENCH)
	$(BIN)/pytest tests/fidelity --kc-scenarios tests/data/twin -q -n 2

bench: $(WORKBENCH)
	@failed=; for benchmark in benchmarks/*.py; do \
	  echo "== $$benchmark"; $(BIN)/python "$$benchmark" || failed+=" $$benchmark"; done; \
	  test -z "$$failed" || { echo "not measured, for the reasons above:$$failed" >&2; exit 1; }

generated: $(INSTALLED)
	$(BIN)/python tests/tools/generated.py

lint: $(TOX)
	$(BIN)/tox run -e lint,types

docs: $(TOX)
	$(BIN)/tox run -e docs

sim-proof: $(TOX)
	$(BIN)/tox run -e sim-proof

clean:
	rm -rf $(RUNS) $(REPORT) .tox .pytest_cache .mypy_cache .ruff_cache dist build
