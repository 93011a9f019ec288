# Verbs of this repository. Each sets up what it needs; none needs more than Python and a C compiler.
#   make demo    index the sample in examples/
#   make test    the quick tests, against the installed package
#   make check   everything that CI does
#   make bench   speed, beside DALI's tool under MXNet (SCALE=0.1 for smaller files)

PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml setup.py $(shell find src -name '*.py' -o -name '*.pyx' -o -name '*.pyi')

.PHONY: demo test check format lint types peers versions sanitize bench clean

demo: .venv/installed
	$(BIN)/rec2idx examples/sample.rec
	head -n 3 examples/sample.idx

test: .venv/installed
	$(BIN)/python -m pytest

check: lint types test peers

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/installed
	$(BIN)/mypy
	cd .venv && bin/stubtest rec2idx._walk

# The package is installed as users install it: from a built wheel, never as a path to src.
.venv/installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	rm -rf build
	$(BIN)/python -m pip install --quiet --group test --group lint
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps .
	$(BIN)/python -m pip install --quiet .
	touch $@

clean:
	rm -rf .venv .envs build dist src/*.egg-info src/rec2idx/*.so src/rec2idx/_walk.c
