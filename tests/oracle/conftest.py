"""Makes the case tables of tests/ops importable, and skips all of this where TensorFlow is not installed."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # tf.layers and the recurrent cells need it
TESTS = Path(__file__).parents[1]
CASES = sorted({str(path.parent) for path in (TESTS / "ops").glob("*/cases_*.py")})
HERE = Path(__file__).parent
sys.path[:0] = [
    str(TESTS / "ops"),
    *CASES,
    str(TESTS / "client" / "control_flow"),
    str(TESTS / "v1" / "linear_operators"),
    str(HERE),
    str(HERE / "client"),
]

HAS_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("oracle")
            if not HAS_TENSORFLOW:
                item.add_marker(pytest.mark.skip(reason="TensorFlow is not installed (make oracle)"))
