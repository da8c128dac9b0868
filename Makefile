# Everything sets itself up. All that must be there is Python >= 3.11, git and make.
PYTHON ?= python3
UV ?= $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
BIN := .venv/bin
PACKAGES := gateway adapters agent storage

.PHONY: run demo test test-all check bench pictures setup

run: setup
	@$(BIN)/bough run $(if $(CONFIG),--config $(CONFIG))

demo: setup
	@$(BIN)/bough demo

# Many tests wait for processes: more workers than cores pay off. Those of a file share what they
# start, so one worker runs them all, and files come in their order: the long ones are not the last.
WORKERS ?= 4
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: setup
	$(PYTEST)

# The same with five times as many examples for each property.
test-all: setup
	$(PYTEST) --hypothesis-profile thorough

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(UV) lock --check

bench: setup
	$(BIN)/python -m tests.benchmarks

# Those at the top of the README.
pictures: setup
	$(BIN)/python -m tests.support.pictures

setup: .venv/.ready

.venv/.ready: pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen --compile-bytecode --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	$(BIN)/python -m compileall -q $(PACKAGES)
	@touch $@

.uv/bin/uv:
	$(PYTHON) -m venv .uv
	.uv/bin/python -m pip install --quiet --disable-pip-version-check uv
