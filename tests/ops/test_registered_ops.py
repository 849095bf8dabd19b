"""The operations and dtypes of TensorFlow 1.15.5: those that are missing have a reason."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))

from registered import MISSING, TYPES, lacking_types, missing_ops, reason_of, registered


def test_each_missing_operation_has_a_reason():
    assert [op for op in missing_ops() if reason_of(op) is None] == []


@pytest.mark.parametrize("pattern", MISSING)
def test_no_reason_is_left_over(pattern):
    assert any(re.fullmatch(pattern, op) and reason_of(op) == MISSING[pattern] for op in missing_ops())


def test_each_dtype_that_lacks_has_a_reason():
    left = [
        f"{where}: {dtype}"
        for where, dtype in lacking_types()
        if not any(dtype in dtypes.split() and re.fullmatch(p, where) for dtypes, p in TYPES.values())
    ]
    assert left == []


@pytest.mark.parametrize("reason", TYPES)
def test_no_reason_of_a_dtype_is_left_over(reason):
    dtypes, pattern = TYPES[reason]
    used = {dtype for where, dtype in lacking_types() if dtype in dtypes.split() and re.fullmatch(pattern, where)}
    assert used == set(dtypes.split())


def test_the_table_is_that_of_the_release():
    ops = registered()
    assert len(ops) == 1393 and ops["MatMul"]["T"][0] >= {"float32", "complex64", "int32"}
    assert ops["BiasAdd"]["T"][0] >= {"qint32"}  # allowed, but no kernel takes it
    assert not ops["BiasAdd"]["T"][1] & {"qint32"}
