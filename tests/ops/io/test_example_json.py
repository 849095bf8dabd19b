"""tf.Example as JSON: what is read, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

TEXT = """{"features": {"feature": {"a": {"floatList": {"value": [1.5, -2.0]}},
          "b": {"bytesList": {"value": ["aGk="]}}, "c": {"int64List": {"value": ["7", 8]}}}}}"""


@pytest.fixture(autouse=True)
def sess():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_an_example_in_json_is_parsed_like_any_other(sess):
    serialized = tf.decode_json_example([[TEXT]])
    assert serialized.shape == (1, 1)
    wanted = {
        "a": tf.FixedLenFeature([2], tf.float32),
        "b": tf.FixedLenFeature([], tf.string),
        "c": tf.FixedLenFeature([2], tf.int64),
    }
    found = sess.run(tf.parse_example(serialized[0], wanted))
    np.testing.assert_array_equal(found["a"], [[1.5, -2.0]])
    np.testing.assert_array_equal(found["b"], [b"hi"])
    np.testing.assert_array_equal(found["c"], [[7, 8]])


@pytest.mark.parametrize("text", [b"{]", b"", b'{"features": 3}', b'{"unknown": {}}', b"[" * 100_000, b'"\xff"'])
def test_other_texts_are_refused(sess, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
        sess.run(tf.decode_json_example(text))
