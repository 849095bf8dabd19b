"""DType, Shape and conversion of Python values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfnb as tf
from tfnb.errors import DTypeError, ShapeError
from tfnb.ir.bind import to_numpy
from tfnb.types import ALL, Shape, as_dtype, as_shape

DIMS = st.lists(st.none() | st.integers(0, 5), max_size=4).map(tuple)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_dtype_is_found_by_name_number_and_numpy_type(dtype):
    assert as_dtype(dtype.name) is dtype
    assert as_dtype(dtype.enum) is dtype and tf.DType(dtype.enum) is dtype is tf.DType(type_enum=dtype.enum)
    assert as_dtype(dtype.name + "_ref") is dtype
    if not dtype.is_string:
        assert as_dtype(dtype.np) is dtype


def test_python_values_take_the_types_of_tensorflow():
    assert to_numpy(1).dtype == np.int32
    assert to_numpy(2**40).dtype == np.int64
    assert to_numpy(1.5).dtype == np.float32
    assert to_numpy([True, False]).dtype == np.bool_
    assert to_numpy("text").dtype == object
    assert to_numpy([]).dtype == np.float32
    assert to_numpy(np.float64(3)).dtype == np.float64
    assert to_numpy([1, 2.5]).dtype == np.float32


@pytest.mark.parametrize(("value", "dtype"), [(1.5, "int32"), ("x", "float32"), (1, "bool"), (1j, "float32")])
def test_a_value_that_does_not_fit_is_refused(value, dtype):
    with pytest.raises(DTypeError, match=dtype):
        to_numpy(value, as_dtype(dtype))


@pytest.mark.parametrize("text", ["i4,(1000000000,)f8", "(2,)f4", ",", "V100000000000", "(", "f" * 300])
def test_a_text_that_is_no_dtype_is_refused(text):
    """NumPy parses texts of many forms, and raises errors of many classes."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not a dtype"):
        tf.as_dtype(text)


def test_nothing_is_no_dtype():
    with pytest.raises(tf.errors.InvalidArgumentError, match="None is not a dtype"):
        tf.as_dtype(None)
    assert None not in ALL and tf.float64 != None  # noqa: E711


def test_ragged_and_foreign_values_are_refused():
    with pytest.raises((DTypeError, ValueError)):
        to_numpy([[1, 2], [3]])
    with pytest.raises(DTypeError):
        to_numpy(object())


@given(DIMS, DIMS)
def test_merging_shapes_is_symmetric_and_agrees_with_compatibility(a, b):
    x, y = Shape(a), Shape(b)
    if x.is_compatible_with(y):
        assert x.merge_with(y) == y.merge_with(x)
        assert x.merge_with(y).is_compatible_with(x)
    else:
        with pytest.raises(ShapeError):
            x.merge_with(y)


def test_shapes_speak_like_tensorshapes():
    s = tf.TensorShape([None, 3])
    assert s.as_list() == [None, 3]
    assert s[1].value == 3 and int(s[1]) == 3 and s[0].value is None
    assert s.ndims == 2 and not s.is_fully_defined()
    assert s == [None, 3] and s != [2, 3]
    assert as_shape(None).ndims is None
    assert tf.TensorShape([2, 3]).num_elements() == 6
    with pytest.raises(ShapeError):
        tf.TensorShape([-2])


def test_a_dtype_differs_from_the_classes_of_plain_python_integers_and_text():
    equal = [(tf.int32, int), (tf.string, str), (tf.float32, float), (tf.bool, bool), (tf.int32, "int32")]
    assert [dtype == other for dtype, other in equal] == [False, False, True, True, True]


def test_limits_of_image_dtypes():
    assert [as_dtype(d).limits for d in ("uint8", "int8", "float32", "bool")] == [
        (0, 255),
        (0, 127),
        (0, 1),
        (False, True),
    ]
    with pytest.raises(DTypeError):
        _ = tf.string.limits


def test_the_shape_of_an_unknown_shape_is_unknown():
    assert tf.TensorShape(tf.TensorShape(None)).ndims is None
    assert tf.TensorShape(tf.TensorShape([None, 2])).as_list() == [None, 2]
    with tf.Graph().as_default():
        assert tf.convert_to_tensor(tf.TensorShape([]), name="dims").dtype is tf.int32
