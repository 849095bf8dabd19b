"""Runs graphs of the collection under tfnb and compares them with the kept results: `here.py [--named] RESULT...`.

Prints a line for each: `equal`, `refused: why` or `differs: where`, behind the file's name with `--named`. The result
files are those that `there.py` or `record.py` of this run has written.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tfnb as tf
from tfnb.errors import OpError

__all__ = ["compared", "difference", "main"]


def difference(wanted: Any, got: Any) -> str:
    """Returns in which way two values differ; "" if they are equal but for rounding."""
    x, y = np.asarray(wanted), np.asarray(got)
    rounding = 2.0**-7 if y.dtype.name == "bfloat16" else 2e-3
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
    close = np.allclose(x[finite], y[finite], rtol=rounding, atol=1e-4 * scale + 1e-6)
    return "" if close else f"by {error:.3g}, largest number {scale:.3g}"


def compared(path: str) -> str:
    """Returns what becomes of one graph."""
    kept = pickle.loads(Path(path).read_bytes())
    definition = tf.GraphDef()
    definition.ParseFromString(kept["graph"])
    found = []
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.import_graph_def(definition, name="")
            values = session.run(list(kept["values"]), kept["feeds"])
    except OpError as e:
        return f"refused: {str(e).splitlines()[0][:200]}"
    except Exception as e:
        return f"fails: {type(e).__name__}: {str(e)[:200]}"
    for (name, wanted), got in zip(kept["values"].items(), values, strict=True):
        what = difference(wanted, got)
        if what:
            found.append(f"{name} {what}")
    return f"differs: {len(found)} of {len(values)}: {'; '.join(found[:3])}" if found else "equal"


def main(arguments: list[str]) -> None:
    """Compares the graphs one after the other."""
    named = arguments[0] == "--named"
    for path in arguments[named:]:
        outcome = " ".join(compared(path).split())
        print(f"{Path(path).name}: {outcome}" if named else outcome, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
