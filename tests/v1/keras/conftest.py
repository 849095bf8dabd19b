"""A model of Keras lives in the default graph, which its tests clear themselves."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def graph() -> None:
    """Stands for the graph of their own that other tests of this house build into."""
