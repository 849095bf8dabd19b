"""Prefixes of checkpoints."""

from __future__ import annotations

import tfnb as tf


def test_a_prefix_that_is_a_folder(tmp_path):
    """As in `saver.save(sess, "model.weights/")`: the files have no name before their endings."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1.0, 2.0])
        sess.run(v.initializer)
        saver, prefix = tf.train.Saver(), f"{tmp_path}/weights/"
        assert saver.save(sess, prefix) == prefix and saver.save(sess, prefix, 3) == f"{prefix}-3"
        names = {p.name for p in (tmp_path / "weights").iterdir()}
        assert {".index", "-3.index", ".meta", "checkpoint"} <= names
        assert tf.train.latest_checkpoint(prefix) == f"{prefix}-3"
        sess.run(v.assign([0.0, 0.0]))
        saver.restore(sess, prefix)
        assert sess.run(v).tolist() == [1.0, 2.0]
