"""Cases of later 1.x libraries: sets, serialised tensors, functions of matrices, texts in Unicode."""

from __future__ import annotations

import numpy as np
from cases import Case, arr, ints

from tfnb.ir.graphdef.tensor_proto import encode_array


def texts(*values: bytes) -> np.ndarray:
    return np.array(values, object)


def as_text(x: np.ndarray) -> bytes:
    return encode_array(np.asarray(x)).SerializeToString()


def near_identity(*shape: int) -> np.ndarray:
    return (arr(*shape) * np.float32(0.3) + 2 * np.eye(shape[-1], dtype=np.float32)).astype(np.float32)


LOOSE = {"rtol": 2e-4, "atol": 2e-5}
_A = np.array([[0, 0], [0, 2], [1, 1], [2, 0]], np.int64)  # in a 3 x 4 matrix
_B = np.array([[0, 1], [1, 0], [1, 3]], np.int64)
_SHAPE = np.array([3, 4], np.int64)
_ONE, _TWO = ints(3, 4, lo=0, hi=5), ints(3, 2, lo=0, hi=5)
_VALUES, _OTHERS = np.array([1, 2, 3, 1], np.int32), np.array([2, 3, 4], np.int32)
_STRINGS = np.array([b"b", b"a", b"c", b"b"], object)
_ROWS = np.array(
    [
        [as_text(i), as_text(v), as_text(np.array([n], np.int64))]
        for i, v, n in (
            (np.array([[0], [3]], np.int64), np.array([1.5, 2.5], np.float32), 4),
            (np.zeros((0, 1), np.int64), np.zeros(0, np.float32), 6),
            (np.array([[1]], np.int64), np.array([3.5], np.float32), 2),
        )
    ],
    object,
)
_WORDS = texts(b"alpha", b"", "größe €𝄞".encode(), b"a\xffb\xc3", b"\x01tab\t")
_UTF8 = {"input_encoding": "UTF-8"}
_SPLIT = {**_UTF8, "Tsplits": "int64"}
_POINTS = np.array([97, 8364, 0x1D11E, -5, 0xD800, 98], np.int32)

_BORDERS = np.array([0, 2, 3, 5], np.int64), np.array([0, 1, 4], np.int64)
_IMAGE = arr(2, 5, 4, 2)

CASES = [
    Case("Bucketize", (np.array([[-1.0, 0.0, 2.5], [3.0, 7.0, np.nan]], np.float32),), {"boundaries": (0.0, 2.5, 7.0)}),
    Case("Bucketize", (ints(5),), {"boundaries": (-3.0, 3.0)}),
    Case("EuclideanNorm", (arr(3, 4), np.array([1], np.int32))),
    Case("EuclideanNorm", (arr(2, 3), np.array([0, -1], np.int32)), {"keep_dims": True}),
    Case("ConjugateTranspose", (arr(2, 3), np.array([1, 0], np.int32))),
    Case("ConjugateTranspose", ((arr(2, 3) + 1j * arr(2, 3)).astype(np.complex64), np.array([1, 0], np.int32))),
    Case("BesselI0e", (arr(5),)),
    Case("BesselI1e", (arr(5),)),
    *(
        Case(
            "FractionalMaxPoolGrad",
            (_IMAGE, arr(2, 3, 2, 2), arr(2, 3, 2, 2), *_BORDERS),
            {"overlapping": o},
            oracle=False,
        )
        for o in (False, True)
    ),
    *(
        Case(
            "FractionalAvgPoolGrad",
            (np.array([2, 5, 4, 2], np.int64), arr(2, 3, 2, 2), *_BORDERS),
            {"overlapping": o},
            oracle=False,
        )
        for o in (False, True)
    ),
    *(
        Case("DenseToDenseSetOperation", (_ONE, _TWO), {"set_operation": k})
        for k in ("a-b", "b-a", "intersection", "union")
    ),
    Case("DenseToDenseSetOperation", (np.zeros((0, 2), np.int64),) * 2, {"set_operation": "union"}, oracle=False),
    Case("DenseToSparseSetOperation", (_ONE, _A, _VALUES, _SHAPE), {"set_operation": "a-b"}),
    Case("SparseToSparseSetOperation", (_A, _VALUES, _SHAPE, _B, _OTHERS, _SHAPE), {"set_operation": "union"}),
    Case(
        "SparseToSparseSetOperation",
        (_A, _STRINGS, _SHAPE, _B, _STRINGS[:3], _SHAPE),
        {"set_operation": "intersection"},
    ),
    Case("SetSize", (_A, np.array([1, 1, 3, 1], np.int32), _SHAPE)),
    Case("SerializeTensor", (arr(2, 2),)),
    Case("ParseTensor", (np.array(as_text(ints(2, 3)), object),), {"out_type": "int32"}),
    Case("ParseTensor", (np.array(as_text(texts(b"a", b"\xff")), object),), {"out_type": "string"}),
    Case("SerializeSparse", (_A, arr(4), _SHAPE), {"out_type": "string"}),
    Case("SerializeManySparse", (_A, arr(4), _SHAPE), {"out_type": "string"}),
    Case("DeserializeManySparse", (_ROWS,), {"dtype": "float32"}, float32_only=True),
    Case("DeserializeSparse", (_ROWS[:, None],), {"dtype": "float32"}, float32_only=True),
    Case("MatrixExponential", (arr(2, 3, 3),), **LOOSE),
    Case("MatrixExponential", (np.zeros((0, 2, 2), np.float32),)),
    Case("MatrixLogarithm", (near_identity(2, 2).astype(np.complex64),), **LOOSE),
    Case("MatrixSquareRoot", (near_identity(2, 3, 3),), **LOOSE),
    Case("Lu", (near_identity(3, 3),), {"output_idx_type": "int32"}, **LOOSE),
    Case("Lu", (near_identity(2, 3, 3)[:, ::-1].copy(),), {"output_idx_type": "int64"}, note="rows exchanged", **LOOSE),
    Case("UnicodeDecode", (_WORDS,), _SPLIT),
    Case("UnicodeDecode", (_WORDS,), {**_SPLIT, "errors": "ignore", "replace_control_characters": True}),
    Case("UnicodeDecodeWithOffsets", (_WORDS[:4],), {**_SPLIT, "replacement_char": 63}),
    Case("UnicodeDecode", (texts("a€".encode("utf-16-be")),), {"input_encoding": "UTF-16-BE", "Tsplits": "int32"}),
    Case("UnicodeEncode", (_POINTS, np.array([0, 3, 3, 6], np.int64)), {"output_encoding": "UTF-8"}),
    Case("UnicodeEncode", (_POINTS, np.array([0, 6], np.int64)), {"output_encoding": "UTF-32-BE", "errors": "ignore"}),
    Case("UnicodeTranscode", (_WORDS[:4],), {**_UTF8, "output_encoding": "UTF-16-BE"}),
    Case("UnicodeTranscode", (texts(b"a\xe9"),), {"input_encoding": "ISO-8859-1", "output_encoding": "UTF-8"}),
    Case("StaticRegexReplace", (_WORDS,), {"pattern": "[ab]+(.)", "rewrite": "<\\1>"}),
    Case("StaticRegexReplace", (_WORDS,), {"pattern": "a", "rewrite": "", "replace_global": False}),
    Case(
        "StringFormat",
        ([arr(2, 9, lo=-3, hi=3).round(1), ints(3), np.array(7, np.int64)],),
        {"template": "a %s b %s c %s"},
        float32_only=True,
    ),
    Case("StringFormat", ([texts(b"x", b"y"), np.array(b"z", object)],), {"template": "{}, {}!", "placeholder": "{}"}),
    Case(
        "UnsortedSegmentJoin",
        (texts(b"a", b"b", b"c", b"d"), np.array([2, 0, -1, 2], np.int32), np.int32(3)),
        {"separator": "+"},
        note="negative",
        oracle=False,
    ),  # TensorFlow refuses negative segments
    Case("UnsortedSegmentJoin", (_STRINGS.reshape(2, 2), np.array([1, 1], np.int32), np.int32(2))),
]
