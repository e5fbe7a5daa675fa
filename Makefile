# Trunkline: every task of the project. `make` alone lists them.
# Everything is installed into .venv inside the clone; nothing outside the clone changes.

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
# Without byte code every worker, and every process that a test starts, would compile all that it imports.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help attach-hermes attach-openclaw env env-demo install demo test test-all test-nightly test-matrix test-postgres check format bench fuzz-bugs mutants test-pythons snapshots lock test-lowest release clean

help: ## list these tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

env: ## create .venv with the locked packages (PYTHON=python3.12 chooses the interpreter of a new one)
	@sh tools/env.sh .venv "$(PYTHON)"

install: ## create .venv with the packages that `trunkline` can use, without the tools of developers
	@sh tools/env.sh --parts 2 .venv "$(PYTHON)"

env-demo:
	@sh tools/env.sh --parts 1 .venv "$(PYTHON)"

demo: env-demo ## the guided tour; a plain report where there is no terminal
	@echo 'trunkline: starting the tour'
	@$(BIN)/trunkline tour $(ARGS)

test: env ## the tests, with a sample of the slow ones, in three minutes (ARGS='-k name' passes options on to pytest)
	@$(PYTEST) -n auto --dist worksteal $(ARGS)

test-all: env ## every test, as CI runs them, but for those of the night
	@$(PYTEST) -n auto --dist worksteal --all $(ARGS)

test-nightly: env ## every test, with those that take too long for CI
	@$(PYTEST) -n auto --dist worksteal --nightly $(ARGS)

test-matrix: env ## the adapter of Matrix against a real homeserver, which is installed into .synapse
	@tools/synapse.sh
	@CI=1 $(PYTEST) --all tests/matrix $(ARGS)

test-postgres: env ## what is tested on a PostgreSQL server, which is installed where it is missing (as root, with apt-get)
	@tools/postgres.sh
	@CI=1 $(PYTEST) -n auto --all -k postgres tests/contract tests/cli/processes tests/kill $(ARGS)

check: env ## lint, format, types and import arrows; all of them run, whichever fails
	@failed=; \
	for step in 'ruff check' 'ruff format --check' 'basedpyright --warnings' 'lint-imports --no-logo'; do \
		echo "== $$step"; \
		$(BIN)/$$step || failed="$$failed [$$step]"; \
	done; \
	if [ -n "$$failed" ]; then echo "check: failed:$$failed"; exit 1; fi; \
	echo 'check: all passed'

format: env ## format the code and apply the safe fixes (ARGS='core/keys.py' for some files only)
	@$(BIN)/ruff check --fix-only --quiet $(ARGS)
	@$(BIN)/ruff format $(ARGS)

bench: env ## the benchmarks
	@$(BIN)/python -m tests.bench $(ARGS)

fuzz-bugs: env ## the bug switches that random scenarios find, and how small they get (ARGS='--seconds 120')
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests.fuzz $(ARGS)

mutants: env ## small defects of core, and which of them scenarios and invariants find (ARGS='--count 400 --seed 1')
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests.mutants $(ARGS)

test-pythons: ## the determinism tests on every supported Python found on this machine
	@sh tools/test-pythons.sh

attach-openclaw: ## install OpenClaw, a gateway that is not ours, into .gateways, for `trunkline attach`
	@tools/attach/openclaw.sh

attach-hermes: ## install Hermes Agent, a gateway that is not ours, into .gateways, for `trunkline attach`
	@PYTHON="$(PYTHON)" tools/attach/hermes.sh

snapshots: env ## take the pictures of the terminal app again, and delete those no longer used
	@$(PYTEST) tests/snapshot --all --snapshot-update $(ARGS)

lock: ## re-pin requirements.lock (needs uv on PATH)
	@sh tools/lock.sh

test-lowest: ## the server, a scenario and each platform with the oldest packages that are allowed (needs uv on PATH)
	@sh tools/lowest.sh "$(PYTHON)"

release: env ## build sdist and wheel, and try them in an empty environment; nothing is published
	@$(BIN)/python -m tools.release

clean: ## remove the environments, caches and build output
	rm -rf .attach .gateways .venv .venv.lock .venv.log .venvs .synapse .synapse.lock .synapse.log build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache snapshot_report.html
	find core sim app tests tools -type d -name __pycache__ -exec rm -rf {} +
