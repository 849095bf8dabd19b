"""Names of losses: the operation that gives the result has the name that was given."""

from __future__ import annotations

import tfnb as tf


def test_the_result_has_the_given_name():
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        assert tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=x, name="mine").op.name == "mine"
        weighted = tf.nn.weighted_cross_entropy_with_logits(targets=x, logits=x, pos_weight=2.0, name="yours")
        assert weighted.op.name == "yours"
        assert tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=x).op.name == "logistic_loss"
