"""What becomes one kernel, and what does not."""

from __future__ import annotations

import numpy as np
import pytest
from runner import compile_graph, reference, run_graph

import tfnb as tf
from tfnb.codegen.program import Copy, DeviceFacts

RNG = np.random.default_rng(5)


def program(build, *shapes, **changes):
    with tf.Graph().as_default() as graph:
        feeds = {tf.placeholder(tf.float32, s): np.zeros(s, np.float32) for s in shapes}
        fetches = build(*feeds)
    fetches = list(fetches) if isinstance(fetches, (list, tuple)) else [fetches]
    return compile_graph(graph, feeds, fetches, **changes)


def launches(build, *shapes, **changes):
    return len(program(build, *shapes, **changes).steps)


def test_a_long_chain_computes_what_numpy_does():
    """Python allows 1,000 nested calls, so no expression may be as deep as the chain is long."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [16])
        y, expected = x, np.linspace(-1, 1, 16, dtype=np.float32)
        for _ in range(700):
            y, expected = tf.tanh(y), np.tanh(expected)
        np.testing.assert_allclose(sess.run(y, {x: np.linspace(-1, 1, 16)}), expected, rtol=1e-4)


def test_a_chain_is_one_kernel():
    assert launches(lambda a, b: tf.tanh(a * 2.0 + b) - tf.exp(a), (30, 40), (40,)) == 1


def test_without_fusion_each_op_is_a_kernel():
    assert launches(lambda a, b: tf.tanh(a * 2.0 + b) - tf.exp(a), (30, 40), (40,), optimize=False) == 5


@pytest.mark.parametrize("optimize", [True, False])
def test_what_only_the_unused_reads_is_no_kernel(optimize):
    """A product with no elements is known; so nobody reads the comparison's cast, nor the comparison."""
    assert launches(lambda a, b: tf.cast(b < 3.0, tf.float32) * a, (0, 3), (1, 3), optimize=optimize) == 0


def test_a_long_chain_is_several_kernels_and_equal_ones_are_built_once():
    def build(a):
        for _ in range(1000):
            a = tf.sin(a)
        return a

    compiled = program(build, (30, 40))
    assert 5 <= len(compiled.steps) <= 20
    assert len({step.entry for step in compiled.steps}) <= 3


def test_softmax_is_one_kernel():
    assert launches(tf.nn.softmax, (30, 40)) == 1


def test_cross_entropy_and_its_gradient_are_one_kernel():
    def build(a, b):
        loss = tf.nn.softmax_cross_entropy_with_logits(logits=a, labels=b)
        return [loss, tf.gradients(loss, a)[0]]

    assert launches(build, (30, 10), (30, 10)) == 1


def test_outputs_over_one_domain_share_a_kernel():
    assert launches(lambda a: [tf.tanh(a), tf.tanh(a) * 2.0, a + 1.0], (30, 40)) == 1


def test_a_gradient_and_its_column_sums_are_one_kernel():
    def build(a, b):
        g = tf.where(a > 0.0, b, tf.zeros_like(b))
        return [g, tf.reduce_sum(g, 0)]

    assert launches(build, (30, 40), (30, 40)) == 1


def test_moments_and_normalisation():
    def build(a):
        mean, variance = tf.nn.moments(a, [0])
        return (a - mean) * tf.rsqrt(variance + 1e-3)

    assert launches(build, (50, 40)) <= 3


def test_a_big_sum_is_split():
    p = program(lambda a: tf.reduce_sum(a * a), (1 << 20,))
    assert [s.groups[0] > 1 for s in p.steps] == [True, False]


def test_small_kernels_that_follow_each_other_are_one_launch():
    def build(a, b):
        rows = tf.nn.softmax(a)
        return [
            tf.reduce_mean(rows, 0),
            tf.reduce_max(b),
            tf.reduce_sum(tf.reshape(rows, [-1])[:50] * tf.reshape(b, [-1])),
        ]

    assert launches(build, (30, 10), (5, 10)) == 1
    assert launches(build, (30, 10), (5, 10), optimize=False) > 3


def test_chains_have_a_limited_number_of_parts(device):
    """Twenty kernels, each of another rank and so of another text, in few launches; nothing is lost."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [7, 9])
        feeds, fetches = {x: RNG.standard_normal((7, 9)).astype(np.float32)}, []
        for k in range(20):
            x = tf.tanh(tf.reduce_sum(tf.transpose(x) * float(k + 1), 1, keepdims=True) * 0.01 + tf.transpose(x))
            fetches.append(x)
    got, _ = run_graph(device, graph, feeds, fetches)
    want, _ = reference(graph, feeds, fetches)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_equal_updates_are_one_entry():
    def build(*xs):
        return [tf.tanh(x * 0.5) + 1.0 for x in xs]

    p = program(build, (10,), (300,), (7, 9))
    assert len(p.steps) == 3 and len({s.entry for s in p.steps}) == 1


def test_a_long_concatenation_is_a_launch_per_operand():
    p = program(lambda *a: tf.concat(list(a), 0), *[(4, 33)] * 20)
    assert len(p.steps) == 20 and len({s.entry for s in p.steps}) <= 3


def test_an_lstm_step_after_the_product_is_one_kernel():
    def build(z, c):
        i, j, g, o = tf.split(z, 4, 1)
        new = c * tf.sigmoid(g + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        return [new, tf.tanh(new) * tf.sigmoid(o)]

    assert launches(build, (20, 256), (20, 64)) == 1


def test_bias_and_activation_move_into_the_product():
    def build(a, b, c):
        return tf.nn.relu(tf.matmul(a, b) + c)

    p = program(build, (20, 30), (30, 40), (40,))
    assert len(p.steps) == 1 and p.modules[0].file
    assert launches(lambda a, b, c: tf.nn.elu(tf.matmul(a, b) + c), (200, 300), (300, 400), (400,)) == 2


@pytest.mark.opencl
def test_a_bias_that_is_computed_is_computed_before(device):
    """A slice and a gather would be inlined into the addition, which is no more."""
    with tf.Graph().as_default() as graph:
        a, w = tf.placeholder(tf.float32, [12, 8]), tf.placeholder(tf.float32, [8, 6])
        b, rows = tf.placeholder(tf.float32, [27]), tf.placeholder(tf.int32, [6])
        fetches = [tf.matmul(a, w) + b[3:9], tf.nn.relu(tf.matmul(a, w * 2.0) + tf.gather(b, rows))]
    feeds = {t: RNG.normal(size=t.shape.as_list()).astype("f") for t in (a, w, b)}
    feeds[rows] = np.array([26, 0, 3, 3, 9, 1], np.int32)
    found, _ = run_graph(device, graph, feeds, fetches)
    wanted, _ = reference(graph, feeds, fetches)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_product_with_two_readers_keeps_its_result():
    def build(a, b, c):
        m = tf.matmul(a, b)
        return [tf.nn.relu(m + c), m]

    p = program(build, (20, 30), (30, 40), (40,))
    assert any("epilogue" in str(w) for w in p.info)


def test_without_fusion_every_op_is_a_kernel():
    def build(a):
        return [tf.tanh(a), tf.tanh(a) * 2.0]

    assert launches(build, (30, 40), optimize=False) > 1


def test_reasons_are_given():
    def build(a):
        e = tf.exp(a)
        return [e, tf.transpose(e)]

    p = program(build, (33, 33))
    assert any("other elements" in str(w) for w in p.info)


def test_what_nobody_needs_is_not_computed():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [3])
        tf.exp(a)
        y = a + 1.0
    assert len(compile_graph(graph, {a: np.zeros(3)}, [y], targets=graph.get_operations()).steps) == 1


def test_a_fetched_feed_and_constant_are_copies():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [3])
        b, c = tf.reshape(a, [3, 1]), tf.constant([1, 2])
    p = compile_graph(graph, {a: np.zeros(3)}, [a, b, c, c])
    assert [type(s) for s in p.steps] == [Copy] * 4


@pytest.mark.opencl
def test_copies_arrive(device):
    x = np.arange(3, dtype=np.float32)
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [3])
        y = a * 2.0
        fetches = [a, tf.reshape(a, [3, 1]), tf.constant([1, 2]), y, tf.reshape(y, [1, 3]), y]
    found, _ = run_graph(device, graph, {a: x}, fetches)
    want, _ = reference(graph, {a: x}, fetches)
    for p, q in zip(found, want, strict=True):
        np.testing.assert_array_equal(p, q)


def test_another_batch_size_needs_no_other_text():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 40])
        loss = tf.reduce_mean(tf.square(tf.nn.softmax(x)))
        fetches = [loss, tf.gradients(loss, x)[0], tf.concat([x, x], 0), tf.gather(x, tf.constant([1, 2]))]
    texts = {compile_graph(graph, {x: np.zeros((n, 40))}, fetches).modules[0].source for n in (50, 57)}
    assert len(texts) == 1


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("shape", [(0, 9938), (0, 3), (5, 0, 20_000), (0,)])
def test_reductions_over_no_elements(device, shape, kind):
    x = np.zeros(shape, np.float32)
    axis = shape.index(0)
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, shape)
        fetches = [tf.reduce_sum(a, axis), tf.reduce_prod(a, axis), tf.reduce_mean(a, axis), tf.reduce_max(a, axis)]
    found, _ = run_graph(device, graph, {a: x}, fetches, facts=DeviceFacts(kind, units=4))
    want, _ = reference(graph, {a: x}, fetches)
    for p, q in zip(found, want, strict=True):
        np.testing.assert_array_equal(p, q)


def test_the_sum_of_many_terms_of_one_array_is_cut():
    """One operation may be as deep as the sum of its operands is long."""
    terms = 400

    def build(a):
        return tf.add_n([tf.square(a - float(i)) for i in range(terms)])

    compiled = program(build, (30, 40))
    assert len(compiled.steps) <= terms // 20
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [4])
        values = np.linspace(0, 3, 4)
        expected = sum((values - i) ** 2 for i in range(terms))
        np.testing.assert_allclose(sess.run(build(x), {x: values}), expected, rtol=1e-4)
        (gradient,) = tf.gradients(build(x), x)
        np.testing.assert_allclose(
            sess.run(gradient, {x: values}), sum(2 * (values - i) for i in range(terms)), rtol=1e-4
        )


def test_a_sum_of_large_terms_is_cut():
    """Each term is one that a kernel may compute, and all of them together are more than a compiler can take."""

    def term(a, i):
        for k in range(45):
            a = tf.sin(a) * (i + k / 7.0)
        return a

    compiled = program(lambda a: tf.add_n([term(a, i) for i in range(25)]), (30, 40))
    assert 2 <= len(compiled.steps) <= 25
