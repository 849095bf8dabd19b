"""Inputs that an op refuses on the host, with an error of our own."""

from __future__ import annotations

import numpy as np
import pytest
from building import build
from cases import Case, arr, ints
from evaluate import evaluate

from tfnb.errors import InvalidArgumentError

_I = np.int32


@pytest.mark.parametrize("knowledge", ["shapes", "nothing"])
@pytest.mark.parametrize(
    ("case", "says"),
    [
        (Case("SplitV", (arr(4), np.array([-2, 4], _I), _I(0)), {"num_split": 2}), "negative"),
        (Case("SparseFillEmptyRowsGrad", (np.array([0, -1]), arr(3))), "reverse_index_map"),
        (Case("UniqueV2", (ints(2, 3), np.array([0, 0], _I)), {"out_idx": "int32"}), "one number"),
        (
            Case(
                "QuantizedReshape",
                (
                    np.zeros((3, 2), np.dtype(np.uint8, metadata={"quantized": "quint8"})),
                    np.array([2, -2], _I),
                )
                + (np.float32(0), np.float32(1)),
            ),
            "is not a shape",
        ),
    ],
    ids=lambda x: x.op if isinstance(x, Case) else None,
)
def test_refuses(case, says, knowledge):
    with pytest.raises(InvalidArgumentError, match=says):
        built = build(case, knowledge)
        evaluate(built.outputs, built.feeds())
