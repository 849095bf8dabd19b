"""The handwritten digits: those of the user's file, or the smaller set in the package.

Invariant: nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tfnb.datasets import mnist
from tfnb.v1.keras.datasets.image_sets import Split

__all__ = ["load_data"]


def load_data(path: str = "mnist.npz") -> Split:
    """Returns ((train images, train labels), (test images, test labels)), uint8 [n, 28, 28] and [n].

    They are those of the file `path`, absolute or below ~/.keras/datasets, and else the 10,000 digits of the package.
    """
    file: Any = Path(path) if Path(path).is_absolute() else Path.home() / ".keras" / "datasets" / path
    if not file.exists():
        return mnist.load_data()
    with np.load(file, allow_pickle=False) as data:
        return (data["x_train"], data["y_train"]), (data["x_test"], data["y_test"])
