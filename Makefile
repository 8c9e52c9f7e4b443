# Everything a newcomer types. `make help` lists it.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON3  ?= python3
UV       ?= $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
NEXTFLOW := containers/nextflow/nextflow
# One environment: the core, to which extras and what tests need are added.
ENV      := .venv/.core
TEST_ENV := .venv/.complete
DOCS_ENV := .venv-docs/.complete
FUZZ_ENV := .venv-fuzz/.complete
RELEASE_ENV := .venv-release/.complete
# The locked environment and the launcher come first, for make and for the tasks that Nextflow starts.
export PATH := $(CURDIR)/containers/nextflow:$(CURDIR)/.venv/bin:$(PATH)
# Bytecode is kept: without it each of the tests' tasks compiles what it imports, which doubles its start.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

RESULTS  ?= results/demo
LABELLED ?= $(firstword $(wildcard ../shared/data/vdjdb/vdjdb_full_2023-06-01.txt.gz) assets/demo/dash_human.csv)
JOBS     ?= 2
# Of the tests that run Nextflow, which waits for its tasks.
RUNS_AT_ONCE ?= $(shell echo $$(($(JOBS) + 1)))
CASES    ?= 10000
SECONDS  ?= 600
RUNS     ?= 100
SEED     ?= 0
ENGINE   ?= docker
# Of `make gpu`.
DEVICE   ?= gpu
SIZE     ?= full
# Unit tests run in random order, with a printed seed; the others share runs, in the order of their files.
IN_ORDER := python -m pytest -p no:randomly
REGISTRY ?= ghcr.io/airrvec
# Of `make sif`: where its image file goes.
SIF      ?= $(or $(NXF_APPTAINER_CACHEDIR),results/images)
IMAGES   := image-airrvec image-airrvec-learn image-airrvec-r
VERSION  := $(shell sed -n "s/^ *version *= '\(.*\)'/\1/p" nextflow.config)

.PHONY: help env demo demo-finetune same test turns check check-all lint unit fuzz fuzz-guided faults soak pipeline docs screenshots images test-containers test-apptainer test-slurm test-r test-stranger
.PHONY: bench gpu chromium clean $(IMAGES)

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile

# In a new checkout the kernels are compiled while Nextflow starts, which needs one core.
demo: $(ENV) ## Run the pipeline on small real data; results in results/demo
	@ls bin/airrvec/search/__pycache__/*.nbi > /dev/null 2>&1 || python containers/kernels.py > /dev/null 2>&1 &
	$(NEXTFLOW) run . -profile demo --outdir $(RESULTS) -resume

demo-finetune: .venv/.extra-learn ## Run it with supervised contrastive fine-tuning; results in results/demo-finetune
	$(NEXTFLOW) run . -profile demo_finetune --outdir results/demo-finetune -resume

same: $(TEST_ENV) ## Compare the results of two runs (A=folder B=folder), cell by cell
	python tests/same.py $(A) $(B)

env: $(ENV) $(EXTRAS:%=.venv/.extra-%) ## Make the locked Python environment in .venv (EXTRAS="learn plm": with these extras)

test: lint unit pipeline ## Run all checks and tests that need this environment alone

# Those in places of their own wait for jobs, disks and downloads most of the time: they run beside the other tests.
# They take half an hour together, the slow tests (tests/turns.tsv) an hour: `check` takes a quarter of both, by the
# commit, `check-all` all.
PLACES_1 := test-slurm
PLACES_2 := test-containers
PLACES_3 := test-r
PLACES_4 := test-stranger test-package
TURN      = $(shell echo $$((0x$$(git rev-parse --short=6 HEAD 2>/dev/null || echo 0) % 4 + 1)))

check: export AIRRVEC_TURN = $(TURN)
check: OTHERS = $(PLACES_$(TURN))
check-all: OTHERS = $(PLACES_1) $(PLACES_2) $(PLACES_3) $(PLACES_4)
check: ## Run those, a quarter of the slow ones, and by turns those on a Slurm, in containers, with R, or of a stranger and of the wheel
check-all: ## Run all: before a release, and after work on a place
check check-all: chromium
	@$(MAKE) --no-print-directory -j 3 $(TEST_ENV) $(DOCS_ENV) $(RELEASE_ENV)
	@log=$$(mktemp); status=0; echo "Beside the others: $(OTHERS)$(if $(AIRRVEC_TURN),; turn $(AIRRVEC_TURN) of the slow tests)"; \
	$(MAKE) --no-print-directory --keep-going $(OTHERS) > $$log 2>&1 & others=$$!; \
	trap 'kill $$others' INT TERM; \
	$(MAKE) --no-print-directory --keep-going lint unit pipeline || status=$$?; \
	wait $$others || status=$$?; \
	cat $$log; rm $$log; exit $$status

turns: $(TEST_ENV) ## Measure the tests (on a quiet machine), and write which of the slow ones `check` runs in which turn
	@logs=$$(mktemp -d); trap 'rm -r $$logs' EXIT; status=0; \
	for tests in "tests/fuzz tests/unit" benchmarks tests/pipeline; do \
	    python -m pytest -p no:randomly $$tests -n $(JOBS) --dist loadfile -q --durations 0 --durations-min 0.5 \
	        | tee $$logs/$$(basename $$tests) || status=$$?; \
	done; python tests/turns.py $$logs/*; exit $$status

# Before the tests: two programs cannot install packages at once.
chromium: # The browser of the tests of pages, which are skipped without one
	@[[ -n "$$(command -v chromium chromium-browser google-chrome chrome)" || $$EUID != 0 || -z "$$(command -v apt-get)" ]] || { \
	    echo "Installing chromium"; apt-get update -qq; \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium > /dev/null; }

lint: $(TEST_ENV) docs ## Check style, Nextflow's strict syntax, nf-core's conventions, the parameters' schema, the docs' links and figures
	ruff check .
	ruff format --check .
	mypy
	PYTHONPATH=bin lint-imports --no-cache
	python -m pytest benchmarks/test_figures.py -q
	AIRRVEC_NEXTFLOW=25.04.4 $(NEXTFLOW) lint main.nf modules subworkflows nextflow.config conf
	nf-core --hide-progress pipelines schema lint nextflow_schema.json
# Of a copy of what git knows: nf-core reads every file of the folder, those of .venv too.
	@folder=$$(mktemp -d); trap 'rm -rf $$folder' EXIT; \
	git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C $$folder; \
	AIRRVEC_NEXTFLOW=24.10.0 nf-core --hide-progress pipelines lint --dir $$folder

unit: $(TEST_ENV) ## Run the tests of the library and the scripts, and every benchmark on small data
	python -m pytest tests/fuzz tests/unit -n $(JOBS) -q --durations 10 -o faulthandler_timeout=600
	python -m pytest benchmarks -n $(JOBS) -q --durations 10

fuzz: $(TEST_ENV) ## Read mutated inputs (CASES=100000 SEED=0), or one that failed once more (REPEAT=folder)
	PYTHONPATH=bin:tests python -m fuzz $(if $(REPEAT),--repeat $(REPEAT),--cases $(CASES) --seed $(SEED) --jobs $(JOBS))

fuzz-guided: $(FUZZ_ENV) ## Change tables towards lines of the readers that no table has reached (SECONDS=600 SEED=0)
	PYTHONPATH=bin:tests $(<D)/bin/python -m fuzz.guided --seconds $(SECONDS) --seed $(SEED)

soak: $(TEST_ENV) ## Disturb RUNS=100 runs at random (SEED=0), resume each, and compare the results by hash with those of an undisturbed one (as root)
	PYTHONPATH=tests python -m soak --runs $(RUNS) --seed $(SEED) --jobs $(JOBS)

faults: $(TEST_ENV) ## Run the tests that docs/reliability.md names
	@status=0; for folder in unit pipeline; do \
	    python -m pytest $$(grep -o "tests/$$folder/test_[a-z_]*\.py" docs/reliability.md | sort -u) -n $(JOBS) --dist loadfile -q || status=$$?; \
	done; exit $$status

pipeline: $(TEST_ENV) ## Run the tests that run Nextflow
	$(IN_ORDER) tests/pipeline -n $(RUNS_AT_ONCE) --dist loadfile -q --durations 10

docs: $(DOCS_ENV) ## Build the documentation as a site in site/; a link or anchor that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(dir $(DOCS_ENV))bin/mkdocs build --strict # --quiet would make --strict pass

screenshots: $(ENV) ## Make the documentation's pictures and summaries again, from runs (BENCHMARK=folder: its figure too)
	$(NEXTFLOW) run . -profile demo --outdir results/demo -resume
	sed -n '/^printf /p; /^nextflow run /p' docs/start.md | bash -eu
	python docs/screenshots.py results/demo results/start $(if $(BENCHMARK),--benchmark $(BENCHMARK))

images: $(IMAGES) ## Build the container images, and their bills of materials in results/images (ENGINE=podman: with podman)

image-airrvec:       FROM := --target core --file containers/Dockerfile .
image-airrvec-learn: FROM := --target learn --file containers/Dockerfile .
image-airrvec-r:     FROM := containers/r
$(IMAGES): image-%:
	$(ENGINE) build $(BUILD_OPTIONS) --tag $(REGISTRY)/$*:$(VERSION) \
	    --label org.opencontainers.image.version=$(VERSION) \
	    --label org.opencontainers.image.revision=$$(git rev-parse HEAD 2>&- || echo unknown) \
	    --label org.opencontainers.image.created=$$(date --utc +%Y-%m-%dT%H:%M:%SZ) $(FROM)
	$(PYTHON3) containers/sbom.py $(REGISTRY)/$*:$(VERSION) results/images/$*-$(VERSION).cdx.json $(ENGINE)

# Nextflow looks for a file of this name in NXF_APPTAINER_CACHEDIR. Apptainer on another machine reads the tar: `make sif TAR=1`.
IMAGE_FILE = $(subst :,-,$(subst /,-,$(REGISTRY)/airrvec:$(VERSION))).img
.PHONY: sif
sif: image-airrvec ## Build the core's image file for Apptainer (SIF=folder; TAR=1: only its tar, where there is no Apptainer)
	@[[ -n "$(TAR)" || -n "$$(command -v apptainer)" ]] || \
	    { echo "ERROR: there is no apptainer here; make sif TAR=1 makes the tar that apptainer build reads elsewhere" >&2; exit 1; }
	@mkdir -p $(SIF); folder=$$(mktemp -d $(SIF)/.partial.XXXXXX); trap 'rm -rf $$folder' EXIT; \
	$(ENGINE) save --output $$folder/image.tar $(REGISTRY)/airrvec:$(VERSION); \
	if [[ -n "$(TAR)" ]]; then \
	    chmod 644 $$folder/image.tar; mv $$folder/image.tar $(SIF)/$(IMAGE_FILE:.img=.tar); \
	    echo "There: apptainer build $(IMAGE_FILE) docker-archive://\$$PWD/$(IMAGE_FILE:.img=.tar)"; \
	else \
	    apptainer build $$folder/$(IMAGE_FILE) docker-archive://$$folder/image.tar; \
	    mv $$folder/$(IMAGE_FILE) $(SIF)/$(IMAGE_FILE); \
	    echo "export NXF_APPTAINER_CACHEDIR=$$(realpath $(SIF))"; \
	fi

test-containers: $(TEST_ENV) ## Build the images, and run the pipeline in them with docker and podman (as root on Debian, it installs both)
	$(IN_ORDER) tests/containers -q

test-stranger: $(TEST_ENV) ## Type the first commands of the README in an empty folder, with an empty home and no caches
	$(IN_ORDER) tests/stranger -q

test-apptainer: $(TEST_ENV) ## Run the pipeline with Apptainer, in an image file (as root on Debian, it installs it); not part of check
	$(IN_ORDER) tests/apptainer -q

test-slurm: $(TEST_ENV) ## Run the pipeline on a Slurm of two nodes, started here (as root on Debian, it installs it)
	$(IN_ORDER) tests/slurm -q

test-r: $(TEST_ENV) ## Export to Bioconductor and run docs/guides/r.md, in the R on the path or in its image, built with docker if missing
	$(IN_ORDER) tests/r -q

bench: $(TEST_ENV) ## Measure speed against named peers (LABELLED=table of labelled receptors)
	mkdir -p results
	python benchmarks/embedding/embedding_speed.py $(LABELLED) --growth 10000,100000,1000000 --json results/embedding_speed.json
	python benchmarks/embedding/embedding_accuracy.py $(LABELLED) --json results/embedding_accuracy.json
	python benchmarks/speed/normalising_speed.py $(LABELLED) --json results/normalising_speed.json
	python benchmarks/speed/tcrdist_speed.py $(LABELLED) --json results/tcrdist_speed.json
	python benchmarks/training/training_speed.py --json results/training_speed.json
	python benchmarks/speed/nextflow_overhead.py --json results/nextflow_overhead.json

gpu: $(TEST_ENV) ## Run all that needs a GPU, in less than 25 minutes; results in results/gpu.json (DEVICE=cpu SIZE=small: on a CPU)
	python benchmarks/gpu/gpu.py $(if $(filter small,$(SIZE)),assets/demo/dash_human.csv,$(LABELLED)) --device $(DEVICE) --size $(SIZE) --json results/gpu.json

.PHONY: package test-package
package: $(RELEASE_ENV) ## Build wheel and sdist into dist/ and check their metadata; write the conda recipe with the sdist's SHA-256
	$(UV) build --quiet --clear --out-dir dist
	$(<D)/bin/twine check --strict dist/*
	mkdir -p build/recipes/airrvec
	sum=$$(python -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' dist/*.tar.gz); \
	sed "s/0\{64\}/$$sum/" recipes/airrvec/meta.yaml > build/recipes/airrvec/meta.yaml

test-package: $(TEST_ENV) ## Install the package into an empty environment, and run it far from this folder
	$(IN_ORDER) tests/package -q --durations 5

.PHONY: workflows metadata release generated sbom FORCE
lint: workflows metadata

workflows: $(RELEASE_ENV) ## Check the workflows of .github
	$(<D)/bin/actionlint -shellcheck= -pyflakes=
	$(<D)/bin/zizmor --offline --quiet --no-progress --persona auditor .

metadata: $(RELEASE_ENV) ## Check versions, CITATION.cff and ro-crate-metadata.json
	python3 release/versions.py
	$(<D)/bin/cffconvert --validate
	$(<D)/bin/python release/crate.py --check
	$(<D)/bin/python release/validate_crate.py workflow-ro-crate .
	@report=$$($(<D)/bin/rocrate-validator --no-interactive validate --offline --metadata-only --no-paging --verbose \
	    --profile-identifier workflow-ro-crate --requirement-severity recommended . 2>&1) || { echo "$$report"; exit 1; }

release: $(ENV) ## Commit and tag VERSION=x.y.z, and build its package; refuses an unclean one, pushes nothing
	python release/release.py $(VERSION)

generated: ro-crate-metadata.json ## Write again what is made from other files: the RO-Crate, conda's environments, tables of columns and figures
	PYTHONPATH=bin python docs/column_roles.py
	PYTHONPATH=bin python docs/settings.py
	PYTHONPATH=bin python docs/interfaces.py
	PYTHONPATH=bin python docs/column_tables.py
	PYTHONPATH=bin python docs/report_order.py
	PYTHONPATH=bin python docs/packages.py
	python docs/figures.py
	$(dir $(RELEASE_ENV))bin/python release/environments.py

ro-crate-metadata.json: $(RELEASE_ENV) FORCE
	$(<D)/bin/python release/crate.py

sbom: $(ENV) ## List the Python packages of the lock, also those of learning and language models, as CycloneDX in build/
	@mkdir -p build
	$(UV) export --frozen --format cyclonedx1.5 --all-extras --quiet > build/airrvec.cdx.json

clean: ## Remove results and Nextflow's work, keep the environment
	rm -rf work results site .nextflow .nextflow.log* .pytest_cache .hypothesis .ruff_cache .mypy_cache build dist
	find bin tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Bytecode of all that a task may import: without it every task would compile it again, as tasks write none. Some
# packages hold files that this Python cannot compile, and nobody imports; large parts of others are not used.
UNUSED := /tests?/|/fontTools/|/multiqc/modules/|/plotly/graph_objs/.+/|/pygments/lexers/
define COMPILE
{ python -m compileall -qq -j 0 -x '$(UNUSED)' .venv/lib bin || true; }
endef

# Nextflow is fetched meanwhile; if it cannot be, the run that needs it says why.
$(ENV): pyproject.toml uv.lock
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "ERROR: airrvec needs Python 3.11 or later; $$($(PYTHON3) --version) was found. Set PYTHON3." >&2; exit 1; }
	@echo "Making the locked Python environment in .venv"
	@$(NEXTFLOW) -version > /dev/null 2>&1 & nextflow=$$!; \
	command -v $(UV) >/dev/null || { \
	    python=$(PYTHON3); \
	    $$python -m pip --version >/dev/null 2>&1 || { $$python -m venv .uv/pip; python=.uv/pip/bin/python; }; \
	    PIP_ROOT_USER_ACTION=ignore $$python -m pip install --quiet --no-compile --target .uv --require-hashes --requirement containers/uv.txt; }; \
	$(UV) sync --locked --inexact --quiet && $(COMPILE) && { wait $$nextflow || true; }
	@touch $@

.venv/.extra-%: $(ENV)
	@echo "Adding the extra $* to .venv"
	@$(UV) sync --locked --inexact --quiet --extra $* && $(COMPILE)
	@touch $@

$(TEST_ENV): $(ENV)
	@echo "Adding what tests need to .venv"
	@$(UV) sync --locked --quiet --all-extras --group dev && $(COMPILE)
	@touch $@ .venv/.extra-learn .venv/.extra-plm

$(DOCS_ENV): pyproject.toml uv.lock $(ENV)
	@echo "Making the locked environment of the documentation in .venv-docs"
	@UV_PROJECT_ENVIRONMENT=$(@D) $(UV) sync --locked --only-group docs --quiet
	@touch $@

$(FUZZ_ENV): pyproject.toml uv.lock $(ENV)
	@echo "Making the locked environment of guided fuzzing in .venv-fuzz"
	@UV_PROJECT_ENVIRONMENT=$(@D) $(UV) sync --locked --group fuzz --quiet
	@touch $@

# Go comes from the same environment; release/go.sum has the checksums of what it builds.
$(RELEASE_ENV): pyproject.toml uv.lock release/go.sum $(ENV)
	@echo "Making the locked environment of releases in .venv-release"
	@UV_PROJECT_ENVIRONMENT=$(@D) $(UV) sync --locked --only-group release --quiet
	@cd release && export GOBIN=$(CURDIR)/$(@D)/bin GOPATH=$(CURDIR)/$(@D)/gopath GOCACHE=$(CURDIR)/$(@D)/gocache && \
	    GOTOOLCHAIN=local GOFLAGS=-modcacherw $$GOBIN/go install tool && rm -r $$GOPATH $$GOCACHE
	@touch $@
