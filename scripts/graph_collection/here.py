"""Runs one graph of the collection under tfnb and compares its results with the kept ones: `here.py RESULT`.

Prints `equal`, `refused: why` or `differs: where`. The result file is one that `there.py` of this run has written.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tfnb as tf
from tfnb.errors import OpError

__all__ = ["difference", "main"]


def difference(wanted: Any, got: Any) -> str:
    """Returns in which way two values differ; "" if they are equal but for rounding."""
    x, y = np.asarray(wanted), np.asarray(got)
    if x.shape != y.shape:
        return f"shape {y.shape} for {x.shape}"
    if x.dtype.kind not in "fcV":
        return "" if x.tolist() == y.tolist() else f"{int((x != y).sum())} of {x.size} elements"
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    x, y = x.astype(wide), y.astype(wide)
    finite = np.isfinite(x)
    if not np.array_equal(finite, np.isfinite(y)):
        return "finite and infinite numbers"
    scale = float(np.abs(x[finite]).max(initial=0.0))
    error = float(np.abs(x[finite] - y[finite]).max(initial=0.0))
    close = np.allclose(x[finite], y[finite], rtol=2e-3, atol=1e-4 * scale + 1e-6)
    return "" if close else f"by {error:.3g}, largest number {scale:.3g}"


def main(path: str) -> None:
    """Compares one graph."""
    kept = pickle.loads(Path(path).read_bytes())
    definition = tf.GraphDef()
    definition.ParseFromString(kept["graph"])
    found = []
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.import_graph_def(definition, name="")
            values = session.run(list(kept["values"]), kept["feeds"])
    except OpError as e:
        print(f"refused: {str(e).splitlines()[0][:200]}")
        return
    for (name, wanted), got in zip(kept["values"].items(), values, strict=True):
        what = difference(wanted, got)
        if what:
            found.append(f"{name} {what}")
    print(f"differs: {len(found)} of {len(values)}: {'; '.join(found[:3])}" if found else "equal")


if __name__ == "__main__":
    main(sys.argv[1])
