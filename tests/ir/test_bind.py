"""Values of users as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.errors import DTypeError
from tfnb.ir.bind import to_numpy


@pytest.mark.parametrize(
    "value", [b"a\0\0", [b"a\0", b"\0"], [["x\0"], ["\0"]], np.array([b"b\0"], object)]
)
def test_zero_bytes_at_the_end_of_strings_stay(value):
    found = to_numpy(value)
    flat = np.asarray(value, object).reshape(-1)
    assert found.dtype == object
    assert [bytes(x) for x in found.reshape(-1)] == [
        v.encode() if isinstance(v, str) else v for v in flat
    ]


def test_texts_and_numbers_do_not_mix():
    with pytest.raises(DTypeError):
        to_numpy([1, object()])
