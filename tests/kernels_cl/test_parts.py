"""The recipes that join many tensors or split one into many, on the device against NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfnb.ir.kernelcall import TensorInfo
from tfnb.ops.array.parts_recipes import join_calls, split_calls
from tfnb.types import as_dtype


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize(("dtype", "rows"), [("float32", 1), ("int64", 3), ("uint8", 70), ("float16", 700)])
def test_parts_of_different_widths(runner: Any, kind: str, dtype: str, rows: int) -> None:
    """More parts than one launch takes, some of them empty, one of them for several groups."""
    rng = np.random.default_rng(0)
    widths = [*rng.integers(0, 9, 40), 0, 90_000 // rows, 1]
    parts = [rng.integers(0, 200, (rows, n, 2)).astype(dtype) for n in widths]
    whole = np.concatenate(parts, 1)
    infos = [TensorInfo(as_dtype(dtype), p.shape) for p in parts]
    out = TensorInfo(as_dtype(dtype), whole.shape)
    join = runner.site("Join", parts, [out], SimpleNamespace(), kind=kind)
    (joined,) = runner.run_calls(join_calls(join, 1, 0), parts, [out])
    np.testing.assert_array_equal(joined, whole)
    split = runner.site("Split", [whole], infos, SimpleNamespace(), kind=kind)
    calls = split_calls(split, 1, 0)
    assert len(calls) == 2
    for part, result in zip(parts, runner.run_calls(calls, [whole], infos), strict=True):
        np.testing.assert_array_equal(result, part)
