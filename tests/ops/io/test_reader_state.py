"""States of readers as strings."""

import pytest

import tfnb as tf


def test_a_state_is_a_single_string():
    with tf.Graph().as_default():
        reader = tf.IdentityReader()
        with pytest.raises(ValueError, match="must be rank 0"):
            reader.restore_state([b"a", b"b"])
