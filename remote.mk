# Files on servers: a real S3 server (moto), a real nginx, and a server that misbehaves on purpose.
# DALI, which peers.mk sets up, reads files on the S3 server, too.
#   make remote    set them up, then run the tests in tests/remote
# A real Dask cluster, of worker processes on this machine.
#   make cluster   run the tests in tests/cluster

.PHONY: remote cluster
remote: .envs/remote/installed .envs/remote/nginx .envs/dali/ready .envs/dali_rec2idx.py
	.envs/remote/bin/python -m pytest tests/remote

cluster: .envs/remote/installed
	.envs/remote/bin/python -m pytest tests/cluster

# An environment of its own, so that the quick tests run without what the extras bring.
.envs/remote/installed: remote.mk .venv/installed
	test -x .envs/remote/bin/python || $(BIN)/python -m venv .envs/remote
	.envs/remote/bin/python -m pip install --quiet --upgrade pip
	rm -rf build
	.envs/remote/bin/python -m pip install --quiet --group test --group remote '.[remote,dask]'
	rm -rf build
	.envs/remote/bin/python -m pip install --quiet --force-reinstall --no-deps .
	touch $@

.envs/remote/nginx: | .envs/remote/installed
	tests/need nginx nginx-light
	touch $@
