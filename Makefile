# Everything a newcomer types. `make help` lists it.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON3  ?= python3
UV       ?= $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
NEXTFLOW := containers/nextflow/nextflow
ENV      := .venv/.complete
# The locked environment and the launcher come first, for make and for the tasks that Nextflow starts.
export PATH := $(CURDIR)/containers/nextflow:$(CURDIR)/.venv/bin:$(PATH)
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

RESULTS  ?= results/demo
LABELLED ?= $(firstword $(wildcard ../shared/data/vdjdb/vdjdb_full_2023-06-01.txt.gz) assets/demo/dash_human.csv)
JOBS     ?= 2

.PHONY: help env demo test lint unit pipeline bench clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: $(ENV) ## Run the pipeline on small real data; results in results/demo
	$(NEXTFLOW) run . -profile demo --outdir $(RESULTS) -resume

env: $(ENV) ## Make the locked Python environment in .venv

test: lint unit pipeline ## Run all checks and tests

lint: $(ENV) ## Check style, Nextflow's strict syntax, nf-core's conventions and the parameters' schema
	ruff check .
	ruff format --check .
	AIRRVEC_NEXTFLOW=25.04.4 $(NEXTFLOW) lint main.nf modules subworkflows nextflow.config conf
	nf-core --hide-progress pipelines schema lint nextflow_schema.json
	AIRRVEC_NEXTFLOW=24.10.0 nf-core --hide-progress pipelines lint --dir .

unit: $(ENV) ## Run the tests of the library and the scripts
	python -m pytest tests/unit -n $(JOBS) -q

pipeline: $(ENV) ## Run the tests that run Nextflow
	python -m pytest tests/pipeline -n $(JOBS) --dist loadgroup -q

bench: $(ENV) ## Measure speed against named peers (LABELLED=table of labelled receptors)
	python benchmarks/embedding_speed.py $(LABELLED)
	python benchmarks/normalising_speed.py $(LABELLED)
	python benchmarks/training_speed.py
	python benchmarks/nextflow_overhead.py

clean: ## Remove results and Nextflow's work, keep the environment
	rm -rf work results .nextflow .nextflow.log* .pytest_cache .hypothesis .ruff_cache
	find bin tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENV): pyproject.toml uv.lock
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "ERROR: airrvec needs Python 3.11 or later; $$($(PYTHON3) --version) was found. Set PYTHON3." >&2; exit 1; }
	@command -v $(UV) >/dev/null || { \
	    echo "Fetching uv into .uv"; \
	    $(PYTHON3) -m venv .uv; \
	    .uv/bin/python -m pip install --quiet --require-hashes --requirement containers/uv.txt; }
	@echo "Making the locked Python environment in .venv"
	@$(UV) sync --locked --quiet
	@touch $@
