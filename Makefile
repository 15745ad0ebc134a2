# The menu of commands. Each target does its own set-up: a machine with Python 3.11 or newer, make and git is enough.
# `make` or `make help` lists them. PYTHON=/path/to/python selects the interpreter that .venv is made with.

.DEFAULT_GOAL := help

ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif
PY := $(BIN)/python

FIND_PYTHON := for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	if "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo "$$p"; break; fi; done

# An environment that belongs to another place (a moved or copied folder) or to another PYTHON is made anew.
ifneq ($(shell cat .venv/made-for 2>/dev/null | head -n 1),$(CURDIR))
STALE := remake
else ifneq ($(PYTHON),)
ifneq ($(shell sed -n 2p .venv/made-for 2>/dev/null),$(PYTHON))
STALE := remake
endif
endif

TESTS ?= tests
ARGS ?=
DATA ?=
OUT ?= out

.PHONY: help demo services services-down test test-deep chaos lint format types bench bench-servers eval fragmentation wheel check clean remake

help: ## list the commands
	@echo "usage: make COMMAND [PYTHON=python3.12]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: .venv/base.stamp ## watch a memory being formed, changed, explained and rebuilt
	@$(PY) -m mnemolog demo $(ARGS)

services: .venv/dev.stamp ## start Kafka and PostgreSQL on this machine, in .services/ (ARGS="--brokers 3")
	@$(PY) infra/services.py up $(ARGS)

services-down: ## end them, and remove .services/ with all data
	@if [ -d .services ] || [ -n "$(ARGS)" ]; then $(PY) infra/services.py down $(ARGS); else echo "nothing was up"; fi

test: .venv/dev.stamp ## run the tests (TESTS=path ARGS=options)
	$(PY) -m pytest -q $(TESTS) $(ARGS)

test-deep: .venv/dev.stamp ## run the tests with many more generated examples
	HYPOTHESIS_PROFILE=deep $(PY) -m pytest -q $(TESTS) $(ARGS)

chaos: .venv/dev.stamp ## faults under load, on servers of its own (ROUNDS=100 SEED=1 KIND=kill-kafka,twins TURNS=300)
	@ROUNDS="$(ROUNDS)" SEED="$(SEED)" KIND="$(KIND)" TURNS="$(TURNS)" $(PY) -m pytest -q -s tests/chaos $(ARGS)

lint: .venv/dev.stamp ## check style and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: .venv/dev.stamp ## put style and formatting right where that is safe
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: .venv/dev.stamp ## check types with mypy (strict) and pyright
	$(PY) -m mypy
	$(PY) -m pyright --warnings

bench: .venv/dev.stamp ## measure speed and memory beside their floors; writes out/bench.json
	$(PY) benchmarks/bench.py --out "$(OUT)/bench.json" $(ARGS)

bench-servers: .venv/dev.stamp ## the same on Kafka and PostgreSQL; writes out/bench-servers.json (ARGS="--quick")
	$(PY) benchmarks/on_servers.py --out "$(OUT)/bench-servers.json" $(ARGS)

eval: .venv/dev.stamp ## measure recall on data of your own: make eval DATA=dir
	@if [ -z "$(DATA)" ]; then echo "eval: name the folder with the data: make eval DATA=dir" >&2; exit 2; fi
	$(PY) benchmarks/eval_recall.py --data "$(DATA)" $(ARGS)

fragmentation: .venv/dev.stamp ## what reaches the agent, beside plain retrieval, on dialogues of our own (DATA=dir: also task dialogues)
	$(PY) benchmarks/fragmentation.py $(if $(DATA),--data "$(DATA)") $(ARGS)

wheel: .venv/dev.stamp ## build the sdist and the wheel into dist/
	$(PY) -m build --outdir dist .

check: lint types test ## lint, types and tests: what to run before a commit

clean: services-down ## remove the environment and everything that was built
	rm -rf .venv build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info

remake:

.venv/made-for: $(STALE)
	@set -e; python="$(PYTHON)"; \
	if [ -z "$$python" ]; then python=$$($(FIND_PYTHON)); fi; \
	if [ -z "$$python" ]; then echo "mnemolog needs Python 3.11 or newer; none was found: install one, or say PYTHON=/path/to/python" >&2; exit 1; fi; \
	if ! "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then echo "mnemolog needs Python 3.11 or newer; $$python is older" >&2; exit 1; fi; \
	if [ ! -e .venv/made-for ] && "$(PY)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		echo "using the .venv that is there"; \
	else \
		echo "making .venv with $$("$$python" --version)"; rm -rf .venv; "$$python" -m venv .venv; \
	fi; \
	printf '%s\n%s\n' "$(CURDIR)" "$(PYTHON)" > .venv/made-for

.venv/base.stamp: .venv/made-for pyproject.toml
	@echo "installing mnemolog and what it needs (once; about half a minute)"
	@$(PY) -m pip install -q --disable-pip-version-check -e .
	@touch .venv/base.stamp

.venv/dev.stamp: .venv/made-for pyproject.toml
	@echo "installing mnemolog, what it needs and the tools for work on it (once; about a minute)"
	@$(PY) -m pip install -q --disable-pip-version-check -e ".[dev]"
	@touch .venv/base.stamp .venv/dev.stamp
