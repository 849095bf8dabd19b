"""Weights updated where their gradients are computed: equal to product and update apart, and only where that is safe."""

from __future__ import annotations

import numpy as np
import pytest
from runner import compile_graph, needed, reference, run_graph

import tfnb as tf
from tfnb.ops.training import updates

pytestmark = pytest.mark.opencl
RNG = np.random.default_rng(11)


def f(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


class Model:
    """A weight of shape (m, n) whose gradient is the product of two fed matrices of k rows."""

    def __init__(self, device, m=200, n=100, k=20):
        self.device, self.graph, self.state = device, tf.Graph(), {}
        with self.graph.as_default():
            x, dy = tf.placeholder(tf.float32, [k, m]), tf.placeholder(tf.float32, [k, n])
            self.grad = tf.matmul(x, dy, transpose_a=True)
        self.x, self.dy = x, dy
        self.feeds = {x: f(k, m), dy: f(k, n)}
        self.weight = self.variable(f(m, n))

    def variable(self, value):
        with self.graph.as_default():
            v = tf.Variable(value)
        self.state[v.op] = value
        return v

    def run(self, fetches, targets, feeds=None):
        """Compares with the host's kernels; the number of launches."""
        feeds = self.feeds if feeds is None else feeds
        targets = [t.op for t in targets]
        used = {op: v for op, v in self.state.items() if op in needed(fetches, targets, feeds)}
        got, after = run_graph(self.device, self.graph, feeds, fetches, used, targets)
        want, state = reference(self.graph, feeds, fetches, used, targets)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
        for op, value in after.items():
            np.testing.assert_allclose(value, state[op], rtol=2e-5, atol=2e-5)
        program = compile_graph(self.graph, feeds, fetches, used, self.device.facts, targets)
        return len(program.steps)


SHAPES = [(784, 100, 100), (170, 97, 256), (1024, 16, 3), (25, 700, 1), (1025, 31, 7), (64, 513, 33)]


@pytest.mark.parametrize("m, n, k", SHAPES)
def test_a_step_of_adagrad_is_one_launch(device, m, n, k):
    model = Model(device, m, n, k)
    slot = model.variable(np.abs(f(m, n)) + 0.1)
    with model.graph.as_default():
        done = updates.APPLY_ADAGRAD(model.weight, slot, 0.01, model.grad)
    assert model.run([], [done]) == 1


def test_adam_with_its_powers_in_variables(device):
    model = Model(device)
    first, second = model.variable(f(200, 100)), model.variable(np.abs(f(200, 100)))
    power1, power2 = (model.variable(np.float32(p)) for p in (0.9, 0.999))
    with model.graph.as_default():
        done = updates.APPLY_ADAM(model.weight, first, second, power1, power2, 0.001, 0.9, 0.999, 1e-8, model.grad)
        with tf.control_dependencies([done]):
            after = [power1.assign(power1 * 0.9), power2.assign(power2 * 0.999)]
    assert model.run([], [done, *after]) == 2


def test_a_decay_is_part_of_the_update(device):
    model = Model(device)
    with model.graph.as_default():
        done = model.weight.assign_sub(0.1 * (model.grad + 0.01 * model.weight))
    assert model.run([], [done]) == 1


def test_an_average_joins_its_weight(device):
    model = Model(device)
    average = model.variable(f(200, 100))
    with model.graph.as_default():
        done = updates.APPLY_GRADIENT_DESCENT(model.weight, 0.1, model.grad)
        with tf.control_dependencies([done]):
            moved = average.assign_sub(0.01 * (average - model.weight.read_value()))
    assert model.run([], [moved]) == 1


def test_the_new_weight_is_read_after_the_update(device):
    model = Model(device)
    with model.graph.as_default():
        before = tf.matmul(model.x, tf.identity(model.weight))
        with tf.control_dependencies([before]):
            done = updates.APPLY_GRADIENT_DESCENT(model.weight, 0.1, model.grad)
        with tf.control_dependencies([done]):
            after = tf.matmul(model.x, model.weight.read_value())
            value = model.weight.read_value()
    model.run([before, after, value], [done])


def test_a_gradient_that_is_fetched_is_computed_apart(device):
    model = Model(device)
    with model.graph.as_default():
        done = updates.APPLY_GRADIENT_DESCENT(model.weight, 0.1, model.grad)
    assert model.run([model.grad], [done]) == 2


def test_a_gradient_with_another_reader_is_computed_apart(device):
    model = Model(device)
    with model.graph.as_default():
        norm = tf.reduce_sum(tf.square(model.grad))
        done = updates.APPLY_GRADIENT_DESCENT(model.weight, 0.1, model.grad)
    model.run([norm], [done])
    with model.graph.as_default():
        clipped = updates.APPLY_GRADIENT_DESCENT(model.weight, 0.1, model.grad * tf.rsqrt(norm))
    model.run([], [clipped])


def test_a_transposed_gradient_is_computed_apart(device):
    model = Model(device, 150, 150)
    with model.graph.as_default():
        done = updates.APPLY_GRADIENT_DESCENT(model.weight, 0.1, tf.transpose(model.grad))
    assert model.run([], [done]) == 2


def test_a_reshaped_gradient_is_not(device):
    model = Model(device)
    cube = model.variable(f(20, 10, 100))
    with model.graph.as_default():
        done = updates.APPLY_GRADIENT_DESCENT(cube, 0.1, tf.reshape(model.grad, [20, 10, 100]))
    assert model.run([], [done]) == 1


def test_what_differs_by_column_is_computed_apart(device):
    model = Model(device)
    scale = model.variable(f(100))
    with model.graph.as_default():
        done = model.weight.assign_sub(model.grad * scale)
    assert model.run([], [done]) == 2


def test_a_weight_that_its_own_gradient_reads(device):
    model = Model(device, 160, 160, 160)
    with model.graph.as_default():
        grad = tf.matmul(tf.identity(model.weight), model.dy, transpose_a=True)
        done = updates.APPLY_GRADIENT_DESCENT(model.weight, 0.01, grad)
    assert model.run([], [done], {model.dy: f(160, 160)}) >= 2


def test_two_weights_that_read_each_other(device):
    model = Model(device, 160, 160)
    other = model.variable(f(160, 160))
    with model.graph.as_default():
        a, b = tf.identity(model.weight), tf.identity(other)
        first, second = tf.matmul(b, b, transpose_a=True), tf.matmul(a, a, transpose_a=True)
        with tf.control_dependencies([first, second]):
            done = [updates.APPLY_GRADIENT_DESCENT(v, 0.01, g) for v, g in ((model.weight, first), (other, second))]
    model.run([], done, {})


@pytest.mark.parametrize("m, n, k, launches", [(200, 100, 257, 2), (2000, 10, 20, 2), (60, 60, 20, 1)])
def test_deep_and_narrow_gradients_are_computed_apart(device, m, n, k, launches):
    """A small one too, but as a part of one launch."""
    model = Model(device, m, n, k)
    with model.graph.as_default():
        done = updates.APPLY_GRADIENT_DESCENT(model.weight, 0.1, model.grad)
    assert model.run([], [done]) == launches


SMALL = [(6, 5, 4), (100, 10, 100), (13, 33, 7), (7, 64, 1), (31, 17, 40)]


@pytest.mark.parametrize("ta, tb", [(False, False), (True, False), (False, True), (True, True)])
def test_small_products_are_parts_of_a_chain(device, ta, tb):
    for m, n, k in SMALL:
        a, b, c = f(*((k, m) if ta else (m, k))), f(*((n, k) if tb else (k, n))), f(n)
        a[0, 0] = np.nan if ta else a[0, 0]
        with tf.Graph().as_default() as graph:
            x, y, z = (tf.placeholder(tf.float32, v.shape) for v in (a, b, c))
            product = tf.matmul(x, y, transpose_a=ta, transpose_b=tb)
            sums = tf.reduce_sum(tf.exp(-tf.square(product)), 1)
            shifted = tf.nn.relu(tf.matmul(x, y, transpose_a=ta, transpose_b=tb) + z)
        feeds = {x: a, y: b, z: c}
        fetches = [product, sums, shifted]
        assert len(compile_graph(graph, feeds, fetches, facts=device.facts).steps) == 1
        got, _ = run_graph(device, graph, feeds, fetches)
        want, _ = reference(graph, feeds, fetches)
        for u, v in zip(got, want, strict=True):
            np.testing.assert_allclose(u, v, rtol=2e-5, atol=2e-5)


def test_a_small_product_alone_is_the_librarys(device):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [20, 30])
        y = tf.nn.relu(tf.matmul(x, x, transpose_b=True))
    program = compile_graph(graph, {x: f(20, 30)}, [y], facts=device.facts)
    assert [m.file for m in program.modules] == ["linalg/matmul.cl"]


def test_a_minimizer_takes_the_same_steps_with_and_without(monkeypatch):
    def trained(optimize):
        monkeypatch.setenv("TFNB_OPTIMIZE", str(int(optimize)))
        with tf.Graph().as_default(), tf.Session() as session:
            rng = np.random.default_rng(3)
            x = tf.constant(rng.standard_normal((30, 200)).astype(np.float32))
            w = tf.Variable(rng.standard_normal((200, 90)).astype(np.float32))
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
            step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(5)]
            return np.asarray(losses), session.run(w)

    for a, b in zip(trained(True), trained(False), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_without_fusion_a_product_is_cut_up_as_without_the_update(monkeypatch):
    """To the bit: whether the weight is updated beside it depends on which device has the update."""
    monkeypatch.setenv("TFNB_OPTIMIZE", "0")
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 1})) as session:
        rng = np.random.default_rng(3)
        x, first = (tf.constant(rng.standard_normal(shape).astype(np.float32)) for shape in ((100, 784), (784, 100)))
        w = tf.Variable(first)
        product = tf.matmul(x, w)
        with tf.control_dependencies([product]):
            update = w.assign_sub(first)
        session.run(w.initializer)
        alone = session.run(product)
        np.testing.assert_array_equal(session.run([product, update.op])[0], alone)
