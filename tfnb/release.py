"""The version of this package: the one place in the source where it stands, from which the build takes it, too.

Invariant: labextension/package.json, which npm and JupyterLab read, has the same (tests/test_packaging.py).
"""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "0.1.0"
