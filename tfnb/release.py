"""The version of this package: the one place in the source where it stands, from which the build takes it, too.

It is imported before everything else, and refuses a Python that is too old to read the rest. Invariant:
labextension/package.json, which npm and JupyterLab read, has the same version (tests/test_packaging.py).
"""

from __future__ import annotations

import sys

__all__ = ["VERSION"]

VERSION = "0.1.0"
_OLDEST = (3, 10)  # requires-python in pyproject.toml

if sys.version_info < _OLDEST:
    raise ImportError(
        f"tfnb needs Python 3.10 or later; {sys.executable} is {sys.version.split()[0]}\n"
        "make an environment of a newer one, and install tfnb there: python3.12 -m venv NEW"
    )
