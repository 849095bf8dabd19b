"""Cases of strings: joining, cutting, splitting, numbers, hashes."""

from __future__ import annotations

import numpy as np
from cases import Case, ints


def texts(*values: bytes) -> np.ndarray:
    return np.array(values, object)


def text(value: bytes) -> np.ndarray:
    return np.array(value, object)


_TABLE = np.array([[b"a", b"bc"], [b"", b"\xff\x00d"]], object)
_WORDS = texts(b"alpha", b"", "größe".encode(), b" two words\t", b"x" * 17, b"UPPER")
# lengths that reach every branch of the hashes
_LENGTHS = texts(
    *(
        bytes(range(65, 65 + n % 60)) + b"z" * (n - n % 60)
        for n in (
            0,
            1,
            2,
            3,
            4,
            7,
            8,
            9,
            15,
            16,
            17,
            31,
            32,
            33,
            47,
            63,
            64,
            65,
            100,
            127,
            128,
            129,
            300,
        )
    )
)
_NUMBERS = texts(b"1", b" -2 ", b"+3", b"0")
_RAW = texts(bytes(range(1, 17)), bytes(range(101, 117)))
_LINES = texts(b'"a, ""b""",5,1.5', b"c,,-2e3", b'"",8,"3"', b'"two\nlines",1,.5')
_NONE = np.array([], np.float32)  # required

CASES = [
    Case("StringJoin", ([_TABLE, _TABLE[::-1]],), {"separator": "-"}),
    Case("StringJoin", ([_TABLE, text(b"!"), _TABLE],)),
    Case("StringJoin", ([text(b"a"), text(b"b")],)),
    *(
        Case("ReduceJoin", (_TABLE, np.array(axes, np.int32)), {"separator": "+", "keep_dims": keep})
        for axes in ([0], [-1], [0, 1], [1, 0], [])
        for keep in (False, True)
    ),
    Case("ReduceJoin", (_TABLE, np.int32(1))),
    Case("ReduceJoin", (np.empty((2, 0), object), np.array([1], np.int32))),
    Case("Substr", (_WORDS[:1], np.int32(1), np.int32(3))),
    Case("Substr", (texts(b"hello", b"world"), ints(2, lo=-4, hi=4), ints(2, lo=0, hi=9))),
    Case("Substr", (texts(b"hello", b"world"), np.int64(-3), np.int64(-1))),
    Case("Substr", (text("größer".encode()), np.int32(2), np.int32(2)), {"unit": "UTF8_CHAR"}),
    Case("Substr", (texts(b"hello", b"world"), ints(2, 1, lo=0, hi=4), ints(2, 1, lo=0, hi=4))),
    *(
        Case("StringSplit", (texts(b" a  b ", b"c,d,e", b""), text(sep)), {"skip_empty": skip})
        for sep in (b" ", b" ,", b"")
        for skip in (True, False)
    ),
    Case("StringSplit", (texts(), text(b" "))),
    *(
        Case("StringSplitV2", (texts(b" a  b ", b"c,,d,e", b""), text(sep)), {"maxsplit": n})
        for sep in (b"", b",")
        for n in (-1, 0, 1)
    ),
    Case("StringStrip", (_WORDS,)),
    Case("StringLower", (_WORDS,)),
    Case("StringUpper", (_WORDS,)),
    Case("StringUpper", (text("größe".encode()),), {"encoding": "utf-8"}, oracle=False),
    Case("StringLength", (_TABLE,)),
    Case("StringLength", (_WORDS,), {"unit": "UTF8_CHAR"}),
    Case("AsString", (ints(2, 3),)),
    Case("AsString", (ints(3, dtype=np.int8),), {"width": 6, "fill": "0"}),
    Case("AsString", (np.array([True, False]),)),
    Case("AsString", (np.array([1 + 2j, -0.5j], np.complex64),), {"precision": 1}),
    *(
        Case("AsString", (np.array([1.5, -2.25, 1e20, np.nan, -np.inf, 0.1], np.float32),), attrs)
        for attrs in (
            {},
            {"precision": 2},
            {"scientific": True},
            {"shortest": True},
            {"width": 12, "fill": "0"},
            {"width": 9, "fill": "-", "precision": 1},
        )
    ),
    *(Case("StringToNumber", (_NUMBERS,), {"out_type": t}) for t in ("float32", "float64", "int32", "int64")),
    Case(
        "StringToNumber",
        (texts(b".5", b"1e-3", b"-inf", b"NaN", b"0x1F", b"1e400"),),
        {"out_type": "float32"},
    ),
    Case("RegexReplace", (_WORDS, text(b"([a-z])([a-z])"), text(rb"\2\1<\0>"))),
    Case("RegexReplace", (_WORDS, text(b"x*"), text(b"-"))),
    Case("RegexReplace", (_WORDS, text(b"[a-z]"), text(rb"\\")), {"replace_global": False}),
    Case("RegexFullMatch", (_WORDS, text(b"[a-zA-Z]*"))),
    Case("StaticRegexFullMatch", (_WORDS,), {"pattern": "[a-zA-Z]*"}),
    *(Case("EncodeBase64", (_LENGTHS[:6],), {"pad": pad}) for pad in (False, True)),
    Case("DecodeBase64", (texts(b"", b"YQ", b"YQ==", b"ab_-", b"YWJjZA"),)),
    Case("StringToHashBucket", (_LENGTHS,), {"num_buckets": 1 << 40}),
    Case("StringToHashBucketFast", (_LENGTHS,), {"num_buckets": (1 << 62) + 1}),
    Case("StringToHashBucketFast", (_TABLE,), {"num_buckets": 1}),
    Case("StringToHashBucketStrong", (_LENGTHS,), {"num_buckets": 1 << 61, "key": (5, -7)}),
    *(
        Case("DecodeRaw", (_RAW,), {"out_type": t, "little_endian": little})
        for t in ("uint8", "int16", "float32", "int64", "complex64", "bfloat16")
        for little in (True, False)
    ),
    Case("DecodeRaw", (texts(),), {"out_type": "int32"}, oracle=False),
    *(
        Case("DecodeCSV", (_LINES, [texts(b"-"), np.array([7], np.int32), _NONE]), attrs)
        for attrs in ({}, {"use_quote_delim": True, "na_value": "5"})
    ),
    Case(
        "DecodeCSV",
        (text(b'"x"|1|2'), [texts(b""), texts(b"")]),
        {"field_delim": "|", "use_quote_delim": False, "select_cols": (0, 2)},
    ),
    Case("Add", (_TABLE, texts(b"-", b"\0"))),
    Case("Add", (text(b"a\0"), text(b"b"))),
    # strings through the ops that move elements
    Case("Transpose", (_TABLE, np.array([1, 0], np.int32))),
    Case("Tile", (_TABLE, np.array([2, 1], np.int32))),
    Case("Fill", (np.array([2, 2], np.int32), text(b"ab"))),
    Case("Pack", ([_TABLE, _TABLE],), {"axis": 1}),
    Case("Unpack", (_TABLE,), {"num": 2, "axis": 1}),
    Case("ConcatV2", ([_TABLE, _TABLE], np.int32(1))),
    Case("Split", (np.int32(1), _TABLE), {"num_split": 2}),
    Case("Slice", (_TABLE, np.array([0, 1], np.int32), np.array([2, 1], np.int32))),
    Case("StridedSlice", (_TABLE, *(np.array([k], np.int32) for k in (1, 2, 1)))),
    Case("ReverseV2", (_TABLE, np.array([0], np.int32))),
    Case("Gather", (_TABLE, ints(3, lo=0, hi=2))),
    Case("GatherV2", (_TABLE, ints(3, lo=0, hi=2), np.int32(1))),
    Case("GatherNd", (_TABLE, ints(3, 2, lo=0, hi=2))),
    Case("Equal", (_TABLE, _TABLE[::-1])),
    Case("NotEqual", (_TABLE, text(b"a"))),
    Case("Select", (np.array([[True, False], [False, True]]), _TABLE, _TABLE[::-1])),
    Case("Squeeze", (_TABLE[:1],)),
    Case("ExpandDims", (_TABLE, np.int32(1))),
    Case("PadV2", (_TABLE, np.array([[1, 0], [0, 2]], np.int32), text(b"-"))),
    Case("Unique", (texts(b"b", b"a", b"b"),), {"out_idx": "int32"}),
    Case("DynamicPartition", (texts(b"b", b"a", b"c"), ints(3, lo=0, hi=2)), {"num_partitions": 2}),
    Case("DynamicStitch", ([ints(1, lo=0, hi=1), ints(1, lo=1, hi=2)], [texts(b"b"), texts(b"a")])),
    Case("ZerosLike", (_TABLE,)),
    Case("BroadcastTo", (texts(b"b", b"a"), np.array([2, 2], np.int32))),
]
