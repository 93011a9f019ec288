"""Only what is compiled is described here; everything else is in pyproject.toml."""

from Cython.Build import cythonize
from setuptools import Extension, setup

COMPILED = (
    "_walk",
    "_format",
    "_heads",
    "_tally",
    "_magic",
    "_lines",
    "_pairs",
    "_spans",
    "_layout",
    "_records",
    "_rename",
)

setup(
    ext_modules=cythonize(
        [Extension(f"rec2idx.{name}", [f"src/rec2idx/{name}.pyx"]) for name in COMPILED]
    )
)
