"""Arrays of more than 2**31 elements: indices are long.

Small arrays run the very code by a limit that is set low; one test, of a gigabyte or two, needs no such help.
"""

from __future__ import annotations

import numpy as np
import pytest
from runner import reference, run_graph

import tfnb as tf
from tfnb.codegen.fusion import group, nest, values
from tfnb.codegen.fusion.indexing import Indexing
from tfnb.codegen.program import DeviceFacts
from tfnb.ir import scalar as s
from tfnb.types import int32, int64

pytestmark = pytest.mark.opencl
RNG = np.random.default_rng(5)


@pytest.fixture
def long_from_100(monkeypatch):
    for module in (group, nest, values):
        monkeypatch.setattr(module, "LONG_FROM", 100)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize(
    "dtype, shape",
    [(dtype, (3, 500)) for dtype in ("float64", "float16", "int8", "int16", "int64", "uint8")]
    + [("float32", shape) for shape in ((1000,), (3, 500), (40_000,))],
)
def test_reductions(device, long_from_100, shape, dtype, kind):
    x = (RNG.standard_normal(shape) * 50).astype(dtype)
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(dtype, shape)
        fetches = [tf.argmax(a, 0), tf.argmin(a, -1), tf.reduce_max(a), tf.argmax(a, -1, output_type=tf.int32)]
    found, _ = run_graph(device, graph, {a: x}, fetches, facts=DeviceFacts(kind, units=4))
    want, _ = reference(graph, {a: x}, fetches)
    for p, q in zip(found, want, strict=True):
        np.testing.assert_array_equal(p, q)


def test_columns(device, long_from_100):
    x = RNG.integers(-50, 50, (400, 33)).astype(np.int8)
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.int8, x.shape)
        fetches = [tf.argmax(a, 0), tf.argmin(a, 0)]
    found, _ = run_graph(device, graph, {a: x}, fetches, facts=DeviceFacts("cpu", units=4))
    np.testing.assert_array_equal(found[0], x.argmax(0))
    np.testing.assert_array_equal(found[1], x.argmin(0))


@pytest.mark.slow
def test_beyond_an_int():
    n = 2**31 + 77
    x = np.zeros(n, np.int8)
    x[-5], x[-3] = 7, -7
    with tf.Graph().as_default(), tf.Session() as session:
        a, i = tf.placeholder(tf.int8, [None]), tf.placeholder(tf.int64, [None])
        found = session.run([tf.argmax(a, 0), tf.argmin(a, 0), tf.gather(a, i)], {a: x, i: [n - 5, n - 3, 0]})
        begin, size = tf.constant([n - 5], tf.int64), tf.constant([3], tf.int64)
        slices = session.run([a[-3:], a[::-1][2:5], tf.slice(a, begin, size), tf.reverse(a, [0])[2:5]], {a: x})
    assert found[0] == n - 5 and found[1] == n - 3
    assert found[2].tolist() == [7, -7, 0]
    assert [part.tolist() for part in slices] == [[-7, 0, 0], [-7, 0, 7], [7, 0, -7], [-7, 0, 7]]


def test_a_number_that_no_int_holds_makes_a_position_long():
    """As where a slice begins behind 2**31 elements, or the step from one row of such an array to the next."""
    i, far = s.index("i0"), 2**31 + 5
    assert s.add(i, far).dtype is s.sub(far, i).dtype is int64
    assert s.lt(i, far).args[1].value == far
    index = Indexing({"i0": 9})
    position = index.build(index.affine(s.add(i, far)))
    assert position.dtype is int64 and index.affine(position) == index.affine(s.add(i, far))
    assert position.args[1].value == far
    assert index.linear((i, s.index("i1")), (9, 2**32)).args[0].dtype is int64
    wraps = index.build(index.affine(s.add(s.add(i, 2**31 - 1), 2**31 - 1)), int32)  # an element, not a position
    assert wraps.dtype is int32 and wraps.args[1].value == -2
