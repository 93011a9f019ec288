# PyTorch, whose loader reads our data sets, and what reads the images that are extracted.
#   make torch    set it up (5 GB on disk), then run the tests in tests/torch

TORCH := torch==2.14.1 torchvision==0.29.1 webdataset==1.0.2 pillow

.PHONY: torch
torch: .envs/torch/installed
	.envs/torch/bin/python -m pytest tests/torch

# The same Python as MXNet's: see peers.mk.
.envs/torch/ready: torch.mk
	test -x .envs/torch/bin/python || $(PYTHON311) -m venv .envs/torch
	.envs/torch/bin/python -m pip install --quiet --upgrade pip
	.envs/torch/bin/python -m pip install --quiet $(TORCH)
	touch $@

.envs/torch/installed: .envs/torch/ready $(SOURCES)
	rm -rf build
	.envs/torch/bin/python -m pip install --quiet --group test .
	.envs/torch/bin/python -m pip install --quiet --force-reinstall --no-deps .
	rm -rf build
	touch $@
