"""Variables' updates, scatters and optimizer steps through a session, against their host kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evaluate import evaluate

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from tfnb.ir.opdef import OpDef
from tfnb.ops.state import scatter
from tfnb.ops.state.variables import VARIABLE_V2
from tfnb.ops.training import sparse_updates
from tfnb.ops.training import updates as training
from tfnb.types import Shape, as_dtype

pytestmark = pytest.mark.opencl
DTYPES = ["float32", "float64", "int32", "int64", "uint8", "float16", "bool", "string", "complex64"]


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("dtype", DTYPES)
def test_assign_every_type(session: Any, dtype: str) -> None:
    numbers = np.array([[0, 1], [1, 0]])
    value = np.array([[b"a", b""], [b"bc", b"d"]], object) if dtype == "string" else numbers.astype(as_dtype(dtype).np)
    v = tf.Variable(value)
    session.run(v.initializer)
    np.testing.assert_array_equal(session.run(v.value()), value)
    other = value[::-1]
    session.run(tf.assign(v, other).op)
    np.testing.assert_array_equal(session.run(v.value()), other)


def test_add_and_subtract(session: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    session.run(v.initializer)
    np.testing.assert_array_equal(session.run(tf.assign_add(v, [10.0, 20.0])), [11, 22])
    np.testing.assert_array_equal(session.run(tf.assign_sub(v, [1.0, 1.0])), [10, 21])


def test_shapes_are_checked_when_built(session: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    for update in (tf.assign, tf.assign_add, tf.assign_sub):
        with pytest.raises(ShapeError, match=r"\(2,\).*\(3,\)"):
            update(v, [1.0, 2.0, 3.0])
    with pytest.raises(DTypeError, match="variable"):
        tf.assign(tf.constant([1.0, 2.0]), [1.0, 2.0])
    with pytest.raises(DTypeError):
        tf.assign(v, tf.constant([1, 2]))


def test_assign_another_shape(session: Any) -> None:
    v = tf.Variable([1.0, 2.0], validate_shape=False)
    session.run(v.initializer)
    session.run(tf.assign(v, [[1.0, 2.0, 3.0]], validate_shape=False))
    np.testing.assert_array_equal(session.run(v), [[1, 2, 3]])


def test_is_initialized_and_count_up_to(session: Any) -> None:
    v = tf.Variable(0, trainable=False)
    known = tf.is_variable_initialized(v)
    assert session.run(known) == np.False_
    session.run(v.initializer)
    assert session.run(known) == np.True_
    count = tf.count_up_to(v, 3)
    assert [int(session.run(count)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OutOfRangeError, match="3"):
        session.run(count)
    assert session.run(v) == 3
    with pytest.raises(ShapeError):
        tf.count_up_to(tf.Variable([1, 2]), 3)


@pytest.mark.parametrize("name", ["update", "add", "sub", "mul", "div", "min", "max"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_scatter(session: Any, name: str, dtype: str) -> None:
    start = np.arange(1, 13).reshape(4, 3).astype(dtype)
    v = tf.Variable(start)
    at = tf.placeholder(tf.int32, [None, 2])
    updates = tf.placeholder(as_dtype(dtype), [None, 2, 3])
    made = getattr(tf, f"scatter_{name}")(v, at, updates)
    session.run(v.initializer)
    feeds = {at: [[1, 3], [1, 0]], updates: np.arange(2, 14).reshape(2, 2, 3)}
    wanted = start.copy()
    change = {
        "update": lambda a, b: b,
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": lambda a, b: a // b if dtype == "int32" else a / b,
        "min": np.minimum,
        "max": np.maximum,
    }[name]
    for row, update in zip(np.ravel(feeds[at]), feeds[updates].reshape(4, 3).astype(dtype), strict=True):
        wanted[row] = change(wanted[row], update)
    np.testing.assert_allclose(session.run(made, feeds), wanted, rtol=1e-6)
    np.testing.assert_allclose(session.run(v), wanted, rtol=1e-6)


def test_scatter_shapes(session: Any) -> None:
    v = tf.Variable(np.zeros((4, 3), np.float32))
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        tf.scatter_add(v, [0, 1], np.zeros((2, 4), np.float32))
    with pytest.raises(ShapeError, match="scalar"):
        tf.scatter_add(tf.Variable(0.0), [0, 1], np.zeros(2, np.float32))


@pytest.mark.parametrize("name", ["update", "add", "sub", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_scatter_by_whole_indices(session: Any, name: str, dtype: str) -> None:
    start = np.arange(12).reshape(2, 3, 2).astype(dtype)
    v = tf.Variable(start)
    at = np.array([[1, 0], [0, 2], [1, 0]])
    updates = np.array([[3, 30], [7, 1], [-1, 20]]).astype(dtype)
    change = {
        "update": lambda a, b: b,
        "add": np.add,
        "sub": np.subtract,
        "max": np.maximum,
        "min": np.minimum,
    }[name]
    wanted = start.copy()
    for (i, j), u in zip(at, updates, strict=True):
        wanted[i, j] = change(wanted[i, j], u)
    session.run(v.initializer)
    made = getattr(tf, f"scatter_nd_{name}")(v, at, updates)
    np.testing.assert_array_equal(session.run(made), wanted)
    np.testing.assert_array_equal(session.run(v), wanted)
    evaluated = evaluate(made, {}, {v.op: start})
    np.testing.assert_array_equal(evaluated, wanted)


def test_scatter_by_whole_indices_refuses(session: Any) -> None:
    v = tf.Variable(np.zeros((3, 2), np.float32))
    with pytest.raises(ShapeError, match=r"\(1, 2\)"):
        tf.scatter_nd_add(v, [[0]], [[1.0, 2.0, 3.0]])
    bad = tf.scatter_nd_add(v, [[3]], [[1.0, 2.0]])
    with pytest.raises(InvalidArgumentError, match=r"\[3\].*\(3, 2\)"):
        evaluate(bad, {}, {v.op: np.zeros((3, 2), np.float32)})
    session.run(v.initializer)
    with pytest.raises(InvalidArgumentError, match=r"indices\[0,0\] = 3 is not in \[0, 3\)"):
        session.run(bad)
    np.testing.assert_array_equal(session.run(v), np.zeros((3, 2)))


KEYS: list[Any] = [
    np.s_[1:3],
    np.s_[0],
    np.s_[-1, 2],
    np.s_[..., 1],
    np.s_[::-2, 1:],
    np.s_[1:1],
    np.s_[:, None, 2:],
    np.s_[...],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_assigning_to_a_slice(session: Any, key: Any) -> None:
    start = np.arange(12, dtype=np.float32).reshape(4, 3)
    v = tf.Variable(start)
    wanted = start.copy()
    value = -1 - np.arange(start[key].size, dtype=np.float32).reshape(start[key].shape)
    wanted[key] = value
    session.run(v.initializer)
    np.testing.assert_array_equal(session.run(v[key]), start[key])
    np.testing.assert_array_equal(session.run(v[key].assign(value)), wanted)
    np.testing.assert_array_equal(session.run(v), wanted)


def test_assigning_to_slices_that_a_run_chooses(session: Any) -> None:
    v, words = tf.Variable(np.zeros(4, np.int32)), tf.Variable(["a", "b", "c"])
    i = tf.placeholder(tf.int32, [])
    step = v[i].assign(7)
    session.run([v.initializer, words.initializer])
    assert session.run(step, {i: 2}).tolist() == [0, 0, 7, 0]
    assert session.run(v[i:].assign([1, 2]), {i: 2}).tolist() == [0, 0, 1, 2]
    assert session.run(words[1:].assign(["x", "y"])).tolist() == [b"a", b"x", b"y"]
    assert session.run(tf.strided_slice(v, [0], [1], [1], var=v).assign([5])).tolist() == [
        5,
        0,
        1,
        2,
    ]
    with pytest.raises(InvalidArgumentError, match=r"\(2,\).*\(3,\)"):
        v[:2].assign([1, 2, 3])


HYPER = {
    "lr": 0.3,
    "alpha": 0.3,
    "rho": 0.9,
    "momentum": 0.8,
    "epsilon": 1e-3,
    "beta1_power": 0.9**3,
    "beta2_power": 0.99**3,
    "beta1": 0.9,
    "beta2": 0.99,
    "l1": 0.1,
    "l2": 0.2,
    "lr_power": -0.5,
}
UPDATES = (*training.OPS, *sparse_updates.OPS)


def inputs_of(op: OpDef, dtype: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    at = np.array([2, 0, 3, 0], np.int32)
    found = []
    for a in op.input_args:
        if a.ref:
            found.append((rng.random(shape) * 0.5 + (0.0 if a.name == "mg" else 0.5)).astype(dtype))
        elif a.name == "indices":
            found.append(at)
        elif a.name in ("grad", "delta"):
            sparse = any(b.name == "indices" for b in op.input_args)
            found.append(rng.standard_normal((at.size, *shape[1:]) if sparse else shape).astype(dtype))
        else:
            found.append(np.asarray(HYPER[a.name], dtype))
    return found


@pytest.mark.parametrize("op", UPDATES, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_optimizer_step(session: Any, op: OpDef, dtype: str) -> None:
    for shape in ((5, 7), (5,), (40, 33)):
        values = inputs_of(op, dtype, shape)
        n = len(op.writes)
        refs = [VARIABLE_V2(shape=Shape(shape), dtype=as_dtype(dtype)) for _ in range(n)]
        step = op(*refs, *values[n:])
        session.run([tf.assign(r, v).op for r, v in zip(refs, values, strict=False)])
        wanted = evaluate([step, *refs], {}, {r.op: v for r, v in zip(refs, values, strict=False)})
        np.testing.assert_allclose(
            session.run(step),
            wanted[0],
            rtol=2e-5 if dtype == "float32" else 1e-10,
            atol=1e-6 if dtype == "float32" else 0,
        )
        for got, want in zip(session.run(refs), wanted[1:], strict=True):
            np.testing.assert_allclose(
                got,
                want,
                rtol=2e-5 if dtype == "float32" else 1e-10,
                atol=1e-6 if dtype == "float32" else 0,
            )


def test_optimizer_steps_check_shapes(session: Any) -> None:
    v, slot = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
    with pytest.raises(ShapeError, match="same shape"):
        training.APPLY_ADAGRAD(v, slot, 0.1, [1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match="scalar"):
        training.APPLY_ADAGRAD(v, slot, [0.1, 0.2], [1.0, 2.0])
    with pytest.raises(ShapeError, match="vector"):
        sparse_updates.SPARSE_APPLY_ADAGRAD(v, slot, 0.1, [[1.0]], [[0]])


def test_bad_indices_on_the_host() -> None:
    v = np.zeros((3, 2), np.float32)
    graph = tf.Graph()
    ref = VARIABLE_V2(shape=Shape((3, 2)), dtype=tf.float32, graph=graph)
    for update in (
        scatter.SCATTER_ADD(ref, [0, 3], np.ones((2, 2), np.float32)),
        sparse_updates.SPARSE_APPLY_PROXIMAL_GRADIENT_DESCENT(ref, 0.1, 0.0, 0.0, np.ones((2, 2), np.float32), [0, -1]),
    ):
        with pytest.raises(InvalidArgumentError, match=r"not in \[0, 3\)"):
            evaluate(update, {}, {ref.op: v})


def test_a_slice_is_assigned_when_only_the_operation_runs():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        w = tf.Variable([1.0, 2.0])
        together = tf.group(v[0:1].assign([[9.0, 9.0]]), w[1:].assign([8.0]))
        with tf.control_dependencies([v[0:1].assign([[7.0, 7.0]])]):
            after = tf.identity(v.read_value())
        sess.run(tf.global_variables_initializer())
        sess.run(together)
        assert sess.run(v).tolist() == [[9, 9], [3, 4]]
        assert sess.run(w).tolist() == [1, 8]
        assert sess.run(after).tolist() == [[7, 7], [3, 4]]


def test_a_variable_of_a_known_shape_takes_another_unchecked(session):
    v = tf.Variable([1, 2])
    session.run(v.initializer)
    doubled = v * 2
    outside = tf.py_func(lambda x: x, [doubled], tf.int32) + doubled  # through the host to another cluster
    for shape in ([2, 3], [4], [1, 2, 3], [2]):
        value = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        session.run(tf.assign(v, value, validate_shape=False))
        np.testing.assert_array_equal(session.run(v), value)
        np.testing.assert_array_equal(session.run(doubled), value * 2)
        np.testing.assert_array_equal(session.run(outside), value * 4)
        np.testing.assert_array_equal(session.run(v.assign_add(v)), value * 2)
    with pytest.raises(tf.errors.InvalidArgumentError):
        v.assign([1, 2, 3])


def test_a_variable_without_elements_has_its_value_from_the_start(session):
    v = tf.get_variable("v", [0, 2], initializer=tf.uniform_unit_scaling_initializer())
    assert session.run(tf.is_variable_initialized(v)) == np.True_
    assert session.run(tf.report_uninitialized_variables()).tolist() == []
    assert session.run(v).shape == (0, 2)
    assert session.run(tf.reduce_sum(v) + 1.0) == 1
    session.run(v.initializer)
    assert session.run(tf.concat([v, [[1.0, 2.0]]], 0)).tolist() == [[1, 2]]


def test_a_variable_of_texts_without_elements_has_its_value_from_the_start(session):
    """As in metrics that collect texts in a variable of no collection."""
    texts = tf.Variable([], dtype=tf.string, collections=[])
    numbers = tf.Variable(np.zeros([0, 2], np.complex64), collections=[])
    more = tf.assign(texts, tf.concat([texts, ["a"]], 0), validate_shape=False)
    assert session.run(numbers).shape == (0, 2) and session.run(tf.is_variable_initialized(texts))
    assert session.run(texts).tolist() == []
    session.run(more)
    assert session.run(more).tolist() == [b"a", b"a"]
