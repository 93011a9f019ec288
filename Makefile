# Verbs of this repository. Each sets up what it needs; most need no more than Python and a C
# compiler.
#   make demo    index the sample in examples/
#   make test    the quick tests, against the installed package
#   make faults  a fault at each system call of every command that writes
#   make check   everything that CI does
#   make fuzz    inputs that a fuzzer makes up: see fuzz.mk
#   make bench   speed, beside DALI's tool under MXNet (SCALE=0.1 smaller files, COLD=1 cold too)

PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml setup.py $(shell find src -name '*.py' -o -name '*.pyx' -o -name '*.pyi')

.PHONY: demo test faults check format lint types sanitize versions clean

include peers.mk bench.mk remote.mk torch.mk fuzz.mk

demo: .venv/installed
	$(BIN)/rec2idx examples/sample.rec
	head -n 3 examples/sample.idx

test: .venv/installed
	$(BIN)/python -m pytest

faults: .venv/installed
	$(BIN)/python -m pytest tests/faults/each_call.py tests/faults/races.py

# A check finds the same when it is run again; new inputs are for who runs `make fuzz`.
check: SEED := 1
check: lint types test faults sanitize fuzz versions peers remote cluster torch

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

KERNEL := $(addprefix rec2idx.,_walk _format _heads _tally _magic _lines _pairs _spans _layout _records _rename)
types: .venv/installed
	$(BIN)/mypy
	cd .venv && bin/stubtest --allowlist ../tests/stubtest.allow $(KERNEL)

# The kernel built to stop at a read outside its buffers, undefined arithmetic and the like.
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
sanitize: .envs/sanitize/installed
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	.envs/sanitize/bin/python -m pytest tests/test_walk.py tests/test_damage.py tests/test_recordio.py \
		tests/test_scan.py tests/test_streams.py tests/test_select.py tests/test_info.py \
		tests/test_salvage.py tests/test_lines.py tests/test_lines_kernel.py tests/test_spans.py \
		tests/test_check_pair.py tests/test_check_lines.py tests/test_check_readers.py \
		tests/test_framing.py tests/test_records_kernel.py tests/test_indexed.py \
		tests/test_record_writing.py tests/test_dataset.py

.envs/sanitize/installed: .venv/installed
	test -x .envs/sanitize/bin/python || $(BIN)/python -m venv .envs/sanitize
	.envs/sanitize/bin/python -m pip install --quiet --upgrade pip
	rm -rf build
	CFLAGS="$(SANITIZERS) -O1 -g" LDFLAGS="$(SANITIZERS)" \
	.envs/sanitize/bin/python -m pip install --quiet --force-reinstall --no-cache-dir --group test .
	rm -rf build
	touch $@

# The quick tests under every supported Python that is here.
versions:
	tests/versions

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
	rm -rf .venv .envs .fuzz build dist src/*.egg-info src/rec2idx/*.so src/rec2idx/*.c
