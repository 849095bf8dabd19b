"""docs/api_status.md is current, and the share of TensorFlow 1.15's names that tfnb has does not fall."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import tfnb as tf

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
WEIGHTED, WITHOUT_CONTRIB = 0.99, 0.58  # raise them when names arrive


@pytest.fixture(scope="module")
def status():
    sys.path.insert(0, str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("api_status", SCRIPTS / "api_status.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["api_status"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(SCRIPTS))
    del sys.modules["api_status"]


@pytest.fixture(scope="module")
def found(status):
    return list(status.statuses())


def test_the_shares(status, found):
    assert status.share(found, status.uses()) >= WEIGHTED
    assert status.share(status.parts(found)["without contrib"]) >= WITHOUT_CONTRIB


def test_the_page_is_current(status, found):
    assert status.PAGE.read_text(encoding="utf-8") == status.page(found), "run scripts/api_status.py"


def test_what_lacks_is_seen(status, found):
    assert status.lacking(lambda a, *, b: a, "a,b,c") == ["c"]
    assert status.Status("tf.contrib.slim.nets.vgg.vgg_a", "missing").rest == "nets.vgg.vgg_a"
    assert not {s.symbol for s in found if s.state == "refused" and s.symbol.startswith("tf.nn.")}


def test_what_is_refused_says_why():
    with pytest.raises(AttributeError, match=r"tf\.contrib\.tpu\.rewrite is not in tfnb: .* OpenCL"):
        tf.contrib.tpu.rewrite  # noqa: B018
    with pytest.raises(AttributeError, match=r"tf\.GradientTape is not in tfnb: .*tf\.Session"):
        tf.GradientTape  # noqa: B018
    assert not hasattr(tf.contrib.tensor_forest, "__wrapped__")
