"""Each test builds into a graph of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfnb as tf

sys.path.insert(0, str(Path(__file__).parent / "linear_operators"))  # its operators
sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))  # evaluate.py: values by host kernels alone


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph
