# Each target sets up what it needs in .venv: python3 (3.10 or later) with venv is all a machine must have.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
ORACLE_VENV := .venv-oracle
ORACLE_PY := $(ORACLE_VENV)/bin/python
ORACLE_READY := $(ORACLE_VENV)/.ready
# For two cores. Most of a test's time is compiling, which uses one core; the tests of Dask and of the browser wait for half
# of their time, in which a third process runs others.
TEST_WORKERS ?= 3
export PYTHONUNBUFFERED := 1
# Hundreds of processes of the tests import tfnb, which takes 1.3 s without its bytecode and 0.5 s with it.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test quick spread fuzz soak strangers lab docs docs_wheel gestures films bench edges check check_types check_sources oracle programs tensorflow_tests release_check clean

help: ## show this list
	@sed -n 's/^\([a-z_]*\):.*## /  make \1\t/p' Makefile | expand -t 24

# What the browser runs is built from TypeScript; without node it is left out, which the program says.
FRONTEND := tfnb/labextension/sources.sha256
FRONTEND_SOURCES := $(wildcard labextension/package*.json labextension/scripts/*) \
	$(shell find labextension/schema labextension/src tfnb/notebook/static -type f 2>/dev/null)

# $(call pip,PYTHON,ARGUMENTS): what pip says goes to a file, since it repeats itself for minutes where there is no network.
define pip
	@$(1) -m pip install --disable-pip-version-check $(2) >pip.log 2>&1 || { \
		echo "pip could not install what this needs, and pip.log says why: $$(grep -m 1 -o 'ERROR.*' pip.log | cut -c 1-200)"; \
		echo "without a network, fetch the wheels elsewhere:  pip wheel --wheel-dir WHEELS $(patsubst --editable,,$(2)) hatchling"; \
		echo "and run it here with them:  PIP_NO_INDEX=1 PIP_FIND_LINKS=$$PWD/WHEELS make $(MAKECMDGOALS)"; exit 1; }
	@rm -f pip.log
endef

$(READY): pyproject.toml hatch_build.py
	@command -v $(PYTHON) >/dev/null || { echo "there is no $(PYTHON); name a Python of 3.10 or later: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "tfnb needs Python 3.10 or later, %s is %s; name another: make PYTHON=python3.12 $(MAKECMDGOALS)" % (sys.executable, sys.version.split()[0]))'
	@echo "setting up $(VENV): a few minutes on the first run, nothing later"
	@$(PYTHON) -m venv $(VENV)
	$(call pip,$(PY),--editable '.[test]')
	@touch $@

$(FRONTEND): $(READY) $(FRONTEND_SOURCES)
	@$(PY) scripts/frontend.py
	@test ! -f $@ || touch $@

$(DOCS_READY): $(READY)
	$(call pip,$(PY),--editable '.[docs]')
	@touch $@

$(ORACLE_READY): pyproject.toml
	@echo "setting up $(ORACLE_VENV) with TensorFlow: several minutes on the first run, nothing later"
	@$(PYTHON) -m venv $(ORACLE_VENV)
	$(call pip,$(ORACLE_PY),--editable '.[oracle]')
	@# tf.layers and the recurrent cells; on its own it would bring the whole of tensorflow along
	$(call pip,$(ORACLE_PY),--no-deps tf_keras)
	@touch $@

demo: $(FRONTEND) ## train the conv net of examples/02_mnist.ipynb; print its accuracy, leave demo.html
	@$(PY) scripts/demo.py examples/02_mnist.ipynb demo.html

test: check ## the checks, then every test (browser tests where chromium is found)
	@command -v chromium-headless-shell chromium chromium-browser google-chrome >/dev/null || echo "no chromium found: the browser tests are skipped"
	@# the checks have run the tests of the layers
	@$(PY) -m pytest -n $(TEST_WORKERS) --ignore=tests/test_layers.py --durations=30 --durations-min=1 $(PYTEST_ARGS)

# Tests that need few compiled kernels: the layers, documents, graphs, passes, plans, the propagator, one session.
QUICK := tests/test_layers.py tests/documents/test_documents.py tests/test_caches.py tests/test_errors.py tests/ir/test_builder.py \
	tests/ir/test_bind.py tests/ir/test_types.py tests/ir/test_record.py tests/passes tests/placement/test_place.py \
	tests/codegen/test_golden.py tests/runtime/test_plan.py tests/runtime/test_propagate.py \
	tests/runtime/test_rendezvous.py tests/session/test_feed.py tests/session/test_session.py \
	tests/client/gradients/test_backprop.py tests/client/control_flow/test_cond.py tests/summary

quick: $(READY) ## lint, and those tests that say most in a minute
	@$(PY) -m ruff check .
	@$(PY) -m pytest -q -n $(TEST_WORKERS) $(QUICK) $(PYTEST_ARGS)

spread: $(READY) ## the tests of control flow and training on 2 and 3 devices and 2 and 4 tasks of Dask
	@$(PY) scripts/spread.py $(SPREAD_ARGS)

fuzz: $(READY) ## thousands of damaged and hostile inputs for everything that reads files or messages
	@PYTHONPATH=tests $(PY) -m fuzz $(FUZZ_ARGS)

strangers: $(READY) ## what people do who do not know the code, at length: shapes, arrays, signals, texts; an hour or more
	@TFNB_STRANGERS=1 $(PY) -m pytest -q -n $(TEST_WORKERS) tests/strangers tests/system/test_process_end.py $(PYTEST_ARGS)

soak: $(READY) ## a million steps, ten thousand sessions, graphs, threads and views: what memory they leave; about an hour
	@$(PY) scripts/soak.py $(SOAK_ARGS)

check: $(FRONTEND) ## lint, formatting, layers, sizes, types
	@$(MAKE) --no-print-directory -j 2 check_types check_sources

check_types: $(READY)
	@$(PY) -m mypy

check_sources: $(FRONTEND)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check --quiet .
	@$(PY) -m pytest -q tests/test_layers.py
	@$(PY) scripts/size.py
	@if command -v npm >/dev/null; then npm run --silent --prefix labextension check; \
		else echo "no npm found: the TypeScript is not checked"; fi

lab: $(FRONTEND) ## open JupyterLab on the examples
	@$(VENV)/bin/jupyter lab --notebook-dir=examples

docs: $(DOCS_READY) ## the site in build/site, and its tests (search, no other host), which `make test` leaves out; three minutes, ten the first time
	@PYTHONPATH=. $(PY) scripts/docs/build.py build/site $(DOCS_ARGS)
	@TFNB_SITE=build/site $(PY) -m pytest -q -n 0 tests/documents/site/test_built_site.py \
		tests/documents/site/test_site_in_browser.py tests/browser/test_help.py $(PYTEST_ARGS)

docs_wheel: docs ## the site as a wheel in dist, for the help in JupyterLab where there is no checkout
	@$(PY) -m build --no-isolation --wheel --outdir dist scripts/docs/wheel

gestures: $(READY) ## 10,000 random gestures in the graph builder: undo, redo, code and drawing after each; six minutes
	@TFNB_GESTURES=10000 $(PY) -m pytest -q -n $(TEST_WORKERS) tests/notebook/builder/test_random_gestures.py $(PYTEST_ARGS)

films: $(FRONTEND) ## build LeNet by mouse and by keyboard, a picture every ten gestures; train notebook 02 to its end
	@TFNB_FILMS=1 $(PY) -m pytest -q -n 0 tests/browser/test_builder_films.py tests/browser/test_builder_example.py \
		tests/browser/test_notebooks.py $(PYTEST_ARGS)
	@echo "the pictures are in tests/browser/shots, film-* and example-*"

bench: $(ORACLE_READY) ## our medians and TensorFlow's from one alternating run
	@$(ORACLE_PY) -m benchmarks $(BENCH_ARGS)

oracle: $(ORACLE_READY) ## compare values and gradients with real TensorFlow
	@$(ORACLE_PY) -m pytest -m oracle tests/oracle $(PYTEST_ARGS)

edges: $(READY) ## errors in ulp of elementwise functions on all bit patterns; EDGES_ARGS="--there 1.15.5=PYTHON --torch PYTHON"
	@$(PY) scripts/edges/run.py $(EDGES_ARGS)

programs: $(READY) ## public programs of the time, there and here; PROGRAMS_ARGS="--folder WORK --there 1.15.5=PYTHON"
	$(call pip,$(PY),--editable '.[programs]')
	@$(PY) -W ignore scripts/old_programs/run.py $(PROGRAMS_ARGS)

tensorflow_tests: $(READY) ## TensorFlow's own tests, there and here; TENSORFLOW_TESTS_ARGS="--folder WORK --there 0.12.1=PYTHON"
	@$(PY) scripts/tensorflow_tests/run.py $(TENSORFLOW_TESTS_ARGS)

# Those of 3.10 to 3.13 that the machine has; RELEASE_PYTHONS="..." names others. The lowest versions want the oldest one.
RELEASE_PYTHONS ?= $(shell for v in 10 11 12 13; do command -v python3.$$v; done)
release_check: $(FRONTEND) ## build what would be published, install it for each Python, train there; half an hour
	$(call pip,$(PY),--editable '.[release]')
	@$(PY) scripts/release_check.py --pythons $(RELEASE_PYTHONS) $(RELEASE_ARGS)

clean: ## remove what the other targets made
	rm -rf $(VENV) $(ORACLE_VENV) pip.log demo.html fuzz-failures dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis \
		tfnb/labextension labextension/node_modules labextension/lib
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
