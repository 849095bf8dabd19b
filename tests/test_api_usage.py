"""The names and keywords that programs of the time used are here; scripts/api_usage.py prints what is missing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "api_usage.py"
SHARE = 0.99  # raise it when names arrive
# Never a keyword of TensorFlow's function.
REFUSED = {"tf.variable_scope: name="}


@pytest.fixture(scope="module")
def usage():
    spec = importlib.util.spec_from_file_location("api_usage", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["api_usage"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["api_usage"]


def test_the_names_exist(usage):
    found = usage.report()
    assert found.share >= SHARE, found.missing
    assert found.total > 9_000


def test_the_keywords_bind(usage):
    assert set(usage.report().unbound) == REFUSED


def test_what_does_not_bind_is_seen(usage):
    assert usage.unbound("tf.nn.relu", 9, ["features", "axis"]) == [
        "tf.nn.relu: 9 positional arguments",
        "tf.nn.relu: axis=",
    ]
    assert usage.unbound("tf.nn.no_such_function", 1, []) == []
