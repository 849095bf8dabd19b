"""Small real data in standard formats, shipped with the package so that tutorials need no network.

The interface is the one that programs of the papers' time expect (`input_data.read_data_sets`).
Invariant: nothing is downloaded, and a damaged file is refused with its name and the offset.
"""

from __future__ import annotations

from tfnb.datasets import mnist
from tfnb.datasets.batches import DataSet, Datasets

__all__ = ["DataSet", "Datasets", "mnist"]
