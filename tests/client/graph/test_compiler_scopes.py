"""Scopes whose operations shall be compiled together."""

from __future__ import annotations

import tfnb as tf


def test_scopes_of_compiled_operations():
    """As in copies of tf.contrib.rnn's cells."""
    with tf.contrib.compiler.jit.experimental_jit_scope(compile_ops=lambda node: node.op == "Mul"):
        doubled = tf.constant(2) * 2
    with tf.xla.experimental.jit_scope(separate_compiled_gradients=True), tf.Session() as session:
        assert session.run(doubled + 1) == 5
