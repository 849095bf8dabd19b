"""Lists, optionals and stacks of tensors: values, gradients, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
)
from tfnb.ops import CATALOG

F = tf.float32
X = np.arange(6, dtype=np.float32).reshape(3, 2)


def op(name, *inputs, **attrs):
    return CATALOG[name](*inputs, **attrs)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(*fetches):
    with tf.Session() as sess:
        return sess.run(list(fetches))


def of(tensor):
    return op("TensorListFromTensor", tensor, tf.shape(tensor)[1:])


def test_lists_are_values():
    first = op("EmptyTensorList", [2], -1, element_dtype=F)
    one = op("TensorListPushBack", first, tf.constant([1.0, 2.0]))
    two = op("TensorListPushBack", one, tf.constant([3.0, 4.0]))
    other = op("TensorListPushBack", one, tf.constant([5.0, 6.0]))
    rest, last = op("TensorListPopBack", two, [2], element_dtype=F)
    longer = op("TensorListPushBack", rest, tf.constant([7.0, 8.0]))
    stacked = [op("TensorListStack", x, [2], element_dtype=F) for x in (first, one, two, other, rest, longer)]
    lists = run(*stacked, last, op("TensorListLength", two))
    assert [x.tolist() for x in lists[:6]] == [
        [],
        [[1, 2]],
        [[1, 2], [3, 4]],
        [[1, 2], [5, 6]],
        [[1, 2]],
        [[1, 2], [7, 8]],
    ]
    assert lists[6].tolist() == [3, 4] and lists[7] == 2


def test_what_was_not_set_is_zero():
    made = op("TensorListReserve", tf.constant([-1, 2]), 3, element_dtype=F)
    made = op("TensorListSetItem", made, 1, tf.constant([[1.0, 2.0]]))
    made = op("TensorListSetItem", made, 4, tf.constant([[3.0, 4.0]]), resize_if_index_out_of_bounds=True)
    shape, all_, none, cut = run(
        op("TensorListElementShape", made, shape_type=tf.int32),
        op("TensorListGather", made, [4, 0, 1], [1, 2], element_dtype=F),
        op("TensorListGetItem", made, 0, [5, 2], element_dtype=F),
        op("TensorListLength", op("TensorListResize", made, 2)),
    )
    assert shape.tolist() == [-1, 2] and none.tolist() == [[0, 0]] * 5 and cut == 2
    assert all_.tolist() == [[[3, 4]], [[0, 0]], [[1, 2]]]
    with pytest.raises(InvalidArgumentError, match="not fully known"):
        run(op("TensorListGetItem", made, 0, -1, element_dtype=F))


def test_concat_and_split_and_scatter():
    pieces = op("TensorListSplit", X, [-1, 2], np.array([2, 0, 1]))
    joined, lengths = op("TensorListConcatV2", pieces, [-1, 2], np.zeros(0, np.int64), element_dtype=F)
    spread = op("TensorListScatterV2", X, [2, 0, 1], [2], -1)
    into = op("TensorListScatterIntoExistingList", spread, X[:1], [4])
    found = run(joined, lengths, *(op("TensorListStack", x, [2], element_dtype=F) for x in (spread, into)))
    assert found[0].tolist() == X.tolist() and found[1].tolist() == [2, 0, 1]
    assert found[2].tolist() == X[[1, 2, 0]].tolist() and found[3][3:].tolist() == [[0, 0], [0, 1]]


def build_gradients(x):
    """A scalar of x through each differentiable op."""
    rows = of(x)
    rest, last = op("TensorListPopBack", rows, [2], element_dtype=F)
    longer = op("TensorListPushBack", rest, last * 2.0)
    changed = op("TensorListSetItem", longer, 0, x[1] * 3.0)
    picked = op("TensorListGetItem", rows, 1, [2], element_dtype=F)
    gathered = op("TensorListGather", changed, [0, 2, 0], [2], element_dtype=F)
    spread = op("TensorListScatterV2", gathered, [2, 1, 0], [2], 3)
    into = op("TensorListScatterIntoExistingList", spread, x[:1], [1])
    pieces = op("TensorListSplit", op("TensorListStack", into, [2], element_dtype=F), [-1, 2], np.array([2, 1]))
    joined = op("TensorListConcatV2", pieces, [-1, 2], np.zeros(0, np.int64), element_dtype=F)[0]
    kept = op("OptionalGetValue", op("OptionalFromValue", [joined]), output_types=[F], output_shapes=[[3, 2]])[0]
    return tf.reduce_sum(kept**2 * np.arange(6, dtype=np.float32).reshape(3, 2)) + tf.reduce_sum(picked**3)


def test_gradients_are_those_of_the_numbers():
    x = tf.placeholder(F, [3, 2])
    y = build_gradients(x)
    (dx,) = tf.gradients(y, x)
    with tf.Session() as sess:
        found = sess.run(dx, {x: X})
        for k in range(6):
            sides = []
            for step in (0.5, -0.5):  # of a polynomial of degree 3, but for its cubic term exact
                moved = X.copy()
                moved.flat[k] += step
                sides.append(float(sess.run(y, {x: moved})))
            cubic = 0.25 if k in (2, 3) else 0.0  # x**3 has (3x**2 + step**2) here
            assert found.flat[k] == pytest.approx(sides[0] - sides[1] - cubic, rel=1e-4)


def test_sums_and_zeros_of_variants():
    a, b = of(tf.constant(X)), op("TensorListReserve", [2], 3, element_dtype=F)
    b = op("TensorListSetItem", b, 1, tf.constant([10.0, 20.0]))
    total = op("TensorListStack", op("VariantAddN", [a, b, a]), [2], element_dtype=F)
    zeros = op("TensorListStack", op("VariantZerosLike", a), [2], element_dtype=F)
    some, none = op("OptionalFromValue", [tf.constant(2.0)]), op("OptionalNone")
    value = op("OptionalGetValue", op("VariantAddN", [some, some]), output_types=[F], output_shapes=[[]])[0]
    found = run(total, zeros, value, op("OptionalHasValue", none), op("OptionalHasValue", some))
    assert found[0].tolist() == (2 * X + [[0, 0], [10, 20], [0, 0]]).tolist() and not found[1].any()
    assert found[2:] == [4.0, False, True]


def test_stack_takes_the_last_first():
    stack = op("StackV2", 2, elem_type=F)
    first = op("StackPushV2", stack, tf.constant(1.0))
    with tf.control_dependencies([first]):
        second = op("StackPushV2", stack, tf.constant(2.0), swap_memory=True)
    with tf.control_dependencies([second]):
        last = op("StackPopV2", stack, elem_type=F)
    with tf.control_dependencies([last]):
        before = op("StackPopV2", stack, elem_type=F)
    assert run(last, before) == [2.0, 1.0]
    with tf.control_dependencies([second]), pytest.raises(ResourceExhaustedError, match="its maximum"):
        run(op("StackPushV2", stack, tf.constant(3.0)))
    with tf.control_dependencies([op("StackCloseV2", stack)]), pytest.raises(FailedPreconditionError, match="closed"):
        run(op("StackPopV2", stack, elem_type=F))


REFUSED = {
    "pop of nothing": lambda: op(
        "TensorListPopBack", op("EmptyTensorList", [2], -1, element_dtype=F), [2], element_dtype=F
    )[1],
    "full": lambda: op("TensorListPushBack", op("EmptyTensorList", [2], 0, element_dtype=F), tf.constant([1.0, 2.0])),
    "index": lambda: op("TensorListGetItem", of(tf.constant(X)), 3, [2], element_dtype=F),
    "dtype": lambda: op("TensorListGetItem", of(tf.constant(X)), 0, [2], element_dtype=tf.int32),
    "shape": lambda: op("TensorListSetItem", of(tf.constant(X)), 0, tf.constant([1.0])),
    "asked shape": lambda: op("TensorListGetItem", of(tf.constant(X)), 0, [3], element_dtype=F),
    "lengths": lambda: op("TensorListSplit", X, [-1, 2], np.array([2, 2])),
    "rows": lambda: op("TensorListScatterV2", X, [0, 1], [2], 3),
    "negative": lambda: op("TensorListReserve", [2], -1, element_dtype=F),
    "count": lambda: op("TensorListStack", of(tf.constant(X)), [2], element_dtype=F, num_elements=2),
    "no value": lambda: op("OptionalGetValue", op("OptionalNone"), output_types=[F], output_shapes=[[]])[0],
    "other value": lambda: op(
        "OptionalGetValue", op("OptionalFromValue", [tf.constant(1)]), output_types=[F], output_shapes=[[]]
    )[0],
    "list for optional": lambda: op("OptionalHasValue", of(tf.constant(X))),
    "sum": lambda: op("TensorListLength", op("VariantAddN", [of(tf.constant(X)), of(tf.constant(X[:2]))])),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    with pytest.raises(OpError):
        run(
            op("Snapshot", REFUSED[what]())
            if what not in ("full", "shape", "rows", "lengths", "negative")
            else op("TensorListLength", REFUSED[what]())
        )
