"""Reads and writes of variables: every read sees the writes that are ordered before it, and no other."""

from __future__ import annotations

import numpy as np
import pytest
from runner import compile_graph, reference, run_graph

import tfnb as tf
from tfnb.codegen.program import Copy, Launch

pytestmark = pytest.mark.opencl
RNG = np.random.default_rng(3)


def f(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


class Step:
    """A graph with variables; `run` compares the device with the host's order of operations."""

    def __init__(self, device):
        self.device, self.graph, self.state = device, tf.Graph(), {}

    def variable(self, value, initialized=True):
        with self.graph.as_default():
            v = tf.Variable(value)
        self.state[v.op] = value if initialized else None
        return v

    def run(self, fetches, targets=(), feeds=None):
        targets = [t.op if hasattr(t, "op") else t for t in targets]
        used = self._used(fetches, targets, feeds or {})
        got, after = run_graph(self.device, self.graph, feeds or {}, fetches, used, targets)
        want, state = reference(self.graph, feeds or {}, fetches, used, targets)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        for op, value in after.items():
            np.testing.assert_allclose(value, state[op], rtol=1e-5, atol=1e-6)
        return got, after

    def _used(self, fetches, targets, feeds):
        from runner import needed

        ops = needed(fetches, targets, feeds)
        return {op: v for op, v in self.state.items() if op in ops}


@pytest.fixture
def step(device):
    return Step(device)


def test_update_in_place(step):
    v = step.variable(f(100))
    with step.graph.as_default():
        done = v.assign_add(v * 2.0)
    step.run([], [done])


def test_a_read_before_sees_the_old_value(step):
    v = step.variable(f(50, 3))
    with step.graph.as_default():
        old = tf.identity(v) * 2.0
        with tf.control_dependencies([old]):
            done = v.assign(tf.zeros([50, 3]))
        with tf.control_dependencies([done]):
            late = old + 1.0  # of the value from before
            new = v.read_value()
    got, _ = step.run([old, late, new])
    assert not got[2].any()


def test_an_alias_used_after_the_write_is_a_copy(step):
    v = step.variable(f(40))
    with step.graph.as_default():
        alias = tf.reshape(tf.identity(v), [8, 5])
        with tf.control_dependencies([alias]):
            done = v.assign_sub(tf.ones([40]))
        with tf.control_dependencies([done]):
            y = tf.reduce_sum(alias * alias, 1)
    step.run([y, alias], [done])


def test_an_unordered_read_sees_the_old_value(step):
    v = step.variable(f(40))
    with step.graph.as_default():
        read = tf.tanh(v)
        done = v.assign(v * 0.5)
    got, _ = step.run([read], [done])
    np.testing.assert_allclose(got[0], np.tanh(step.state[v.op]), rtol=1e-5)


def test_writes_in_a_row(step):
    v = step.variable(f(10))
    with step.graph.as_default():
        reads = [v.read_value()]
        for k in range(3):
            with tf.control_dependencies([reads[-1]]):
                done = v.assign_add(tf.fill([10], float(k + 1)))
            with tf.control_dependencies([done]):
                reads.append(v.read_value() * 1.0)
    step.run(reads)


def test_a_transposed_value_of_itself(step):
    v = step.variable(f(20, 20))
    with step.graph.as_default():
        done = v.assign(tf.transpose(v) + 1.0)
        reversed_ = tf.reverse(v, [0])
    step.run([reversed_], [done])


def test_a_shifted_value_of_itself(step):
    v = step.variable(f(1000))
    with step.graph.as_default():
        done = v.assign(tf.concat([v[1:], v[:1]], 0))
    step.run([], [done])


def test_swapping_two_variables(step):
    a, b = step.variable(f(300)), step.variable(f(300))
    with step.graph.as_default():
        first = a.assign(tf.identity(b) * 1.0)
        second = b.assign(tf.identity(a) * 1.0)
    got, after = run_graph(
        step.device, step.graph, {}, [], step.state, [first.op, second.op]
    )  # unordered: each may see the other's old or new value, but a whole one
    old_a, old_b = step.state[a.op], step.state[b.op]
    np.testing.assert_array_equal(after[a.op], old_b)
    assert any(np.array_equal(after[b.op], x) for x in (old_a, old_b))
    assert not got


def test_entangled_reads_and_writes(step):
    """Each read comes after the other variable's write, and before its own."""
    a, b = step.variable(f(30)), step.variable(f(30))
    with step.graph.as_default():
        old_a, old_b = tf.identity(a), tf.identity(b)
        with tf.control_dependencies([old_a, old_b]):
            wa = a.assign(old_b + 1.0)
            wb = b.assign(old_a + 2.0)
        with tf.control_dependencies([wa, wb]):
            y = tf.matmul(tf.reshape(old_a, [5, 6]), tf.reshape(old_b, [6, 5]))
    step.run([y], [wa, wb])


def test_initialization_from_nothing(step):
    v = step.variable(f(33, 5), initialized=False)
    with step.graph.as_default():
        done = v.initializer
    _, after = step.run([], [done])
    assert after[v.op].shape == (33, 5)


def test_reading_what_is_not_initialized(step):
    v = step.variable(f(3), initialized=False)
    with step.graph.as_default():
        y = tf.identity(v) * 1.0
    program = compile_graph(step.graph, {}, [y], step.state)
    assert program.variables[0].reads  # the runtime refuses to run it


def test_a_fetched_variable_is_its_last_value(step):
    v = step.variable(f(64))
    with step.graph.as_default():
        done = v.assign_add(tf.ones([64]))
    got, _ = step.run([done])
    np.testing.assert_allclose(got[0], step.state[v.op] + 1.0, rtol=1e-6)
    program = compile_graph(step.graph, {}, [done], step.state)
    assert [type(s) for s in program.steps] == [Launch, Copy]


@pytest.mark.parametrize("optimizer", ["GradientDescent", "Momentum", "Adagrad", "RMSProp", "Adam"])
def test_optimizers(step, optimizer):
    w, b = step.variable(f(7, 5)), step.variable(f(5))
    x = f(11, 7)
    with step.graph.as_default():
        p = tf.placeholder(tf.float32, [None, 7])
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(p, w) + b)))
        make = getattr(tf.train, f"{optimizer}Optimizer")
        train = (make(0.1, 0.9) if optimizer == "Momentum" else make(0.1)).minimize(loss)
        for v in tf.global_variables():
            step.state.setdefault(v.op, np.full(v.shape.as_list(), 0.1, np.float32))
    step.run([loss], [train], {p: x})


def test_scatter_and_dense_in_one_step(step):
    v = step.variable(f(20, 4))
    with step.graph.as_default():
        old = tf.reduce_sum(v)
        rows = tf.constant([1, 3, 1])
        done = tf.scatter_add(v, rows, tf.gather(v, rows))
        with tf.control_dependencies([done]):
            new = tf.reduce_sum(v.read_value(), 1)
    step.run([old, new], [done])
