"""Programs for a GPU (many work-items, grid strides) compute the same; here they run on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from runner import reference, run_graph

import tfnb as tf
from tfnb.codegen.program import DeviceFacts

pytestmark = pytest.mark.opencl
FACTS = DeviceFacts("gpu", units=16)
RNG = np.random.default_rng(2)


@pytest.mark.parametrize("shape", [(5, 7), (300, 33), (2, 40_000), (3000, 3), (40, 301), (3, 5001), (1, 300_001)])
def test_same_values(device, shape):
    x, v = RNG.standard_normal(shape).astype(np.float32), RNG.standard_normal(shape[-1:]).astype(np.float32)
    with tf.Graph().as_default() as graph:
        a, b = tf.placeholder(tf.float32, shape), tf.placeholder(tf.float32, shape[-1:])
        fetches = [
            tf.tanh(a) + b,
            tf.reduce_sum(a),
            tf.reduce_sum(a, 0),
            tf.reduce_max(a, 1),
            tf.nn.softmax(a),
            tf.argmax(a, 0),
            tf.argmin(tf.round(a), 1),
            tf.reduce_any(a > 3.0, 1),
            tf.reduce_all(a > -3.0),
            tf.reduce_prod(1.0 + a / 1e6, 0),
            tf.reduce_sum(tf.cast(a * 100.0, tf.int32), 1),
            tf.reduce_max(tf.cast(a, tf.float64)),
            tf.transpose(a),
            tf.nn.moments(a, [0])[1],
        ]
    feeds = {a: x, b: v}
    found, _ = run_graph(device, graph, feeds, fetches, facts=FACTS)
    want, _ = reference(graph, feeds, fetches)
    for p, q in zip(found, want, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-4, atol=1e-3)
