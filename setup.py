"""Only the compiled kernel is described here; everything else is in pyproject.toml."""

from Cython.Build import cythonize
from setuptools import Extension, setup

setup(ext_modules=cythonize([Extension("rec2idx._walk", ["src/rec2idx/_walk.pyx"])]))
