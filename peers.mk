# The peers that we are compared with, each in an environment of its own under .envs/, where they
# stay until `make clean`.
#   make peers    set them up, then run the tests in tests/peers
#   make pins     write tests/pinned/ anew: what the peers did, for the quick tests
#   make sample   write examples/sample.rec and its index anew

# NumPy 1.24 removed np.bool, which MXNet uses.
MXNET := numpy==1.23.5 mxnet==1.9.1 opencv-python-headless==4.7.0.72
DALI := nvidia-dali-cuda120==2.4.0

# That NumPy has wheels up to Python 3.11. A python3.11 on the path may be a shim that only says
# that it is not installed, so each is tried.
PYTHON311 ?= $(shell IFS=:; for folder in $$PATH; do \
	"$$folder/python3.11" -c 'import ensurepip' 2> /dev/null && echo "$$folder/python3.11" && exit; \
	done; echo python3)

.PHONY: peers pins sample

peers: .venv/installed .envs/mxnet/ready .envs/dali/ready .envs/dali_second/ready
	$(BIN)/python -m pytest tests/peers

pins: .venv/installed .envs/mxnet/ready
	$(BIN)/python tests/peers/pin.py

sample: .envs/mxnet/ready
	.envs/mxnet/bin/python examples/make_sample.py examples/sample.rec
	.envs/mxnet/bin/python .envs/dali_rec2idx.py examples/sample.rec examples/sample.mxnet.idx

# MXNet, and DALI's tool where the rest of DALI cannot be imported in place of it.
.envs/mxnet/ready: peers.mk .envs/dali_rec2idx.py
	$(PYTHON311) -c 'import sys; sys.exit(sys.version_info >= (3, 12) and "MXNet needs Python 3.11 \
	or older; say where: make peers PYTHON311=/path/to/python3.11")'
	rm -rf .envs/mxnet
	$(PYTHON311) -m venv .envs/mxnet
	.envs/mxnet/bin/python -m pip install --quiet --upgrade pip
	.envs/mxnet/bin/python -m pip install --quiet --only-binary numpy,opencv-python-headless $(MXNET)
	.envs/mxnet/bin/python -W ignore -c 'import cv2, mxnet'
	touch $@

# DALI's wheel is large, and goes into two environments.
.envs/download/ready: peers.mk | .venv/installed
	$(BIN)/python -m pip download --quiet --no-deps --dest .envs/download $(DALI)
	touch $@

.envs/dali/installed: .envs/download/ready
	rm -rf .envs/dali
	$(BIN)/python -m venv .envs/dali
	.envs/dali/bin/python -m pip install --quiet --find-links .envs/download $(DALI)
	touch $@

.envs/dali_rec2idx.py: .envs/dali/installed
	cp .envs/dali/lib/python3*/site-packages/rec2idx.py $@

.envs/wheel/ready: .venv/installed
	rm -rf build .envs/wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir .envs/wheel .
	touch $@

# First DALI, then we.
.envs/dali/ready: .envs/dali/installed .envs/wheel/ready
	.envs/dali/bin/python -m pip install --quiet --force-reinstall --no-deps .envs/wheel/*.whl
	.envs/dali/bin/python -m pip install --quiet .envs/wheel/*.whl
	touch $@

# First we, then DALI; without what DALI needs, since only its files and ours meet here.
.envs/dali_second/ready: .envs/download/ready .envs/wheel/ready
	rm -rf .envs/dali_second
	$(BIN)/python -m venv .envs/dali_second
	.envs/dali_second/bin/python -m pip install --quiet .envs/wheel/*.whl
	.envs/dali_second/bin/python -m pip install --quiet --no-deps --find-links .envs/download $(DALI)
	touch $@
