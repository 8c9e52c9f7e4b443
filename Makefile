# Everything a newcomer types. `make help` lists it.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON3  ?= python3
UV       ?= $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
NEXTFLOW := containers/nextflow/nextflow
ENV      := .venv/.complete
DOCS_ENV := .venv-docs/.complete
# The locked environment and the launcher come first, for make and for the tasks that Nextflow starts.
export PATH := $(CURDIR)/containers/nextflow:$(CURDIR)/.venv/bin:$(PATH)
# Bytecode is kept: without it each of the tests' tasks compiles what it imports, which doubles its start.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

RESULTS  ?= results/demo
LABELLED ?= $(firstword $(wildcard ../shared/data/vdjdb/vdjdb_full_2023-06-01.txt.gz) assets/demo/dash_human.csv)
JOBS     ?= 2
CASES    ?= 10000
SEED     ?= 0
ENGINE   ?= docker
VERSION  := $(shell sed -n "s/^ *version *= '\(.*\)'/\1/p" nextflow.config)

.PHONY: help env demo same test check lint unit fuzz pipeline docs screenshots images test-containers test-slurm test-r
.PHONY: bench clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile

demo: $(ENV) ## Run the pipeline on small real data; results in results/demo
	$(NEXTFLOW) run . -profile demo --outdir $(RESULTS) -resume

same: $(ENV) ## Compare the results of two runs (A=folder B=folder), cell by cell
	python tests/same.py $(A) $(B)

env: $(ENV) ## Make the locked Python environment in .venv

test: lint unit pipeline ## Run all checks and tests that need this environment alone

# Slurm and containers wait for jobs and disks most of the time: they run beside the other tests.
check: lint ## Run those, and the tests on a Slurm, in containers and with R, whose output comes last
	@log=$$(mktemp); status=0; \
	$(MAKE) --no-print-directory --keep-going test-slurm test-containers test-r > $$log 2>&1 & others=$$!; \
	trap 'kill $$others' INT TERM; \
	$(MAKE) --no-print-directory --keep-going unit pipeline || status=$$?; \
	wait $$others || status=$$?; \
	cat $$log; rm $$log; exit $$status

lint: $(ENV) docs ## Check style, Nextflow's strict syntax, nf-core's conventions, the parameters' schema and the docs' links
	ruff check .
	ruff format --check .
	PYTHONPATH=bin lint-imports --no-cache
	AIRRVEC_NEXTFLOW=25.04.4 $(NEXTFLOW) lint main.nf modules subworkflows nextflow.config conf
	nf-core --hide-progress pipelines schema lint nextflow_schema.json
	AIRRVEC_NEXTFLOW=24.10.0 nf-core --hide-progress pipelines lint --dir .

unit: $(ENV) ## Run the tests of the library and the scripts
	python -m pytest tests/fuzz tests/unit -n $(JOBS) -q --durations 10

fuzz: $(ENV) ## Read mutated inputs (CASES=100000 SEED=0), or one that failed once more (REPEAT=folder)
	PYTHONPATH=bin:tests python -m fuzz $(if $(REPEAT),--repeat $(REPEAT),--cases $(CASES) --seed $(SEED) --jobs $(JOBS))

pipeline: $(ENV) ## Run the tests that run Nextflow
	python -m pytest tests/pipeline -n $(JOBS) --dist loadfile -q --durations 10

docs: $(DOCS_ENV) ## Build the documentation as a site in site/; a link or anchor that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(dir $(DOCS_ENV))bin/mkdocs build --strict # --quiet would make --strict pass

screenshots: $(ENV) ## Make the documentation's pictures and summaries again, from runs (BENCHMARK=folder: its figure too)
	$(NEXTFLOW) run . -profile demo --outdir results/demo -resume
	sed -n '/^printf /p; /^nextflow run /p' docs/start.md | bash -eu
	python docs/screenshots.py results/demo results/start $(if $(BENCHMARK),--benchmark $(BENCHMARK))

images: ## Build the container images (ENGINE=podman: with podman)
	$(ENGINE) build $(BUILD_OPTIONS) --build-arg VERSION=$(VERSION) --tag airrvec:$(VERSION) --file containers/Dockerfile .
	$(ENGINE) build $(BUILD_OPTIONS) --build-arg VERSION=$(VERSION) --tag airrvec-r:$(VERSION) containers/r

containers/environment.yml: uv.lock $(ENV)
	@$(UV) export --locked --no-dev --no-emit-project --no-hashes --no-annotate --no-header --quiet | sed "s/^/      - /" > $@.pip
	@sed -i -e '/- pip:/q' $@ && cat $@.pip >> $@ && rm $@.pip

test-containers: $(ENV) ## Build the images, and run the pipeline in them with docker and podman (as root on Debian, it installs both)
	python -m pytest tests/containers -q

test-slurm: $(ENV) ## Run the pipeline on a Slurm of two nodes, started here (as root on Debian, it installs it)
	python -m pytest tests/slurm -q

test-r: $(ENV) ## Export to Bioconductor and run docs/guides/r.md, in the R on the path or in its image, built with docker if missing
	python -m pytest tests/r -q

bench: $(ENV) ## Measure speed against named peers (LABELLED=table of labelled receptors)
	mkdir -p results
	python benchmarks/embedding_speed.py $(LABELLED) --growth 10000,100000,1000000 --json results/embedding_speed.json
	python benchmarks/embedding_accuracy.py $(LABELLED) --json results/embedding_accuracy.json
	python benchmarks/normalising_speed.py $(LABELLED)
	python benchmarks/tcrdist_speed.py $(LABELLED)
	python benchmarks/training_speed.py
	python benchmarks/nextflow_overhead.py

clean: ## Remove results and Nextflow's work, keep the environment
	rm -rf work results site .nextflow .nextflow.log* .pytest_cache .hypothesis .ruff_cache
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

$(DOCS_ENV): pyproject.toml uv.lock $(ENV)
	@echo "Making the locked environment of the documentation in .venv-docs"
	@UV_PROJECT_ENVIRONMENT=$(@D) $(UV) sync --locked --only-group docs --quiet
	@touch $@
