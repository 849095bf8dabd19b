"""Small data sets in standard formats, contained in the package so that tutorials need no network.

The interface is that of TensorFlow's early tutorials (`input_data.read_data_sets`). Invariant: nothing is downloaded,
and the error for a damaged file gives its name and the offset.
"""

from __future__ import annotations

from tfnb.datasets import alice, mnist
from tfnb.datasets.batches import DataSet, Datasets

__all__ = ["DataSet", "Datasets", "alice", "mnist"]
