"""Values of users as arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import DTypeError
from tfnb.ir.bind import to_numpy
from tfnb.types import as_dtype


@pytest.mark.parametrize("value", [b"a\0\0", [b"a\0", b"\0"], [["x\0"], ["\0"]], np.array([b"b\0"], object)])
def test_zero_bytes_at_the_end_of_strings_stay(value):
    found = to_numpy(value)
    flat = np.asarray(value, object).reshape(-1)
    assert found.dtype == object
    assert [bytes(x) for x in found.reshape(-1)] == [v.encode() if isinstance(v, str) else v for v in flat]


def test_texts_and_numbers_do_not_mix():
    with pytest.raises(DTypeError):
        to_numpy([1, object()])


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        ([np.float64(1.5)], None, np.array([1.5], np.float32)),
        ([np.int64(3), 4], None, np.array([3, 4], np.int32)),
        (True, "float32", np.float32(1)),
        (np.array([1, 2.5], object), "float32", np.array([1, 2.5], np.float32)),
        (2**70, "float32", np.float32(2**70)),
    ],
)
def test_values_become_arrays_as_in_tensorflow(value, dtype, expected):
    got = to_numpy(value, None if dtype is None else as_dtype(dtype))
    assert got.dtype == expected.dtype and np.array_equal(got, expected)


@pytest.mark.parametrize("dtype", [None, "string", "float32", "int8"])
def test_objects_that_are_no_elements_are_refused(dtype):
    for value in (np.array([None]), np.array([object()]), np.array([[1], [1, 2]], object)):
        with pytest.raises(DTypeError):
            to_numpy(value, None if dtype is None else as_dtype(dtype))


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_what_makes_an_array_of_itself_keeps_its_dtype(dtype):
    class Data:
        def __array__(self, *_, **__):
            return np.arange(3).astype(dtype)

    assert to_numpy(Data()).dtype == dtype


@pytest.mark.parametrize(
    "name, call",
    [
        ("reshape", lambda x: tf.reshape(x, np.array([4], np.uint8))),
        ("reshape, floats", lambda x: tf.reshape(x, np.array([4.0]))),
        ("sum", lambda x: tf.reduce_sum(x, np.uint8(0))),
        ("transpose", lambda x: tf.transpose(x, np.array([1, 0], np.int16))),
        ("tile", lambda x: tf.tile(x, np.array([1, 2], np.int8))),
        ("reverse", lambda x: tf.reverse(x, np.array([1], np.uint8))),
        ("labels", lambda x: tf.nn.in_top_k(x, np.array([1, 0], np.uint8), 1)),
        ("one_hot", lambda x: tf.one_hot(np.array([1.0, 0.0]), 2)),
    ],
)
def test_an_array_takes_the_default_of_a_type_variable_that_does_not_allow_its_dtype(name, call):
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    expected = {
        "reshape": x.ravel(),
        "reshape, floats": x.ravel(),
        "sum": [4, 6],
        "transpose": x.T,
        "tile": np.tile(x, (1, 2)),
        "reverse": x[:, ::-1],
        "labels": [True, False],
        "one_hot": [[0, 1], [1, 0]],
    }
    with tf.Graph().as_default(), tf.Session() as session:
        np.testing.assert_array_equal(session.run(call(tf.constant(x))), expected[name])


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), "float32"),
        (lambda x: tf.nn.max_pool(x.astype(np.int64), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), "float32"),
        (lambda x: tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), "float64"),
        (tf.nn.lrn, "float32"),
        (tf.image.rgb_to_hsv, "float32"),
        (lambda x: tf.fft(x[0, 0, 0]), "complex64"),
        (lambda x: tf.invert_permutation(np.array([1, 0])), "int32"),
        (lambda x: tf.image.draw_bounding_boxes(x, np.zeros((1, 1, 4))), "float32"),
        (
            lambda x: tf.gather(
                tf.range(3), tf.image.non_max_suppression(x[0, 0, :, [0, 1, 2, 2]].T, x[0, 0, :, 0], 1)
            ),
            0,
        ),
    ],
)
def test_an_array_takes_the_default_of_a_type_variable(call, dtype):
    """Also when its own dtype is allowed, as in TensorFlow: photos as float64 arrays are pooled as float32."""
    x = np.linspace(0, 1, 12).reshape(1, 2, 2, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(call(x)).dtype == (dtype or np.int32)


def test_integers_that_a_default_cannot_hold_stay():
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.fill([1], tf.size(tf.reshape(tf.zeros([2]), np.array([2], np.int64))))).tolist() == [2]
        assert tf.one_hot(np.array([2**40]), 2).op.inputs[0].dtype == tf.int64


def test_an_array_without_an_allowed_dtype_or_a_default_is_refused():
    with tf.Graph().as_default(), pytest.raises(DTypeError, match="not in list of allowed values: it takes int32"):
        tf.gather(tf.zeros([3]), np.array([0.0]))


def test_an_empty_array_keeps_a_dtype_that_is_allowed():
    with tf.Graph().as_default():
        assert tf.raw_ops.Bincount(arr=[1], size=2, weights=np.zeros(0, np.int64)).dtype == tf.int64
        assert tf.raw_ops.Bincount(arr=[1], size=2, weights=np.zeros(0, np.bool_)).dtype == tf.int32
