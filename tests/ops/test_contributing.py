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
import tfnb.ops.nn.activations as family
from tfnb.ir.scalar import BINARY, COMPARE, PREDICATE, UNARY
from tfnb.ir.scalar_host import elementary
from tfnb.ir.step_graph.edit import GraphEdit
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ir.step_graph.verify import verify
from tfnb.ops.catalog import op_function
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.passes.prune import Request, prune

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


PATHS = re.findall(r"`((?:tfnb|labextension)/[\w/]+\.(?:py|ts))(?::(\w+))?`", TEXT)


def names_of(path: Path) -> set[str]:
    """The functions, classes and constants of a module; the words of what is not Python."""
    text = path.read_text()
    if path.suffix != ".py":
        return set(re.findall(r"\w+", text))
    nodes = list(ast.walk(ast.parse(text)))
    targets = [t for n in nodes if isinstance(n, ast.Assign) for t in n.targets]
    targets += [n.target for n in nodes if isinstance(n, ast.AnnAssign)]
    defined = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return defined | {t.id for t in targets if isinstance(t, ast.Name)}


@pytest.mark.parametrize(("path", "name"), PATHS, ids=lambda v: v)
def test_what_the_page_names_exists(path, name):
    assert (ROOT / path).exists()
    assert not name or name in names_of(ROOT / path)


def test_each_way_to_add_something_is_short():
    sections = re.findall(r"^## (Add an? .*?)\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL)
    assert [title for title, _ in sections] == [
        "Add an op in five minutes",
        "Add a scalar primitive",
        "Add a pass",
        "Add a device",
        "Add a kind of summary",
        "Add a widget",
    ]
    assert not {title: text.count("\n") for title, text in sections if text.count("\n") > 30}


def test_every_primitive_has_a_host_function():
    for name in UNARY | BINARY | COMPARE | PREDICATE:
        assert callable(elementary(name)), name


def test_the_pass_of_the_example():
    place = {"Graph": Graph, "Edge": Edge, "GraphEdit": GraphEdit}
    exec(compile(_block("pass"), "CONTRIBUTING.md", "exec"), place)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        before = prune(Request((tf.exp(-(-x)) + -x,), (), (x,)))
        after = place["drop_double_signs"](before)
        verify(after)
        kinds = [[n.type for n in g.nodes.values()] for g in (before, after)]
        assert [k.count("Neg") for k in kinds] == [3, 1] and after is not before
