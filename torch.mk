# PyTorch, whose loader reads our data sets.
#   make torch    set it up (5 GB on disk), then run the tests in tests/torch

TORCH := torch==2.14.1 numpy==2.5.5

.PHONY: torch
torch: .envs/torch/installed
	.envs/torch/bin/python -m pytest tests/torch

.envs/torch/installed: torch.mk .venv/installed
	test -x .envs/torch/bin/python || $(BIN)/python -m venv .envs/torch
	.envs/torch/bin/python -m pip install --quiet --upgrade pip
	rm -rf build
	.envs/torch/bin/python -m pip install --quiet --group test . $(TORCH)
	rm -rf build
	.envs/torch/bin/python -m pip install --quiet --force-reinstall --no-deps .
	touch $@
