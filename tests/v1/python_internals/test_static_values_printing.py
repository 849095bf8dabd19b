"""Functions of late 1.x programs: printing, Python functions, static values, gradients passed through."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError

pytestmark = pytest.mark.opencl
X = np.float32([[1, 2], [3, 4]])


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as s:
        yield s


@pytest.mark.one_process("an operation prints into the streams of its own process")
def test_print_shows_tensors_and_other_values(sess, capsys, monkeypatch):
    monkeypatch.setenv("TFNB_QUIET", "1")  # on a busy machine a compilation shows its progress on the same stream
    op = tf.print("x:", tf.constant(X), {"a": 1}, "{}", output_stream=sys.stdout, sep="|", end="!")
    assert isinstance(op, tf.Operation)
    sess.run(op)
    assert capsys.readouterr().out == "x:|[[1 2]\n [3 4]]|{'a': 1}|{}!"
    sess.run(tf.print("no tensor"))
    assert capsys.readouterr().err == "no tensor\n"


def test_print_into_a_file(sess, tmp_path):
    sess.run(tf.print(tf.constant(3), output_stream=f"file://{tmp_path}/log"))
    assert (tmp_path / "log").read_text() == "3\n"


def test_print_refuses_other_streams(sess):
    with pytest.raises(InvalidArgumentError, match="output_stream"):
        tf.print("x", output_stream=3)
    with pytest.raises(InvalidArgumentError, match="output_stream"):
        tf.print("x", output_stream="printer")


def test_python_functions(sess):
    x = tf.constant(X)
    assert sess.run(tf.py_function(lambda a: a.numpy() * 2, [x], tf.float32)).tolist() == (X * 2).tolist()
    assert sess.run(tf.numpy_function(np.sum, [x], tf.float32)) == 10
    text = tf.py_function(lambda a: a.numpy() + b"!", [tf.constant(b"a\0")], tf.string)
    number = tf.py_function(lambda a: isinstance(a.numpy(), np.float32), [tf.constant(1.0)], tf.bool)
    assert sess.run([text, number]) == [b"a\0!", True]
    wrong = tf.py_function(lambda a: tf.identity(a), [x], tf.float32)
    with pytest.raises(tf.errors.OpError, match="returned a tensor"):
        sess.run(wrong)


def test_static_values_and_dimensions(sess):
    assert tf.get_static_value(tf.constant(X) * 2).tolist() == (X * 2).tolist()
    assert tf.get_static_value(tf.placeholder(tf.float32)) is None
    parts = tf.stack([tf.constant(X), tf.placeholder(tf.float32, X.shape)])
    assert tf.get_static_value(parts) is None
    first, second = tf.get_static_value(parts, partial=True)
    assert first.tolist() == X.tolist() and second is None
    shape = tf.TensorShape([2, None])
    assert [tf.dimension_value(d) for d in shape] == [2, None]
    assert tf.compat.dimension_at_index(shape, 0).value == 2
    assert tf.dimension_at_index(None, 5).value is None


def test_a_gradient_passes_through(sess):
    x = tf.constant([1.2, -0.7])
    y = tf.grad_pass_through(tf.round)(x)
    assert [v.tolist() for v in sess.run([y, tf.gradients(y * 3.0, x)[0]])] == [[1, -1], [3, 3]]


def test_vectorized_map_finds_its_dtypes(sess):
    found = tf.vectorized_map(
        lambda p: (tf.reduce_sum(p[0]), tf.cast(p[1], tf.int64)), (tf.constant(X), np.array([7, 8]))
    )
    assert [v.tolist() for v in sess.run(found)] == [[3, 7], [7, 8]]
    assert [t.dtype for t in found] == [tf.float32, tf.int64]


def test_rows_of_a_batch_are_assigned(sess):
    v = tf.Variable(np.zeros((2, 3), np.float32))
    sess.run(tf.global_variables_initializer())
    assert sess.run(tf.batch_scatter_update(v, [[2], [0]], [[1.0], [5.0]])).tolist() == [[0, 0, 1], [5, 0, 0]]


def test_init_scope_waits_for_nothing(sess):
    with tf.control_dependencies([tf.constant(1)]), tf.init_scope():
        assert not tf.identity(X).op.control_inputs


@pytest.mark.not_compared("the time goes on")
def test_a_timestamp_is_taken_when_the_node_runs(sess):
    now = tf.timestamp()
    first = sess.run(now)
    assert abs(first - time.time()) < 60
    assert sess.run(now) > first


@pytest.mark.parametrize(
    ("diagonals", "form"),
    [
        ([[1.0, 0], [3.0, 4.0], [0.0, 2.0]], "compact"),
        ([[1.0], [3.0, 4.0], [2.0]], "sequence"),
        ([[3.0, 1.0], [2.0, 4.0]], "matrix"),
    ],
)
def test_tridiagonal_matrices(sess, diagonals, form):
    product = tf.linalg.tridiagonal_matmul(diagonals, [[1.0], [2.0]], form)
    solution = tf.linalg.tridiagonal_solve(diagonals, [5.0, 10.0], form)
    np.testing.assert_allclose(sess.run(product), [[5], [10]], rtol=1e-6)
    np.testing.assert_allclose(sess.run(solution), [1, 2], rtol=1e-6)


def test_diagonals_beside_the_main_one(sess):
    found = sess.run([tf.linalg.diag([1.0], k=1), tf.linalg.diag_part(X, k=[-1, 0]), tf.linalg.set_diag(X, [9.0], k=1)])
    assert [v.tolist() for v in found] == [[[0, 1], [0, 0]], [[1, 4], [3, 0]], [[1, 9], [3, 4]]]


def test_vectorized_map_may_take_gradients_of_what_is_outside(sess):
    v = tf.Variable([1.0, 2.0])
    losses = tf.reduce_sum(tf.square(tf.constant(X) - v), 1)
    slopes = tf.vectorized_map(lambda loss: tf.gradients(loss, [v])[0], losses)
    sess.run(tf.global_variables_initializer())
    found = sess.run(slopes)
    np.testing.assert_allclose(found, 2 * (np.array([1.0, 2.0]) - np.array(X)))
