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
from contributing_page import TEXT, execute

import tfnb as tf
import tfnb.ops.nn.activations as family
from tfnb.errors import InternalError
from tfnb.ir.opdef import OpDef
from tfnb.ir.scalar import PRIMITIVES, primitives
from tfnb.ir.shapes import unchanged
from tfnb.ops.catalog import op_function
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.types import FLOATS

ROOT = Path(__file__).parents[2]


def _register(op: OpDef, cases: list[Case], monkeypatch) -> None:
    """Puts an op with its cases into the catalogue for the time of a test."""
    monkeypatch.setattr(CATALOG, "_ops", {**CATALOG._ops, op.name: op})
    monkeypatch.setitem(test_catalogue.BY_OP, op.name, cases)
    monkeypatch.setitem(test_opencl.BY_OP, op.name, cases)


def _passes_the_catalogue_tests(op: OpDef, cases: list[Case]) -> None:
    test_catalogue.test_definition_is_complete(op.name)
    test_catalogue.test_has_a_case(op.name)
    for case in cases:
        test_catalogue.test_host_gives_what_was_inferred(case, "shapes")
        test_catalogue.test_gradient(case, "shapes")


@pytest.fixture
def mish(monkeypatch):
    """The op of the example, in the catalogue for the time of a test, with its cases."""
    op = execute("op", **vars(family), TANH=TANH, SIGMOID=SIGMOID)["MISH"]
    cases = execute("cases", Case=Case, arr=arr)["CASES"]
    _register(op, cases, monkeypatch)
    return op, cases


def test_the_example_passes_the_catalogue_tests(mish):
    _passes_the_catalogue_tests(*mish)


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


@pytest.fixture
def cube_root(monkeypatch):
    """An op of the primitive of the example, in the catalogue for the time of a test, with its cases."""
    primitive = execute("primitive", **vars(primitives))["cbrt"]
    op = OpDef(
        "CubeRoot",
        inputs="x: T",
        outputs="y: T",
        doc="The cube root, elementwise.",
        types={"T": FLOATS},
        infer=unchanged,
        scalar=lambda attrs, x: primitive(x),
        grad=lambda op, dy: dy / (3.0 * op.y * op.y),
    )
    cases = [Case("CubeRoot", (arr(3, 5, lo=1, hi=30),), oracle=False), Case("CubeRoot", (arr(0, 3),), oracle=False)]
    _register(op, cases, monkeypatch)
    yield op, cases
    del PRIMITIVES["cbrt"]


def test_the_primitive_passes_the_catalogue_tests(cube_root):
    _passes_the_catalogue_tests(*cube_root)


@pytest.mark.opencl
def test_the_primitive_is_compiled_fused_and_looped_over(cube_root):
    op, _ = cube_root
    test_opencl.test_equals_the_host("CubeRoot")
    root = op_function(op, "cube_root")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [100])
        y = root(x) * root(x + 1.0) - root(2.0)
        given = np.linspace(-5, 5, 100, dtype=np.float32)
        np.testing.assert_allclose(
            sess.run(y, {x: given}), np.cbrt(given) * np.cbrt(given + 1) - np.cbrt(2), rtol=2e-6, atol=1e-6
        )
        last = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, root(v)), (0, 1e6))[1]
        np.testing.assert_allclose(sess.run(last), 1e6 ** (1 / 27), rtol=1e-6)


def test_two_primitives_of_one_name_are_refused(cube_root):
    with pytest.raises(InternalError, match="two primitives of the name 'cbrt'"):
        execute("primitive", **vars(primitives))


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
    sections = re.findall(r"^## (Add an? .*?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert [title for title, _ in sections] == [
        "Add an op in five minutes",
        "Add a scalar primitive",
        "Add a pass",
        "Add a device",
        "Add a kind of summary",
        "Add a widget",
    ]
    assert not {title: text.count("\n") for title, text in sections if text.count("\n") > 30}
