# Everything sets itself up. All that must be there is Python >= 3.11, git and make.
PYTHON ?= python3
UV ?= $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
BIN := .venv/bin
PACKAGES := gateway adapters agent storage

.PHONY: run demo test test-all check bench crash pictures wheel sbom licences audit image setup

run: setup
	@$(BIN)/bough run $(if $(CONFIG),--config $(CONFIG))

demo: setup
	@$(BIN)/bough demo

# Many tests wait for processes: more workers than cores pay off. Those of a file share what they
# start, so one worker runs them all, and files come in their order: the long ones are not the last.
WORKERS ?= 4
# Every worker reads all the tests: what pytest made of them is kept, whatever the environment says.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

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

# Rounds in which everything goes wrong; tests/crash/README.md says what they count.
ROUNDS ?= 100
SEED ?= 1
DATABASE ?= both
PROCESSES ?= 1
COUNT ?= 3
LANES ?= 2
crash: setup
	$(BIN)/python -m tests.crash.rounds --rounds $(ROUNDS) --seed $(SEED) --database $(DATABASE) \
	    --processes $(PROCESSES) --count $(COUNT) --lanes $(LANES) $(if $(FAULTS),--faults $(FAULTS))

# Those at the top of the README.
pictures: setup
	$(BIN)/python -m tests.support.pictures

# The same bytes wherever and whenever it is made: what builds it is locked, and no time goes into it.
wheel: | $(UV)
	SOURCE_DATE_EPOCH=1767225600 $(UV) build --wheel --quiet --out-dir dist \
		--build-constraints deploy/build-requirements.txt --require-hashes

# What the lock file holds besides the tools for developing, in CycloneDX.
sbom: | $(UV)
	@mkdir -p dist
	$(UV) export --frozen --quiet --no-dev --all-extras --format cyclonedx1.5 --output-file dist/bough.cdx.json

licences: setup
	$(BIN)/python -m tests.support.supply.licences

# Asks a service on the network which of the locked versions have known faults.
audit: | $(UV)
	@mkdir -p dist
	$(UV) export --frozen --quiet --no-dev --all-extras --no-emit-project --output-file dist/requirements.txt
	@$(UV) tool run pip-audit==2.9.0 --strict --disable-pip --require-hashes -r dist/requirements.txt || \
		{ echo "make audit: it found faults (above), or could not reach what it asks (PyPI, OSV)" >&2; exit 1; }

# The image's steps in a clean Debian, and a gateway in what comes of it. Needs root, debootstrap,
# bubblewrap and a network, but no Docker.
IMAGE ?= /tmp/bough-image
image: setup
	$(BIN)/python -u -m tests.support.image.clean_root $(IMAGE)

setup: .venv/.ready

.venv/.ready: pyproject.toml uv.lock | $(UV)
	$(UV) sync --frozen --compile-bytecode --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	$(BIN)/python -m compileall -q $(PACKAGES)
	@touch $@

.uv/bin/uv:
	$(PYTHON) -m venv .uv
	.uv/bin/python -m pip install --quiet --disable-pip-version-check uv
