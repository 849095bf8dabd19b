"""Values of users as arrays."""

from __future__ import annotations

import numpy as np
import pytest

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
