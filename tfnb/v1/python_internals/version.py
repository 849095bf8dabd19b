"""`tf.version`, and sets of dtypes: what programs print or compare.

Invariant: the versions are those of the graphs that are written, and of the Python that runs them.
"""

from __future__ import annotations

import platform
from typing import Any

from tfnb import types
from tfnb.ir.graphdef.encode import PRODUCER

__all__ = ["API"]

QUANTIZED_DTYPES = frozenset((types.qint8, types.quint8, types.qint16, types.quint16, types.qint32))
_FACTS: dict[str, Any] = {
    "COMPILER_VERSION": platform.python_compiler(),
    "GIT_VERSION": "tfnb",
    "GRAPH_DEF_VERSION": PRODUCER,
    "GRAPH_DEF_VERSION_MIN_CONSUMER": 0,
    "GRAPH_DEF_VERSION_MIN_PRODUCER": 0,
}
API: dict[str, Any] = {
    **_FACTS,
    **{f"version.{name}": value for name, value in _FACTS.items()},
    "QUANTIZED_DTYPES": QUANTIZED_DTYPES,
    "dtypes.QUANTIZED_DTYPES": QUANTIZED_DTYPES,
}
