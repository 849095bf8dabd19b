"""Cases of parsing tf.Example. Compared with TensorFlow through the public functions:
tests/oracle/ops/test_records.py."""

from __future__ import annotations

import numpy as np
from cases import Case

from tfnb.ops.io.example_messages import message


def feature(*values: object) -> object:
    kind = {int: "int64", float: "float", bytes: "bytes"}[type(values[0])]
    holder = message(f"{kind.title()}List")(value=values)
    return message("Feature")(**{f"{kind}_list": holder})


def example(**features: object) -> bytes:
    return message("Example")(features=message("Features")(feature=features)).SerializeToString()


def sequence(context: dict, lists: dict) -> bytes:
    wrapped = {k: message("FeatureList")(feature=v) for k, v in lists.items()}
    return message("SequenceExample")(
        context=message("Features")(feature=context),
        feature_lists=message("FeatureLists")(feature_list=wrapped),
    ).SerializeToString()


def texts(*values: bytes) -> np.ndarray:
    return np.array(values, object)


def text(value: bytes) -> np.ndarray:
    return np.array(value, object)


FIRST = example(a=feature(1, 2), b=feature(1.5), c=feature(b"x\0", b"y"))
SECOND = example(a=feature(3, 4), c=message("Feature")())
STEPS = sequence(
    {"n": feature(2)},
    {"x": [feature(1.0, 2.0), feature(3.0, 4.0)], "y": [feature(1), feature(2, 3)]},
)
_NONE = np.array([], np.int64)

CASES = [
    Case(
        "ParseExampleV2",
        (texts(FIRST, SECOND), texts(), texts(b"c"), texts(b"a", b"b"), texts(), [_NONE, np.float32(9)]),
        {
            "num_sparse": 1,
            "sparse_types": ["string"],
            "Tdense": ["int64", "float32"],
            "ragged_value_types": [],
            "ragged_split_types": [],
            "dense_shapes": [[2], []],
        },
        oracle=False,
        float32_only=True,
    ),
    Case(
        "ParseExample",
        (
            texts(FIRST, SECOND),
            texts(),
            [text(b"c")],
            [text(b"a"), text(b"b")],
            [_NONE, np.float32(9)],
        ),
        {
            "sparse_types": ["string"],
            "Tdense": ["int64", "float32"],
            "dense_shapes": [[2], []],
        },
        oracle=False,
        float32_only=True,
    ),
    Case(
        "ParseExample",
        (texts(SECOND, FIRST), texts(b"p", b"q"), [], [text(b"c")], [text(b"-")]),
        {"sparse_types": [], "Tdense": ["string"], "dense_shapes": [[-1]]},
        oracle=False,
    ),
    Case(
        "ParseSingleExample",
        (text(FIRST), [_NONE]),
        {
            "num_sparse": 1,
            "sparse_keys": ["b"],
            "dense_keys": ["a"],
            "sparse_types": ["float32"],
            "Tdense": ["int64"],
            "dense_shapes": [[2]],
        },
        oracle=False,
    ),
    Case(
        "ParseSingleSequenceExample",
        (
            text(STEPS),
            texts(b"z"),
            [],
            [text(b"n")],
            [text(b"y")],
            [text(b"x"), text(b"z")],
            [_NONE],
            text(b"it"),
        ),
        {
            "context_sparse_types": [],
            "Tcontext_dense": ["int64"],
            "context_dense_shapes": [[]],
            "feature_list_sparse_types": ["int64"],
            "feature_list_dense_types": ["float32", "float32"],
            "feature_list_dense_shapes": [[2], []],
        },
        oracle=False,
    ),
]
