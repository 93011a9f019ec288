"""Inputs that a fuzzer makes up, for what is compiled and for what reads bytes of others.

`make fuzz` builds the kernel with sanitizers and with the counters that tell atheris (libFuzzer for
Python) which inputs reach something new. Each target takes any bytes, and holds what comes out
against plain Python. What is found becomes a test beside the others.
"""
