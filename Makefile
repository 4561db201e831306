# The two commands of a fresh machine are `make run` and `make test`; both install what is missing.
.DEFAULT_GOAL := help
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# For what needs the standard library only, and is run where the images are built.
PYTHON3 := $(or $(wildcard $(BIN)/python),python3)

.PHONY: help install run ui test test-full check regen clean images-lock images image-local

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: ## make .venv and install the system packages that may be installed
	@infra/install.sh

run: install ## build a verified corpus of HIP kernels from the built-in problems, and a release
	@$(BIN)/kernelvault run

ui: install ## look at the records of past runs in the browser
	@$(BIN)/kernelvault ui

check: install ## lint, format, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check ## the tests of every change (at most 12 minutes on 2 cores)
	$(PYTEST) -n 2 --dist loadfile -m "not slow and not gpu"

test-full: check ## every test that needs no GPU (at most 75 minutes); adds a line to docs/test-report.md
	$(BIN)/python infra/full_test.py

regen: install ## write generated documentation again
	$(PYTEST) --regen tests/docs

images-lock: ## write the digests of the base images, asked of their registries, to infra/images/images.lock
	@$(PYTHON3) -m infra.images.lock

images: ## build the container images on the locked digests (infra/images)
	@$(PYTHON3) -m infra.images.build

image-local: install ## make the CPU sandbox image that uses this machine's /usr, without a registry
	@$(BIN)/python -m infra.images.local_image

clean: ## remove build products; the corpus, releases and .venv stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
