"""Settings of the tests against real peers; `make peers` sets the peers up and runs the tests."""

# These run in a peer's environment, or write what is pinned; neither holds tests or can be
# imported here.
collect_ignore = [
    "in_mxnet.py",
    "in_mxnet_lines.py",
    "in_dali.py",
    "in_dali_lines.py",
    "in_dali_check.py",
    "in_mxnet_check.py",
    "in_mxnet_recordio.py",
    "pin.py",
]
