"""Operations that answers and cells register are forgotten after each test: other tests look at the library's alone."""

from __future__ import annotations

import pytest

from tfnb.ops import CATALOG


@pytest.fixture(autouse=True)
def operations_of_the_library(monkeypatch):
    monkeypatch.setattr(CATALOG, "_ops", dict(CATALOG._ops))
