# Inputs that a fuzzer makes up, for the kernel under sanitizers and for what reads foreign bytes.
#   make fuzz                a minute for all targets of tests/fuzz
#   make fuzz SECONDS=3600   longer; .fuzz keeps what reached something new, and runs go on from there
#   make fuzz SEED=1         begins the same way each time, without what was kept
#   make fuzz TARGETS="feed records"
#   make fuzz AGAIN=.fuzz/feed-crash-...   runs once more what was found

SECONDS ?= 60
SEED ?=
TARGETS ?=
AGAIN ?=
CLANG ?= clang

.PHONY: fuzz
fuzz: .envs/fuzz/installed
	PYTHONPATH=tests .envs/fuzz/bin/python -m fuzz --seconds $(SECONDS) \
		$(if $(SEED),--seed $(SEED)) $(if $(AGAIN),--again $(AGAIN)) $(TARGETS)

# The counters that tell atheris where an input leads are clang's. The sanitizers are told to the
# compiler alone: when it runs, atheris brings the code behind them. Through pointers of another type
# Python calls all the time.
COUNTED = $(CLANG) $(SANITIZERS) -fsanitize=fuzzer-no-link -fno-sanitize=function
.envs/fuzz/installed: fuzz.mk .venv/installed
	tests/need $(CLANG) clang
	test -x .envs/fuzz/bin/python || $(BIN)/python -m venv .envs/fuzz
	.envs/fuzz/bin/python -m pip install --quiet --upgrade pip
	.envs/fuzz/bin/python -m pip install --quiet --group fuzz
	rm -rf build
	CC="$(COUNTED)" CFLAGS="-O1 -g" LDSHARED="$(CLANG) -shared" \
	.envs/fuzz/bin/python -m pip install --quiet --force-reinstall --no-cache-dir .
	rm -rf build
	touch $@
