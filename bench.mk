# Speed, beside DALI's tool under MXNet, which peers.mk sets up: see benchmarks/README.md.

SCALE ?= 1
ROUNDS ?= 5
COLD ?=

.PHONY: bench
bench: .venv/installed .envs/mxnet/ready .envs/dali_rec2idx.py .envs/remote/installed
	$(BIN)/python -m benchmarks.bench --scale $(SCALE) --rounds $(ROUNDS) $(if $(COLD),--cold)
