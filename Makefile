# make demo     install the core into .venv, run the main job on data made on the spot, end with a page to open
#               (make demo DEEP=1: networks too)
# make test     everything that is checked: the wheel without extras, then lint, types, docs and all tests
# make check    lint and types                make docs     write the generated pages of docs/
# make bench    speed beside other packages   make clean    remove what these made
#
# Needs Python 3.11 or later and make (bench also a C compiler). PYTHON=python3.12 make test chooses another Python.

PYTHON ?= python3
EXTRAS := dev,deep,lm,cluster,sklearn
INSTALL := -m pip install -qq -c constraints.txt
WORKERS ?= 2

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONNOUSERSITE := 1

.PHONY: help demo test test-core test-all check docs bench clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(if $(DEEP),.venv/full,.venv/core)
	@.venv/bin/manyvoices demo

test: test-core test-all

# The installed wheel alone: no extras, away from the source, so that nothing is found that a user would not have.
test-core: .venv-core/deps
	@echo "== the wheel"
	@rm -rf dist build && .venv-core/bin/python -m pip wheel -qq --no-deps --wheel-dir dist .
	@.venv-core/bin/python -m pip uninstall -qq -y manyvoices && .venv-core/bin/python $(INSTALL) dist/manyvoices-*.whl
	@mkdir -p build/away && cp -R tests docs examples benchmarks *.md Makefile constraints.txt pyproject.toml build/away/ 2>/dev/null || true
	@echo "== core tests, on the wheel alone"
	@cd build/away && ../../.venv-core/bin/python -c "import manyvoices, sys; print(manyvoices.__file__); sys.exit('.venv-core' not in manyvoices.__file__)"
	@cd build/away && ../../.venv-core/bin/manyvoices --help > /dev/null
	@cd build/away && PATH="$(CURDIR)/.venv-core/bin:$$PATH" ../../.venv-core/bin/pytest -n $(WORKERS) -p no:cacheprovider -m "not extras"

test-all: .venv/full
	@$(MAKE) --no-print-directory check
	@echo "== docs"
	@.venv/bin/python docs/build.py --check
	@echo "== all tests, with all extras"
	@PATH="$(CURDIR)/.venv/bin:$$PATH" OMP_NUM_THREADS=1 .venv/bin/pytest -n $(WORKERS)  # threads of all at once would wait for each other

check: .venv/full
	@echo "== ruff"
	@.venv/bin/ruff check . && .venv/bin/ruff format --check manyvoices docs benchmarks examples
	@echo "== mypy"
	@.venv/bin/mypy

docs: .venv/core
	@.venv/bin/python docs/build.py

bench: .venv/core
	@echo "== an environment for the packages to compare with"
	@.venv/bin/python benchmarks/peers/make_env.py
	@echo "== manyvoices bench aggregate"
	@.venv/bin/manyvoices bench aggregate
	@echo "== manyvoices bench limit"
	@.venv/bin/manyvoices bench limit

clean:
	rm -rf .venv .venv-core .venv-peers build dist manyvoices-demo .pytest_cache .ruff_cache .mypy_cache .hypothesis

# Environments. A stamp is made anew when what was asked for changes.

.venv/core: pyproject.toml constraints.txt
	@echo "== installing the core into .venv"
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@.venv/bin/python $(INSTALL) -e .
	@touch $@

.venv/full: pyproject.toml constraints.txt
	@echo "== installing everything into .venv (some minutes the first time)"
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@.venv/bin/python $(INSTALL) -e ".[$(EXTRAS)]"
	@touch .venv/core $@

.venv-core/deps: pyproject.toml constraints.txt
	@echo "== installing pytest into .venv-core"
	@$(PYTHON) -m venv --clear .venv-core
	@.venv-core/bin/python $(INSTALL) pytest pytest-xdist hypothesis
	@touch $@
