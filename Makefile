# Driftline. `make help` lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
TOOLS  := $(VENV)/.tools
SHARED := $(VENV)/spark.jsa
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input

# What PySpark's workers need: this interpreter, and an address that works without a network.
export PYSPARK_PYTHON        := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(BIN)/python
export SPARK_LOCAL_IP        ?= 127.0.0.1
# In front of a command that may start Spark.
WITH_JAVA = java_home=$$(scripts/ensure-java) && JAVA_HOME="$$java_home"

# Two workers take file by file, in the order of tests/conftest.py: those that take long first.
TWO = -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test coverage quick bench experiments lint types docs wheel lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## take the tour
	@$(WITH_JAVA) $(BIN)/driftline demo

test: $(TOOLS) $(SHARED) ## run all tests (ARGS="-k word" passes options to pytest)
	@scripts/ensure-postgres
	@$(WITH_JAVA) $(BIN)/python -m pytest -q $(TWO) $(ARGS)

# Measuring doubles what an example costs, and the first ones reach the lines that all reach.
coverage: $(TOOLS) $(SHARED) ## run all tests with few random examples, and show the lines that none reaches
	@scripts/ensure-postgres
	@$(WITH_JAVA) $(BIN)/python -m pytest -q $(TWO) --cov --hypothesis-profile=quick $(ARGS)

quick: $(TOOLS) ## run the quick part of the tests, in under five minutes
	@$(BIN)/python -m pytest -q $(TWO) --hypothesis-profile=quick \
		-m "not spark and not slow and not long" $(ARGS)

bench: $(TOOLS) ## run the benchmarks
	@$(WITH_JAVA) $(BIN)/python -m bench $(ARGS)

experiments: $(TOOLS) ## run the papers' experiments, and write docs/experiments.md (ARGS=--quick)
	@$(BIN)/python -m experiments $(ARGS)

lint: $(TOOLS) ## check the format and the code (ruff)
	@$(BIN)/python -m ruff format --check --quiet . \
		|| { echo "to format these files: $(BIN)/ruff format" >&2; exit 1; }
	@$(BIN)/python -m ruff check --quiet .

types: $(TOOLS) ## check the types (mypy strict)
	@$(BIN)/python -m mypy

docs: $(TOOLS) ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict
	@echo "documentation: site/index.html"

wheel: $(TOOLS) ## build the wheel, kernels compiled, and try it in an environment of its own
	@echo "compiling for all processors of this kind..."
	@$(BIN)/python -m driftline.kernels.build
	@rm -rf build dist && $(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .
	@scripts/try-wheel $(PYTHON)

lock: ## resolve requirements.lock again (UPGRADE=1 takes the newest versions)
	@scripts/check-python $(PYTHON)
	@scripts/lock $(PYTHON) $(if $(UPGRADE),--upgrade)

clean: ## remove everything that make made
	@rm -rf $(VENV) site build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis \
		spark-warehouse metastore_db derby.log
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@rm -f src/driftline/kernels/machine_code.* src/driftline/kernels/caller.*.so

# What running needs; what else development needs comes with the first target that does.
$(READY): requirements.lock pyproject.toml
	@scripts/ensure-venv $(PYTHON) $(VENV)
	@echo "installing what it needs (a minute the first time)..."
	@$(PIP) install --constraint requirements.lock pyspark editables hatchling
	@$(PIP) install --constraint requirements.lock --no-build-isolation -e .
	@echo "compiling (a minute or two the first time)..."
	@$(BIN)/python -m compileall -q src
	@scripts/ensure-compiler $(BIN)/python
	-@$(BIN)/driftline prepare
	@touch $@

$(TOOLS): $(READY)
	@echo "installing the tools for development..."
	@$(PIP) install -r requirements.lock
	@touch $@

# What every JVM of the tests loads, once for all of them. Without it they take longer.
$(SHARED): $(TOOLS)
	-@$(WITH_JAVA) $(BIN)/python -m tests.spark.archive $@
