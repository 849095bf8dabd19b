"""CONTRIBUTING.md is true: its worked example makes an op that passes the catalogue tests; its paths exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import test_catalogue
import test_opencl
from building import CATALOG
from cases import Case, arr

import tfnb as tf
import tfnb.ops.activations as family
from tfnb.ops.catalog import op_function
from tfnb.ops.math_unary import SIGMOID, TANH

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def _block(kind: str) -> str:
    return re.search(rf"```python {kind}\n(.*?)```", TEXT, re.DOTALL).group(1)


@pytest.fixture
def mish(monkeypatch):
    """The op of the example, in the catalogue for the time of a test, with its cases."""
    place = {**vars(family), "TANH": TANH, "SIGMOID": SIGMOID}
    exec(compile(_block("op"), "CONTRIBUTING.md", "exec"), place)
    table = {**CATALOG._ops, "Mish": place["MISH"]}
    monkeypatch.setattr(CATALOG, "_ops", table)
    found = {"Case": Case, "arr": arr}
    exec(compile(_block("cases"), "CONTRIBUTING.md", "exec"), found)
    monkeypatch.setitem(test_catalogue.BY_OP, "Mish", found["CASES"])
    monkeypatch.setitem(test_opencl.BY_OP, "Mish", found["CASES"])
    return place["MISH"], found["CASES"]


def test_the_example_passes_the_catalogue_tests(mish):
    _op, cases = mish
    test_catalogue.test_definition_is_complete("Mish")
    test_catalogue.test_has_a_case("Mish")
    for case in cases:
        test_catalogue.test_host_gives_what_was_inferred(case, "shapes")
        test_catalogue.test_gradient(case, "shapes")


@pytest.mark.opencl
def test_the_example_runs_on_opencl_and_trains(mish):
    op, _ = mish
    test_opencl.test_equals_the_host("Mish")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.Variable([0.5, -1.0, 3.0])
        y = op_function(op, "nn.mish")(x, name="mine")
        assert y.op.name == "mine"
        step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
        sess.run(x.initializer)
        before = sess.run(y)
        sess.run(step)
        assert sess.run(tf.reduce_sum(y)) < np.sum(before)


PATHS = re.findall(r"`(tfnb/[a-z_/]+\.py):([a-z_]+)`", TEXT)


@pytest.mark.parametrize(("path", "name"), PATHS, ids=lambda v: v)
def test_the_way_of_a_step_names_what_exists(path, name):
    tree = ast.parse((ROOT / path).read_text())
    assert name in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
