"""tf.Example made and parsed by us and by TensorFlow: the same bytes, the same tensors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def records(tf):
    t = tf.train

    def of(**lists):
        kinds = {
            "i": ("int64_list", t.Int64List),
            "f": ("float_list", t.FloatList),
            "b": ("bytes_list", t.BytesList),
        }
        made = {}
        for name, values in lists.items():
            field, holder = kinds[name[0]]
            made[name] = t.Feature(**{field: holder(value=values)})
        return t.Example(features=t.Features(feature=made)).SerializeToString(deterministic=True)

    def steps(kind, holder, rows):
        return t.FeatureList(feature=[t.Feature(**{kind: holder(value=r)}) for r in rows])

    lists = {
        "x": steps("float_list", t.FloatList, [[1, 2], [3, 4]]),
        "y": steps("int64_list", t.Int64List, [[1], [], [2, -3]]),
    }
    sequence = t.SequenceExample(
        context=t.Features(feature={"n": t.Feature(int64_list=t.Int64List(value=[7]))}),
        feature_lists=t.FeatureLists(feature_list=lists),
    ).SerializeToString(deterministic=True)
    return [
        of(i=[1, 2], f=[1.5], b=[b"x", b"y\0"], ix=[3, 1], fv=[0.5, 0.25]),
        of(i=[3, 4], b=[]),
    ], sequence


def parsed(tf, examples, sequence):
    dense, ragged = tf.FixedLenFeature, tf.VarLenFeature
    features = {
        "i": dense([2], tf.int64),
        "f": dense([], tf.float32, 9.0),
        "b": ragged(tf.string),
        "none": dense([2], tf.string, ["p", "q"]),
        "pad": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
        "s": tf.SparseFeature("ix", "fv", tf.float32, 10),
    }
    return [
        tf.parse_example(examples, features),
        tf.parse_example(
            examples,
            {
                "b": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value="-"),
                "ix": tf.FixedLenSequenceFeature([1], tf.int64, allow_missing=True, default_value=-1),
            },
        ),
        tf.parse_single_example(examples[0], {k: v for k, v in features.items() if k != "pad"}),
        tf.parse_single_sequence_example(
            sequence,
            {"n": dense([], tf.int64), "m": ragged(tf.float32)},
            {
                "x": tf.FixedLenSequenceFeature([2], tf.float32),
                "y": ragged(tf.int64),
                "z": tf.FixedLenSequenceFeature([3], tf.string, allow_missing=True),
            },
        ),
    ]


def _same(a, b):
    if isinstance(a, dict):
        assert sorted(a) == sorted(b)
        for key in a:
            _same(a[key], b[key])
    elif isinstance(a, (tuple, list)) and not isinstance(a, np.ndarray):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            _same(x, y)
    else:
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_same_bytes_and_tensors():
    ours, theirs = records(tfnb), records(tf1)
    assert ours == theirs
    with tfnb.Graph().as_default(), tfnb.Session() as session:
        mine = session.run(parsed(tfnb, *ours))
    with tf1.Graph().as_default(), tf1.Session() as session:
        wanted = session.run(parsed(tf1, *theirs))
    _same(mine, wanted)


def test_what_json_describes_is_parsed_to_the_same_tensors():
    """The bytes differ: lists of numbers are packed here, and one field for each number there."""
    texts = [
        b'{"features": {"feature": {"i": {"int64List": {"value": ["1", -2]}}, "f": {"floatList": {"value": [0.5, "NaN"]}},'
        b' "b": {"bytesList": {"value": ["YQ==", ""]}}}}}',
        b'{"features": {"feature": {"i": {"int64List": {"value": [9223372036854775807, 0]}}}}}',
        b"{}",
    ]
    found = []
    for tf in (tfnb, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            kinds = {"i": tf.int64, "f": tf.float32, "b": tf.string}
            features = {name: tf.VarLenFeature(kind) for name, kind in kinds.items()}
            made = tf.parse_example(tf.io.decode_json_example(texts), features)
            found.append({k: tuple(v) for k, v in session.run(made).items()})
    _same(*found)
    assert found[0]["i"][1].tolist() == [1, -2, 2**63 - 1, 0]
